"""Models on parts of an MI300X: a device of 38 compute units and one XCD, with a quarter of the memory or all of it.

Tiles, splits and the order of blocks are planned for 304 compute units and eight XCDs. On fewer they may take longer,
but give the same.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from models import tensor_files
from models.export import export
from models.zoo import ROWS
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.models.test_models import expect_equal, pytorch_outputs

pytestmark = pytest.mark.usefixtures("commands")

# Between them: reductions in parts, rows in chunks, attention, scatters and running sums, sizes that a run knows.
NETWORKS = [
    "convolutions",
    "half_network",
    "normalizations",
    "transformer_layer",
    "scatter_routing",
    "one_hot_routing",
    pytest.param("transposed_convolutions", marks=pytest.mark.slow),
    pytest.param("monai_unet", marks=pytest.mark.slow),
    pytest.param("unet3d_narrow", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_on_the_second_of_two_devices(network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against PyTorch; and to the bit what the whole GPU gives."""
    for name, value in onnxc_commands.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    row, exported = ROWS[network], export(ROWS[network])
    file = onnxc_commands.compile_model(exported.model, tmp_path / "model.so", "--target", "hip")
    whole = []
    for modes in ("spx", "cpx", "cpx,nps4"):
        monkeypatch.setenv("GFX942SIM_PARTITION", modes)
        monkeypatch.setenv("GFX942SIM_DEVICES", "2")
        with InferenceSession(file, device="hip:1") as session:
            for index, run in enumerate(exported.runs):
                inputs = {name: tensor_files.load(path) for name, path in run.inputs.items()}
                names = list(run.outputs)
                results = dict(zip(names, session.run(names, inputs), strict=True))
                if modes == "spx":
                    expect_equal(results, pytorch_outputs(run), row.tolerance, "PyTorch")
                    whole.append(results)
                for name in names:
                    np.testing.assert_array_equal(results[name], whole[index][name], f"{modes}: {name}")


def test_onnxc_run_names_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--device hip:1 if there are two, and if there is one."""
    exported = export(ROWS["convolutions"])
    file = onnxc_commands.compile_model(exported.model, tmp_path / "model.so", "--target", "hip")
    run, results = exported.runs[0], []
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_DEVICES", "2")
    for device in ("hip", "hip:1"):
        folder = tmp_path / device.replace(":", "_")
        results.append(onnxc_commands.run_files(file, run.inputs, list(run.outputs), folder, "--device", device))
    for name in run.outputs:
        np.testing.assert_array_equal(results[0][name], results[1][name])
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_DEVICES", "1")
    command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(file), "--random", "1", "--device", "hip:1"]
    environment = onnxc_commands.ENVIRONMENT
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 1
    assert "there is no GPU 1: HIP sees 1" in done.stderr
