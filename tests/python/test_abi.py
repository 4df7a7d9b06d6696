"""The ctypes structures have the layout that a C compiler gives to those of onnxc.h."""

import ctypes
import subprocess

import pytest

from onnxc import abi, volume_abi
from onnxc.session import DEVICES
from tests.onnxc_commands import REPOSITORY

STRUCTURES = {
    "onnxc_value": abi.Value,
    "onnxc_value_info": abi.ValueInfo,
    "onnxc_options": abi.Options,
    "onnxc_run_options": abi.RunOptions,
    "onnxc_api": abi.Api,
    "onnxc_volume_scaling": volume_abi.Scaling,
    "onnxc_volume_input": volume_abi.Input,
    "onnxc_volume_output": volume_abi.Output,
    "onnxc_volume_member": volume_abi.Member,
    "onnxc_volume": volume_abi.Volume,
    "onnxc_volume_result": volume_abi.Result,
}

CONSTANTS = {
    "ONNXC_ABI_VERSION": abi.ABI_VERSION,
    "ONNXC_ERROR_SIZE": abi.ERROR_SIZE,
    "ONNXC_OK": abi.OK,
    "ONNXC_HIP_GRAPH": abi.HIP_GRAPH,
    "ONNXC_GPU_GRAPH": abi.GPU_GRAPH,
    "ONNXC_GPU": DEVICES["gpu"],
    "ONNXC_HIP": DEVICES["hip"],
    "ONNXC_STOPPED": volume_abi.STOPPED,
    "ONNXC_PLACES_EVEN": volume_abi.PLACES["even"],
    "ONNXC_IMPORTANCE_GAUSSIAN": volume_abi.IMPORTANCE["gaussian"],
    "ONNXC_IMPORTANCE_GAUSSIAN_NNUNET": volume_abi.IMPORTANCE["gaussian-nnunet"],
    "ONNXC_PAD_CIRCULAR": volume_abi.PADDING["circular"],
    "ONNXC_VOLUME_LABELS": volume_abi.WRITTEN["labels"],
}


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Size of each structure and offset of each field, as C has them."""
    folder = tmp_path_factory.mktemp("abi")
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "onnxc_volume.h"', "int main(void) {"]
    for name, structure in STRUCTURES.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field, *_ in structure._fields_]
    lines += [f'printf("{name} %d\\n", (int){name});' for name in CONSTANTS]
    (folder / "layout.c").write_text("\n".join([*lines, "}"]))
    program = folder / "layout"
    subprocess.run(
        ["clang-19", "-I", str(REPOSITORY / "runtime" / "include"), "-o", str(program), str(folder / "layout.c")],
        check=True,
    )
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in (line.split() for line in output.splitlines())}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name: str, layout: dict[str, int]) -> None:
    structure = STRUCTURES[name]
    assert ctypes.sizeof(structure) == layout[name]
    for field, *_ in structure._fields_:
        assert getattr(structure, field).offset == layout[f"{name}.{field}"], field


def test_constants(layout: dict[str, int]) -> None:
    for name, value in CONSTANTS.items():
        assert layout[name] == value, name
