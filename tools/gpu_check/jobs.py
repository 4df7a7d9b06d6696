"""The jobs in the order of their worth: the first minutes hold the most telling."""

from collections.abc import Mapping
from dataclasses import dataclass

from tools.gpu_check.kinds import KINDS
from tools.gpu_check.manifest import TESTED, TESTS, TIMED, Manifest
from tools.gpu_check.networks.table import DRY, GOALS, LAYERS, MORE, NETWORKS
from tools.gpu_check.target import TARGETS

COMPILE_LIMIT_S = 20.0
REST_S = 8.0  # to make the module, and to time it
CORRECTNESS, COMPILE, SCAN, LOAD, SANITIZER = "correctness", "compile", "scan", "load", "sanitizer"
SHAPES = "shapes"
PARTS = (CORRECTNESS, GOALS, COMPILE, SCAN, LAYERS, LOAD, SHAPES, SANITIZER, MORE)
TOOLS = ("memcheck", "racecheck")
# Kernels of each family; all others are checked by their results.
SANITIZED = ("convolutions", "transposed_convolutions", "normalizations", "transformer_layer", "unet3d_narrow")
SHAPED_KINDS = ("float16", "ieee")
SANITIZED_KINDS = ("float16", "tf32", "ieee")
LOADED = (("unet3d_64", "float16"), ("r3d_18", "float16"), ("swin_unetr_96", "float16"))


@dataclass(frozen=True)
class Job:
    """what: "check", "time", "compile", "scan", "load", "shape", or a tool of compute-sanitizer. limit_s: after which
    it is ended. is_fresh: it needs a process that has done nothing yet. archive: of its files, in the bundle."""

    part: str
    what: str
    name: str
    kind: str
    limit_s: float
    is_fresh: bool = False

    @property
    def archive(self) -> str:
        return TESTS if self.what in ("check", "shape", *TOOLS) else f"{self.name}.tar.xz"

    @property
    def folder(self) -> str:
        """The place of its files, unpacked."""
        return f"{TESTED if self.archive == TESTS else TIMED}/{self.name}"

    def __str__(self) -> str:
        return f"{self.what} {self.name} {self.kind}"


def all_jobs(manifest: Manifest) -> list[Job]:
    """In the order of their worth."""
    kinds = list(KINDS)
    checks = [
        Job(CORRECTNESS, "check", model.name, kind, 90)
        for model in sorted(manifest.models, key=lambda each: each.name)
        for kind in model.tolerances
    ]
    found = sorted(checks, key=lambda job: kinds.index(job.kind))
    found += times(manifest, (GOALS, DRY), ("float16", "tf32"))
    found += compiles(manifest, "float16", is_slow=False)
    found += scans(manifest, "float16")
    found += times(manifest, (GOALS, DRY), ("ieee",))
    found += times(manifest, (LAYERS,), ("float16", "tf32"))
    found += loads(manifest)
    found += shapes(manifest)
    found += sanitizers(manifest)
    found += compiles(manifest, "tf32", is_slow=False)
    found += times(manifest, (LAYERS,), ("ieee",))
    found += times(manifest, (MORE,), kinds)
    found += times(manifest, (GOALS, DRY), ("bf16x3", "bfloat16"))
    found += scans(manifest, "tf32") + scans(manifest, "ieee")
    found += [job for kind in ("float16", "tf32") for job in compiles(manifest, kind, is_slow=True)]
    found += compiles(manifest, "ieee", is_slow=False)
    return found


def times(manifest: Manifest, parts: tuple[str, ...], kinds: tuple[str, ...] | list[str]) -> list[Job]:
    """A network of a dry run stands for those with goals."""
    rows = [(each, NETWORKS[each.name]) for each in manifest.networks]
    return [
        Job(GOALS if row.part == DRY else row.part, "time", row.name, kind, 90)
        for kind in kinds
        for network, row in rows
        if row.part in parts and kind in network.tolerances
    ]


def compiles(manifest: Manifest, kind: str, *, is_slow: bool) -> list[Job]:
    """The limit is that of the first call and of the times after it."""
    limit = COMPILE_LIMIT_S + REST_S
    return [
        Job(COMPILE, "compile", job.name, kind, limit, is_fresh=True)
        for job in times(manifest, (GOALS, DRY), (kind,))
        if NETWORKS[job.name].compiles_slowly == is_slow
    ]


def scans(manifest: Manifest, kind: str) -> list[Job]:
    scan = manifest.scan
    if scan is None or kind not in manifest.network(scan.network).tolerances:
        return []
    return [Job(SCAN, "scan", scan.network, kind, 180)]


def loads(manifest: Manifest) -> list[Job]:
    known = {(each.name, kind) for each in manifest.networks for kind in each.tolerances}
    dry = [(name, kind) for name, kind in known if NETWORKS[name].part == DRY]
    chosen = [each for each in LOADED if each in known] + sorted(dry)[:1]
    return [Job(LOAD, "load", name, kind, 120, is_fresh=True) for name, kind in chosen]


def shapes(manifest: Manifest) -> list[Job]:
    """The models with several cases, which are of several shapes."""
    return [
        Job(SHAPES, "shape", model.name, kind, 90)
        for kind in SHAPED_KINDS
        for model in sorted(manifest.models, key=lambda each: each.name)
        if len(model.cases) > 1 and kind in model.tolerances
    ]


def sanitizers(manifest: Manifest) -> list[Job]:
    if not TARGETS[manifest.target].has_sanitizer:
        return []
    known = {each.name: each.tolerances for each in manifest.models}
    return [
        Job(SANITIZER, tool, name, kind, 120)
        for kind in SANITIZED_KINDS
        for name in SANITIZED
        for tool in TOOLS
        if kind in known.get(name, {})
    ]


def chosen(manifest: Manifest, part: str | None) -> list[Job]:
    return [job for job in all_jobs(manifest) if part in (None, job.part)]


def by_part(jobs: list[Job]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job.part] = counts.get(job.part, 0) + 1
    return counts
