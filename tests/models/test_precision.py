"""Whole networks with --precision: how far they are from PyTorch's float32, on both vector units and the simulated
GPU."""

import json
import re
from pathlib import Path

import pytest

from models.export import export
from models.zoo import ROWS
from tests import onnxc_commands
from tests.models.test_models import expect_equal, pytorch_outputs

# Half a unit in the last place: what storing a value once may move it by, as a part of it.
ROUNDING = {"bfloat16": 2.0**-9, "float16": 2.0**-12}
# The largest difference over the largest magnitude of the output, in roundings. Each layer rounds its weights and its
# output; the errors are as good as random, so those of n layers add up to sqrt(2 * n): 10 for 50 layers. The largest of
# many thousand outputs lies three deviations out. An instance normalization that divides by the deviation of a few
# voxels multiplies what reaches it.
DEEP, NORMALIZED = 30, 100
FAST = {
    "convolutions": DEEP,
    "transposed_convolutions": DEEP,
    "lower_ranks": DEEP,
    "window_attention": DEEP,
    "transformer_layer": DEEP,
    "pooled_convolutions": DEEP,
    "r3d_18_narrow": DEEP,
    "x3d_narrow": DEEP,
    "unet3d_narrow": NORMALIZED,
    "video_streaming": DEEP,
}
SLOW = {
    "c3d": DEEP,
    "r3d_18": DEEP,
    "r2plus1d_18": DEEP,
    "unet3d": NORMALIZED,
    "x3d_s": DEEP,
    "monai_unet": NORMALIZED,
    "monai_dynunet": NORMALIZED,
    "monai_segresnet": NORMALIZED,
    "monai_swin_unetr": NORMALIZED,
    "monai_densenet121": DEEP,
}
MODELS = [
    *(pytest.param(name, roundings, id=name) for name, roundings in FAST.items()),
    *(pytest.param(name, roundings, id=name, marks=pytest.mark.slow) for name, roundings in SLOW.items()),
]
SIMULATED = ("transformer_layer", "transposed_convolutions", "r3d_18_narrow", "video_streaming")


def expect_close(name: str, shared_object: Path, folder: Path, tolerance: float, *options: str) -> None:
    for index, run in enumerate(export(ROWS[name]).runs):
        results = onnxc_commands.run_files(
            shared_object, run.inputs, list(run.outputs), folder / f"run_{index}", *options
        )
        expect_equal(results, pytorch_outputs(run), tolerance, "PyTorch's float32")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("precision", "march"),
    [
        ("bfloat16", "x86-64-v3"),
        pytest.param("bfloat16", "x86-64-v4", marks=pytest.mark.slow),
        pytest.param("float16", "x86-64-v3", marks=pytest.mark.slow),
        ("float16", "x86-64-v4"),
    ],
)
@pytest.mark.parametrize(("name", "roundings"), MODELS)
def test_error_is_that_of_the_roundings(name: str, roundings: int, precision: str, march: str, tmp_path: Path) -> None:
    model = export(ROWS[name]).model
    shared_object = onnxc_commands.compile_model(
        model, tmp_path / "model.so", "--precision", precision, "--march", march
    )
    expect_close(name, shared_object, tmp_path, roundings * ROUNDING[precision])
    shared_object.unlink()


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", ["r3d_18_narrow", "unet3d_narrow"])
def test_error_with_matrix_tiles(name: str, tmp_path: Path) -> None:
    """AMX, emulated: the same kernels and the same bits as on a machine that has it."""
    shared_object = tmp_path / "model.so"
    options = ("--precision", "bfloat16", "--march", "x86-64-v4-emulating-amx", "--report")
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(export(ROWS[name]).model), "-o", str(shared_object)]
    assert "conv_tiles 3" in onnxc_commands.execute([*command, *options]).stdout
    expect_close(name, shared_object, tmp_path, FAST[name] * ROUNDING["bfloat16"])


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", SIMULATED)
def test_error_on_the_simulated_gpu(name: str, tmp_path: Path) -> None:
    shared_object = onnxc_commands.compile_model(
        export(ROWS[name]).model, tmp_path / "model.so", "--target", "hip", "--precision", "bfloat16"
    )
    expect_close(name, shared_object, tmp_path, FAST[name] * ROUNDING["bfloat16"], "--device", "hip")


# A product in a kernel's title: the channels that it adds up, and the type of the factors.
PRODUCT = re.compile(r"(?:conv|conv_transpose|matmul) .*?(\d+)->\d+.* (\w+) tile")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("architecture", ["gfx942", "sm_90a"])
@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("name", ["video_streaming", "transformer_layer", "window_attention", "unet3d_narrow"])
def test_products_on_gpus_are_of_16_bits(name: str, precision: str, architecture: str, tmp_path: Path) -> None:
    """Whatever lies before them: the model's inputs, its outputs, gathers. An image's few channels stay float32."""
    words = ["--target", "gpu", "--gpu-arch", architecture, "--precision", precision, "--emit", "source", "--report"]
    command = [onnxc_commands.BINARIES / "onnxc", export(ROWS[name]).model, "-o", tmp_path / "model.cpp", *words]
    report = onnxc_commands.execute([*map(str, command)]).stdout
    products = [(int(channels), factors) for channels, factors in PRODUCT.findall(report)]
    assert {factors for channels, factors in products if channels >= 8} == {precision}


DEMO = onnxc_commands.REPOSITORY / "tests" / "demo" / "model.onnx"


def onnxc_output(*words: str | Path) -> str:
    return onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc"), str(DEMO), *map(str, words)]).stdout


@pytest.mark.usefixtures("commands")
def test_report_and_verify_name_what_is_stored_in_16_bits(tmp_path: Path) -> None:
    """Only the nodes that match a pattern stay float32; --verify says the error after each step and passes."""
    shared_object = tmp_path / "model.so"
    report = onnxc_output(
        "-o", shared_object, "--precision", "bfloat16", "--keep-float32", "node_conv3d_[1-3]", "--report"
    )
    kernels = {line.split()[1]: line for line in report.splitlines() if line.startswith("Conv")}
    assert kernels["node_conv3d"].count(", bfloat16 in float32") == 1
    assert "bfloat16" not in kernels["node_conv3d_2"]
    runner = str(onnxc_commands.BINARIES / "onnxc-run")
    done = onnxc_commands.execute([runner, str(shared_object), "--random", "1", "--verify", str(DEMO), "--json"])
    result = json.loads(done.stdout)
    assert result["passed"]
    costs = {cost["nodes"]: cost for cost in result["costs"]}
    assert costs["node_conv3d (Conv)"]["dtype"] == "bfloat16"
    assert costs["node_conv3d_2 (Conv)"]["dtype"] == "float32"
    assert 0 < costs["node_conv3d (Conv)"]["error"] < 2 * ROUNDING["bfloat16"]


@pytest.mark.usefixtures("commands")
def test_errors_of_the_options(tmp_path: Path) -> None:
    for words, code, message in (
        (
            ["--keep-float32", "x"],
            2,
            "--keep-float32 has an effect only with --precision bfloat16 or --precision float16",
        ),
        (
            ["--precision", "bfloat16", "--keep-float32", "x*"],
            2,
            "--keep-float32 'x*': no node has such a name, operator, module or source line",
        ),
        (["--precision", "int4"], 2, "--precision: must be one of: float32 bfloat16 float16; found 'int4'"),
    ):
        with pytest.raises(onnxc_commands.CommandFailure) as caught:
            onnxc_output("-o", tmp_path / "model.so", *words)
        assert caught.value.code == code
        assert message in caught.value.message
