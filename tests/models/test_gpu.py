"""The small models through `--target hip`: the shipped gfx942 code on the simulator, against PyTorch; and what the code
objects must be."""

import re
import subprocess
from pathlib import Path

import pytest

from tests import onnxc_commands
from tests.models.export import export
from tests.models.test_models import expect_equal, pytorch_outputs
from tests.models.zoo import SMALL, ModelRow

ELF = b"\x7fELF"
MACHINE_AMDGPU = 0xE0

PARAMETERS = [pytest.param(row, id=row.name) for row in SMALL if not row.slow]


def compile_for_gpu(row: ModelRow, folder: Path) -> Path:
    return onnxc_commands.compile_model(export(row).model, folder / "model.so", "--target", "hip")


def code_object(shared_object: Path) -> bytes:
    """From its ELF header to the end of the file: the tools stop where it ends."""
    content = shared_object.read_bytes()
    start = content.find(ELF, 1)
    while start >= 0 and content[start + 18] != MACHINE_AMDGPU:
        start = content.find(ELF, start + 1)
    assert start >= 0, "no code object in the shared object"
    return content[start:]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", PARAMETERS)
def test_matches_pytorch_on_the_simulator(row: ModelRow, tmp_path: Path) -> None:
    shared_object = compile_for_gpu(row, tmp_path)
    for index, run in enumerate(export(row).runs):
        folder = tmp_path / f"run_{index}"
        results = onnxc_commands.run_files(shared_object, run.inputs, list(run.outputs), folder, "--device", "hip")
        expect_equal(results, pytorch_outputs(run), row.tolerance, "PyTorch")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", PARAMETERS)
def test_kernels_neither_spill_nor_use_scratch_memory(row: ModelRow, tmp_path: Path) -> None:
    file = tmp_path / "kernels.co"
    file.write_bytes(code_object(compile_for_gpu(row, tmp_path)))
    notes = subprocess.run(["llvm-readelf-19", "--notes", str(file)], capture_output=True, text=True, check=True).stdout
    kernels = notes.count(".kernarg_segment_size:")
    assert kernels > 0
    for field in ("private_segment_fixed_size", "vgpr_spill_count"):
        assert re.findall(rf"\.{field}:\s+(\d+)", notes) == ["0"] * kernels, field
    assert all(int(size) <= 65536 for size in re.findall(r"\.group_segment_fixed_size:\s+(\d+)", notes))
    # Hidden arguments would mean that a kernel reads block or grid sizes from the hardware.
    assert "hidden_" not in notes
