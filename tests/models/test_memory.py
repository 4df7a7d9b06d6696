"""A process that runs a model holds its weights once, the least working memory that any plan needs, and little else.

The peak is what the kernel saw (VmHWM, which `onnxc-run --profile` reports), less that of the same program with a model
of almost no memory: the program itself, its libraries and the measurement of the machine's peak.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from models.export import export
from models.zoo import MONAI, NETWORKS, ROWS
from tests import onnxc_commands

ALLOWED = 1.15
EMPTY = "seed_convolution"
FAST = ("r3d_18", "monai_unet")
NAMES = [
    pytest.param(row.name, marks=[] if row.name in FAST else [pytest.mark.slow])
    for row in (*NETWORKS, *MONAI)
    if row.name != EMPTY
]


def profile(name: str, folder: Path) -> dict[str, Any]:
    exported = export(ROWS[name])
    shared_object = onnxc_commands.compile_model(exported.model, folder / f"{name}.so")
    command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(shared_object), "--random", "0", "--profile", "--json"]
    result: dict[str, Any] = json.loads(onnxc_commands.execute(command).stdout)
    return result


@pytest.fixture(scope="session")
def program_bytes(tmp_path_factory: pytest.TempPathFactory) -> int:
    result = profile(EMPTY, tmp_path_factory.mktemp("empty"))
    memory = result["memory"]
    peak: int = result["process_peak_bytes"]
    return peak - memory["weights"] - memory["working"] - memory["inputs_and_outputs"]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", NAMES)
def test_a_process_holds_little_more_than_weights_and_the_least_plan(
    name: str, program_bytes: int, tmp_path: Path
) -> None:
    result = profile(name, tmp_path)
    memory = result["memory"]
    held = result["process_peak_bytes"] - program_bytes - memory["inputs_and_outputs"]
    needed = memory["weights"] + memory["least_working"]
    assert held <= ALLOWED * needed, f"{held / 2**20:.1f} MiB held where {needed / 2**20:.1f} MiB are needed"
