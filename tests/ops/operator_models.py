"""Writes the operator cases of the tables as models, some dozens of one opset in each.

    python -m tests.ops.operator_models FOLDER [--all]

tools.compare_sources compares what two compilers make of them.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import onnx

from tests.ops.case import Case, build_model
from tests.ops.families import FAMILIES
from tests.ops.oracle import expected_outputs

CASES_IN_ONE_MODEL = 60


def write_family(family: str, cases: Sequence[Case], folder: Path) -> None:
    for opset in sorted({one.opset for one in cases}):
        alike = [one for one in cases if one.opset == opset]
        for start in range(0, len(alike), CASES_IN_ONE_MODEL):
            part = alike[start : start + CASES_IN_ONE_MODEL]
            model = build_model(part, {one: expected_outputs(one) for one in part})
            onnx.save(model, folder / f"{family}-{opset}-{start}.onnx")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="the slow ones as well")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for family, cases in FAMILIES.items():
        write_family(family, [one for one in cases if options.all or not one.slow], options.folder)


if __name__ == "__main__":
    main()
