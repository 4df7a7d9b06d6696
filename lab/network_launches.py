"""Whole networks on the simulated MI300X, launch by launch: modelled times, in float32 and float16.

    python -m lab.network_launches > build/gpu-launches.md                  # the networks below
    python -m lab.network_launches --networks r3d_18_small,unet3d_small     # rows of the zoo

A network is a row of models/zoo.py. Launches that run one kernel at the same sizes are a line; lines of less than
a hundredth of the network's time are one together. The same tree gives the same bytes.
"""

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.iree_comparison import LAUNCH_MICROSECONDS
from models.export import export
from models.zoo import ROWS, ModelRow
from tests import onnxc_commands

LEAST_SHARE = 0.01
PRECISIONS = ("float32", "float16")


def resized(name: str, *shape: int) -> ModelRow:
    sizes = "x".join(str(extent) for extent in shape)
    return replace(ROWS[name], name=f"{name}_{sizes}", inputs=(shape,), more_inputs=())


# At sizes that the simulator gets through in minutes.
NETWORKS = {
    "U-Net": resized("unet3d", 1, 1, 32, 32, 32),
    "X3D-S": ROWS["x3d_s"],
    "MONAI SegResNet": ROWS["monai_segresnet"],
    "R3D-18": resized("r3d_18", 1, 3, 8, 56, 56),
    "R(2+1)D-18": resized("r2plus1d_18", 1, 3, 8, 56, 56),
}


@dataclass
class Line:
    """Launches of one kernel at the same sizes."""

    launches: int = 0
    microseconds: float = 0
    by_bound: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, launch: dict[str, Any]) -> None:
        self.launches += 1
        self.microseconds += launch["modelled_us"]
        self.by_bound[launch["bound"]] += launch["modelled_us"]

    def merge(self, other: "Line") -> None:
        self.launches += other.launches
        self.microseconds += other.microseconds
        for bound, microseconds in other.by_bound.items():
            self.by_bound[bound] += microseconds

    @property
    def bound(self) -> str:
        return max(self.by_bound, key=lambda bound: (self.by_bound[bound], bound))


def profile(row: ModelRow, precision: str) -> list[dict[str, Any]]:
    """The steps of a run, each with its launches."""
    exported = export(row)
    with tempfile.TemporaryDirectory() as folder:
        shared_object = onnxc_commands.compile_model(
            exported.model, Path(folder) / "model.so", "--target", "hip", "--precision", precision
        )
        command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(shared_object), "--device", "hip", "--profile"]
        for name, path in exported.runs[0].inputs.items():
            command += ["--input", f"{name}={path}"]
        steps: list[dict[str, Any]] = json.loads(onnxc_commands.execute([*command, "--json"]).stdout)["steps"]
    return steps


def lines_of(steps: list[dict[str, Any]]) -> dict[str, Line]:
    """The rows by what a launch does, in the order of their times."""
    lines: dict[str, Line] = defaultdict(Line)
    for step in steps:
        for launch in step["launches"]:
            which = launch["kernel"].rstrip("0123456789")
            lines[f"{step['step']}, {which} launch" if which in ("second", "third") else step["step"]].add(launch)
    return dict(sorted(lines.items(), key=lambda item: (-item[1].microseconds, item[0])))


def table(lines: dict[str, Line]) -> str:
    total, rest = Line(), Line()
    for line in lines.values():
        total.merge(line)
    rows, small = [], 0
    for name, line in lines.items():
        if line.microseconds < LEAST_SHARE * total.microseconds:
            rest.merge(line)
            small += 1
        else:
            rows.append((name, line))
    if small:
        rows.append((f"{small} others, each below {LEAST_SHARE:.0%}", rest))
    text = "| kernel | launches | us | of all | bound |\n| --- | --: | --: | --: | --- |\n"
    for name, line in rows:
        share = line.microseconds / total.microseconds
        text += f"| {name} | {line.launches} | {line.microseconds:.1f} | {share:.0%} | {line.bound} |\n"
    launched = total.microseconds + LAUNCH_MICROSECONDS * total.launches
    name = f"all; with {LAUNCH_MICROSECONDS:g} us a launch {launched:.0f} us"
    return f"{text}| {name} | {total.launches} | {total.microseconds:.1f} | | |\n"


def page(networks: dict[str, ModelRow]) -> str:
    text = f"""# Networks on the simulated MI300X, launch by launch

Times are the model's (docs/gfx942sim.md); the bound of a line is that of the launches which take most of it. The second
launch of a product in parts sums them up, that of rows in chunks normalises; if a convolution is "normalized", the last
of its launches normalises as well. Only the last line of each table has the {LAUNCH_MICROSECONDS:g} us of each launch.
"""
    for name, row in networks.items():
        sizes = ", ".join(str(list(shape)) for shape in row.inputs if isinstance(shape, tuple))
        for precision in PRECISIONS:
            print(f"{name}, {precision}", file=sys.stderr, flush=True)
            text += f"\n## {name}, {sizes}, {precision}\n\n{table(lines_of(profile(row, precision)))}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="", help="rows of the zoo, by commas, instead of the five networks")
    given = parser.parse_args()
    names = given.networks.split(",") if given.networks else []
    print(page({name: ROWS[name] for name in names} or NETWORKS), end="")


if __name__ == "__main__":
    main()
