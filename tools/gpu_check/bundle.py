"""Makes a bundle: everything that the check needs on the machine with the GPU, which builds nothing.

    make gpu-bundle
    python -m tools.gpu_check bundle --for amd -o build/gpu-bundle-amd
    python -m tools.gpu_check bundle --models convolutions,r3d_18 --networks unet3d_64

A bundle is a folder with manifest.json, the archives of packing.py, and the Python packages that run there. Exports and
compiled models stay beside it, in FOLDER.work, until their sources, their options or the compiler change.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from models.export import stamp as export_stamp
from models.zoo import ROWS, ModelRow
from tools.commands import BINARIES, REPOSITORY
from tools.gpu_check import exports, manifest
from tools.gpu_check.exports import Export
from tools.gpu_check.kinds import KINDS, SIXTEEN_BITS, tolerance
from tools.gpu_check.manifest import TESTED, TIMED, CheckedModel, Manifest, Scan, TimedNetwork
from tools.gpu_check.networks.table import DRY, NETWORKS, Network
from tools.gpu_check.packing import CODE, Part, halves, pack
from tools.gpu_check.target import DEFAULT, TARGETS, Target

MEGABYTE = 10**6
# A machine that is lent takes 64 MiB in all, the sources beside the bundle included.
LIMIT = 55 * MEGABYTE
# Their results jump when a value is rounded, so that they have no tolerance in 16 bits.
JUMPING = {"masks"}
PACKAGES = ("python/onnxc", "tools/gpu_check")
FILES = ("tools/__init__.py", "tools/commands.py", "models/__init__.py", "models/networks/__init__.py")
MODULES = ("resnet3d", "unet3d", "x3d")


class BundleError(Exception):
    """A bundle that cannot be made, in one line."""


@dataclass
class Bundler:
    """target: its name in target.py. folder: of the bundle. code: of all models, by its name in the archive."""

    target_name: str
    folder: Path
    failures: list[str] = field(default_factory=list)
    code: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.work = self.folder.with_name(self.folder.name + ".work")
        self.stamp = exports.sources_hash()
        self.compiler = BINARIES / "onnxc"
        if not self.compiler.exists():
            raise BundleError(f"{self.compiler} is missing: build first (make build), or set ONNXC_BIN")
        self.compiler_hash = hashlib.sha256(self.compiler.read_bytes()).hexdigest()

    @property
    def target(self) -> Target:
        return TARGETS[self.target_name]

    def compile(self, model: Path, kind: str) -> Path | None:
        """The model compiled for a product kind; None if it cannot be, which is noted."""
        options = [*self.target.options, *KINDS[kind].options]
        shared_object = model.with_name(f"{self.target_name}-{kind}.so")
        stamp = shared_object.with_suffix(".stamp")
        model_hash = hashlib.sha256(model.read_bytes()).hexdigest()
        wanted = f"{model_hash} {self.compiler_hash} {' '.join(options)}"
        if stamp.exists() and shared_object.exists() and stamp.read_text() == wanted:
            return shared_object
        command = [str(self.compiler), str(model), "-o", str(shared_object), "-q", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            self.failures.append(f"{model.parent.name} {kind}: {' '.join(lines[:2])}")
            return None
        stamp.write_text(wanted)
        return shared_object

    def compiled(self, made: Export, kinds: Iterable[str]) -> dict[str, Path]:
        found = {kind: self.compile(made.model, kind) for kind in kinds if kind in self.target.products}
        return {kind: file for kind, file in found.items() if file is not None}

    def weights(self, name: str, shared_objects: Mapping[str, Path]) -> dict[str, Part]:
        """The weights of a model in its product kinds; its code is noted."""
        weights: dict[str, Part] = {}
        for kind, file in shared_objects.items():
            code, rest = halves(f"{name}/{kind}", file)
            self.code |= code
            weights |= rest
        return weights

    def pack_code(self) -> None:
        """The models of one product kind beside each other: they share most."""
        kinds = list(KINDS)
        names = sorted(self.code, key=lambda name: (kinds.index(Path(name).stem), name))
        pack({name: self.code[name] for name in names}, self.folder / CODE)

    def models(self, rows: Sequence[ModelRow]) -> list[CheckedModel]:
        parts: dict[str, Part] = {}
        models = []
        for row in rows:
            folder = self.work / TESTED / row.name
            made = exports.checked_model(row, folder, f"{self.stamp} {export_stamp(row)}")
            shared_objects = self.compiled(made, kinds_of(row))
            own = {kind: tolerance(kind, row.tolerance, made.is_normalized) for kind in shared_objects}
            models.append(CheckedModel(row.name, made.cases, own))
            values = [value.file for case in made.cases for value in (*case.inputs, *case.outputs)]
            name = f"{TESTED}/{row.name}"
            parts |= self.weights(name, shared_objects)
            parts |= {f"{name}/{file}": Part(folder / file) for file in values}
            progress(row.name, shared_objects)
        pack(parts, self.folder / manifest.TESTS)
        return models

    def networks(self, rows: Sequence[Network], kinds: Sequence[str]) -> list[TimedNetwork]:
        found = []
        for row in rows:
            folder = self.work / TIMED / row.name
            made = exports.network(row, folder, f"{self.stamp} {row.name} {row.shape}")
            shared_objects = self.compiled(made, [kind for kind in row.kinds if kind in kinds])
            own = {kind: tolerance(kind, 0, made.is_normalized) for kind in shared_objects}
            found.append(TimedNetwork(row.name, made.inputs[0], made.outputs[0], own))
            name = f"{TIMED}/{row.name}"
            parts = {**self.weights(name, shared_objects), f"{name}/weights.npz": Part(folder / "weights.npz")}
            pack(parts, self.folder / f"{row.name}.tar.xz")
            progress(row.name, shared_objects)
        return found


def kinds_of(row: ModelRow) -> list[str]:
    """A model of 16 bits has no other products than its own."""
    import torch  # here, since --help needs none

    if row.dtype != torch.float32:
        return ["ieee"]
    return [kind for kind in KINDS if row.name not in JUMPING or kind not in SIXTEEN_BITS]


def progress(name: str, shared_objects: Mapping[str, Path]) -> None:
    size = sum(file.stat().st_size for file in shared_objects.values())
    print(f"{name:28} {' '.join(shared_objects):40} {size / MEGABYTE:8.1f} MB", file=sys.stderr, flush=True)


def copy_packages(folder: Path) -> None:
    """Lays out the modules that run there so that Python is started in the folder itself."""
    modules = [f"models/networks/{name}.py" for name in MODULES]
    sources = [*FILES, *modules]
    for package in PACKAGES:
        sources += [str(file.relative_to(REPOSITORY)) for file in (REPOSITORY / package).rglob("*.py")]
    for source in sources:
        place = folder / source.removeprefix("python/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / source, place)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def check_size(folder: Path, limit: int) -> None:
    size = size_of(folder)
    if size > limit:
        largest = sorted(folder.rglob("*.xz"), key=lambda file: -file.stat().st_size)[:3]
        named = ", ".join(f"{file.name} {file.stat().st_size / MEGABYTE:.1f} MB" for file in largest)
        raise BundleError(
            f"the bundle has {size / MEGABYTE:.1f} MB, and {limit / MEGABYTE:.1f} MB are allowed; the largest: "
            f"{named}; leave out models or networks, or kinds of them (--models, --networks, --kinds)"
        )


def scan_of(networks: Sequence[TimedNetwork], dims: Sequence[int]) -> Scan | None:
    """The network that is meant for it runs it; in a dry run, the tiny one."""
    names = {each.name for each in networks}
    name = next((name for name in ("dynunet_scan", "tiny") if name in names), None)
    if name is None:
        return None
    shape = NETWORKS[name].shape
    return Scan(name, dims, shape[2:], shape[0])


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.gpu_check bundle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fast = [name for name, row in ROWS.items() if not row.slow]
    timed = [name for name, row in NETWORKS.items() if row.part != DRY]
    parser.add_argument("--for", dest="target", choices=TARGETS, default=DEFAULT, help=f"default: {DEFAULT}")
    parser.add_argument("-o", "--output", type=Path, default=REPOSITORY / "build" / "gpu-bundle", metavar="FOLDER")
    parser.add_argument("--models", default=",".join(fast), help="of models/zoo.py; default: those not marked slow")
    parser.add_argument("--networks", default=",".join(timed), help="default: all")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of the networks' products; default: all")
    parser.add_argument("--scan", default="512x512x304", help="dims of the volume; default: 512x512x304")
    parser.add_argument("--limit", type=float, default=LIMIT / MEGABYTE, help="the most megabytes (%(default)s)")
    options = parser.parse_args(words)
    for name, known in (("models", ROWS), ("networks", NETWORKS), ("kinds", KINDS)):
        chosen = [each for each in getattr(options, name).split(",") if each]
        if unknown := sorted(set(chosen) - set(known)):
            parser.error(f"--{name}: unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        setattr(options, name, chosen)
    return options


def main(words: Sequence[str]) -> int:
    options = parse(words)
    try:
        bundler = Bundler(options.target, options.output.resolve())
        shutil.rmtree(bundler.folder, ignore_errors=True)
        bundler.folder.mkdir(parents=True)
        models = bundler.models([ROWS[name] for name in options.models])
        networks = bundler.networks([NETWORKS[name] for name in options.networks], options.kinds)
        bundler.pack_code()
        scan = scan_of(networks, [int(size) for size in options.scan.split("x")])
        manifest.write(Manifest(options.target, bundler.compiler_hash, models, networks, scan), bundler.folder)
        copy_packages(bundler.folder)
        check_size(bundler.folder, int(options.limit * MEGABYTE))
    except BundleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(
        f"{bundler.folder}: {size_of(bundler.folder) / MEGABYTE:.1f} MB, {len(models)} models, {len(networks)} networks"
    )
    if bundler.failures:
        print("these did not compile, and are not in it:\n" + "\n".join(bundler.failures), file=sys.stderr)
    return 1 if bundler.failures else 0
