"""iree#20498: the input gradient of a grouped convolution, in four forms of one meaning and at its full size, compiles
to kernels within the GPU's 64 KiB of LDS; others tried to hold 592,944 bytes there."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import onnxc_commands
from tests.models import code_object
from tests.ops.case import Case, NodeText, build_model, graph_case, random

X_SHAPE, W_SHAPE = (128, 384, 24, 48), (384, 128, 1, 3)
PADS = {"pads": [0, 1, 0, 1]}
SIZES = {
    "split": np.array([3, 128, 128, 1, 3]),
    "joined": np.array([384, 128, 1, 3]),
    "start": np.array([-1]),
    "end": np.array([-100]),
    "axis": np.array([4]),
    "step": np.array([-1]),
    "groups": np.array([128, 3, 128, 24, 48]),
    "whole": np.array([128, 384, 24, 50]),
    "padding": np.array([0, 0, 0, 0, 1, 0, 0, 0, 0, 1]),
}
FLIPPED: list[NodeText] = [
    ("Reshape", "w split", "w1"),
    ("Transpose", "w1", "w2", {"perm": [0, 2, 1, 3, 4]}),
    ("Slice", "w2 start end axis step", "w3"),
    ("Reshape", "w3 joined", "w4"),
]
FORMS: dict[str, list[NodeText]] = {
    "transposed": [("ConvTranspose", "x w", "y", {"group": 3, **PADS})],
    "flipped": [*FLIPPED, ("Conv", "x w4", "y", {"group": 3, **PADS})],
    "expanded first": [
        *FLIPPED,
        ("Reshape", "x groups", "x1"),
        ("Pad", "x1 padding", "x2"),
        ("Reshape", "x2 whole", "x3"),
        ("Conv", "x3 w4", "y", {"group": 3}),
    ],
    "split and joined": [
        ("Split", "x", "x0 x1 x2", {"axis": 1, "num_outputs": 3}),
        ("Split", "w", "w0 w1 w2", {"axis": 0, "num_outputs": 3}),
        *[("ConvTranspose", f"x{g} w{g}", f"y{g}", PADS) for g in range(3)],
        ("Concat", "y0 y1 y2", "y", {"axis": 1}),
    ],
}


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("form", FORMS)
def test_fits_into_lds(form: str, tmp_path: Path) -> None:
    one: Case = graph_case(form, FORMS[form], {"x": np.zeros(X_SHAPE, np.float32)}, {"w": random(*W_SHAPE), **SIZES})
    onnx.save(build_model([one], {one: [np.zeros(X_SHAPE, np.float32)]}), tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", "--target", "hip")
    kernels = code_object.kernels(code_object.extract(shared_object, tmp_path / "kernels.co"))
    assert all(kernel.lds <= 65536 and kernel.scratch == 0 for kernel in kernels)
    # On the matrix unit, and not as loops.
    assert any(mnemonic.startswith("v_mfma") for kernel in kernels for mnemonic in kernel.code)
    assert not any("conv" in name for name in loop_names(tmp_path / "model.onnx"))


def loop_names(model: Path) -> list[str]:
    report = onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc"), str(model), "--target", "hip", "--report"])
    return [line for line in report.stdout.split("On the GPU; ")[1].splitlines() if " loops " in line]
