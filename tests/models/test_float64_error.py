"""How far the results of whole networks are from a float64 run of the same model, beside onnxruntime's."""

from pathlib import Path

import pytest

from models import tensor_files
from models.export import export
from models.zoo import MORE_MONAI, ROWS
from tests import onnxc_commands
from tests.models.float64_bound import allowed_error, error
from tests.onnxruntime_sessions import open_session
from tools.benchmark.float64 import run_exported

ALWAYS_ALLOWED = 1e-6  # of the largest magnitude: some eight units in the last place

FAST = ("seed_convolution", "monai_segresnet")
SLOW = (
    "monai_unet",
    "monai_dynunet",
    "monai_densenet121",
    "monai_swin_unetr",
    "unet3d",
    "x3d_s",
    "r3d_18",
    "r2plus1d_18",
    *(row.name for row in MORE_MONAI),
)
NAMES = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
# Networks of layers with many channels: float32 in digits if a machine has matrix tiles, which are emulated here.
SLOW_IN_DIGITS = ("r3d_18", "r2plus1d_18", "unet3d", "c3d", "monai_vit", "monai_swin_unetr")
IN_DIGITS = [
    "monai_segresnet",
    *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_IN_DIGITS),
]


def expect_error_close_to_onnxruntime(name: str, folder: Path, *options: str) -> None:
    exported = export(ROWS[name])
    run = exported.runs[0]
    shared_object = onnxc_commands.compile_model(exported.model, folder / "model.so", *options)
    results = onnxc_commands.run_files(shared_object, run.inputs, list(run.outputs), folder / "run")
    feeds = {name: tensor_files.load(path) for name, path in run.inputs.items()}
    theirs = open_session(exported.model).run(list(run.outputs), feeds)
    reference = run_exported(exported.model.parent)
    ours = error([results[name] for name in run.outputs], reference)
    allowed = allowed_error(theirs, reference, ALWAYS_ALLOWED)
    print(f"{name}: {ours:.2e} of the largest, {ours / error(theirs, reference):.2f} times onnxruntime's")
    assert ours <= allowed, f"an error of {ours:.2e} where {allowed:.2e} is allowed"


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", NAMES)
def test_error_is_close_to_that_of_onnxruntime(name: str, tmp_path: Path) -> None:
    expect_error_close_to_onnxruntime(name, tmp_path)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", IN_DIGITS)
def test_error_of_digits_is_close_to_that_of_onnxruntime(name: str, tmp_path: Path) -> None:
    march = "x86-64-v4-emulating-amx"
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(export(ROWS[name]).model), "--march", march, "--report"]
    report = onnxc_commands.execute(command).stdout
    assert "float32 in digits" in report
    has_products = name in ("monai_vit", "monai_swin_unetr")
    assert not has_products or "matmul_tiles " in report
    expect_error_close_to_onnxruntime(name, tmp_path, "--march", march)
