"""onnxc.nnunet.Predictor against nnU-Net's own predictor, with onnxruntime as its network."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import onnxc
from onnxc.nnunet import __main__ as nnunet_command
from tests.onnxc_commands import REPOSITORY
from tests.python.volumes.networks import save_network, volume
from tests.python.volumes.nnunet_package import nnunet_predictor, sums_in_float32

pytestmark = pytest.mark.usefixtures("commands")


@dataclass(frozen=True)
class Setting:
    size: tuple[int, int, int]
    patch: tuple[int, ...] = (12, 10, 16)
    mirroring: tuple[int, ...] | None = None
    step: float = 0.5
    gaussian: bool = True
    folds: int = 1

    def __str__(self) -> str:
        mirrored = "none" if self.mirroring is None else "".join(map(str, self.mirroring))
        sizes = "x".join(map(str, self.size)) + "by" + "x".join(map(str, self.patch))
        return f"{sizes}-mirror{mirrored}-step{self.step}-gaussian{self.gaussian:d}-folds{self.folds}"


SIZE = (21, 18, 26)
SETTINGS = [
    *[Setting(SIZE, mirroring=axes) for axes in (None, (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))],
    *[Setting(SIZE, step=step) for step in (0.25, 0.3, 0.7, 1.0)],
    Setting(SIZE, gaussian=False),
    Setting(SIZE, gaussian=False, mirroring=(0, 1, 2), step=0.75),
    Setting(SIZE, (11, 9, 13)),  # odd: the Gaussian's peak is in the middle
    Setting(SIZE, (21, 18, 26)),
    Setting((9, 18, 13), mirroring=(0, 2)),  # smaller than the patch
    Setting((5, 6, 7), mirroring=(0, 1, 2)),
    Setting(SIZE, folds=2),
    Setting(SIZE, folds=3, mirroring=(0, 1)),
    Setting((3, 21, 26), (10, 16)),  # a network of two axes, over slices
    Setting((4, 8, 26), (12, 16), mirroring=(0, 1), folds=2),
]


@pytest.fixture(scope="module")
def folds(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Path]]:
    """Three folds of a network, by the number of its axes: as ONNX and, beside it, compiled."""
    folder = tmp_path_factory.mktemp("folds")
    paths: dict[int, list[Path]] = {2: [], 3: []}
    for rank, count in ((2, 2), (3, 3)):
        for fold in range(count):
            path = save_network(folder / f"{rank}.{fold}.onnx", ("full",), rank=rank, seed=fold)
            onnxc.compile(path, path.with_suffix(".so"), options=["-O1"]).close()
            paths[rank].append(path)
    return paths


def predictors(setting: Setting, folds: dict[int, list[Path]]) -> tuple[onnxc.nnunet.Predictor, Any]:
    models = folds[len(setting.patch)][: setting.folds]
    ours = onnxc.nnunet.Predictor(setting.step, setting.gaussian, setting.mirroring is not None)
    ours.initialize_from_models([m.with_suffix(".so") for m in models], setting.patch, setting.mirroring)
    theirs = nnunet_predictor(models, setting.patch, setting.mirroring, setting.step, setting.gaussian)
    return ours, theirs


def test_there_are_at_least_twenty_settings() -> None:
    assert len(set(SETTINGS)) >= 20


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_is_nnunet(setting: Setting, folds: dict[int, list[Path]]) -> None:
    ours, theirs = predictors(setting, folds)
    x = torch.from_numpy(volume((2, *setting.size)))
    with sums_in_float32():
        expected = theirs.predict_logits_from_preprocessed_data(x)
    found = ours.predict_logits_from_preprocessed_data(x)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))
    labels = ours.predict_labels_from_preprocessed_data(x.numpy())
    assert np.mean(labels == expected.argmax(0).numpy()) >= 0.99999


def test_nnunet_as_it_is_differs_by_its_half_precision_sums(folds: dict[int, list[Path]]) -> None:
    """A voxel is the mean of at most 8 windows: 8 additions and a division, each rounded to 11 bits. With the Gaussian
    no bound holds: at a volume's corners its weights are below half precision's normal numbers."""
    ours, theirs = predictors(Setting(SIZE, gaussian=False), folds)
    x = torch.from_numpy(volume((2, *SIZE)))
    expected = theirs.predict_logits_from_preprocessed_data(x).float()
    found = ours.predict_logits_from_preprocessed_data(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=9 * 2.0**-11 * float(expected.abs().max()))


def test_reads_a_trained_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.python.volumes.nnunet_folder import write_trained_folder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    networks = write_trained_folder(tmp_path / "trained", folds=2, patch_size=(16, 16, 8))
    predictor = onnxc.nnunet.Predictor()
    predictor.initialize_from_trained_model_folder(tmp_path / "trained", None)
    assert predictor.patch_size == (16, 16, 8)
    assert predictor.allowed_mirroring_axes == (0, 2)

    x = torch.from_numpy(volume((2, 20, 16, 12)))
    theirs = nnunet_predictor([], (16, 16, 8), (0, 2), 0.5, True)
    theirs.label_manager.num_segmentation_heads = 3
    theirs.network = networks[0]
    theirs.list_of_parameters = [network.state_dict() for network in networks]
    with sums_in_float32():
        expected = theirs.predict_logits_from_preprocessed_data(x)
    found = predictor.predict_logits_from_preprocessed_data(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))

    kept = sorted((tmp_path / "cache" / "onnxc" / "nnunet").iterdir())
    assert sorted(each.suffix for each in kept) == [".json", ".json", ".so", ".so"]
    models = [each for each in kept if each.suffix == ".so"]
    times = [model.stat().st_mtime_ns for model in models]
    again = onnxc.nnunet.Predictor()
    again.initialize_from_trained_model_folder(str(tmp_path / "trained"), [1, 0])
    assert [model.stat().st_mtime_ns for model in models] == times
    for folds, text in (
        ([7], "cannot read the checkpoint .*fold_7"),
        ([], "use_folds is an empty list; None takes all folds"),
    ):
        with pytest.raises(onnxc.OnnxcError, match=text):
            again.initialize_from_trained_model_folder(tmp_path / "trained", folds)
    with pytest.raises(onnxc.OnnxcError, match=r"cannot read .*plans\.json"):
        again.initialize_from_trained_model_folder(tmp_path / "nowhere", None)


WITHOUT_TORCH = """
import sys
sys.modules.update(torch=None, onnxscript=None, dynamic_network_architectures=None)
import onnxc
predictor = onnxc.nnunet.Predictor()
try:
    predictor.initialize_from_trained_model_folder(sys.argv[1], [0])
except onnxc.OnnxcError as error:
    sys.exit(str(error))
print(predictor.patch_size, predictor.allowed_mirroring_axes)
"""


def test_a_compiled_fold_is_read_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.python.volumes.nnunet_folder import write_trained_folder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trained = tmp_path / "trained"
    write_trained_folder(trained, folds=1, patch_size=(16, 16, 8))

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, *options, str(trained)]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python")}
        return subprocess.run(words, capture_output=True, text=True, check=False, env=environment)

    missing = run("-c", WITHOUT_TORCH)
    assert missing.returncode == 1
    assert missing.stderr == "a fold that is not compiled yet needs the package torch: pip install torch\n"
    onnxc.nnunet.Predictor().initialize_from_trained_model_folder(trained, None)
    assert run("-c", WITHOUT_TORCH).stdout == "(16, 16, 8) (0, 2)\n"


def test_the_command_makes_a_model_of_any_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.python.volumes.nnunet_folder import write_trained_folder

    [network] = write_trained_folder(tmp_path / "trained", folds=1, patch_size=(16, 16, 8))
    assert nnunet_command.main([str(tmp_path / "trained"), "-o", str(tmp_path / "models")]) == 0
    model = tmp_path / "models" / "fold0.so"
    told = f"{model}: onnxc-run {model} --volume SCAN --preset nnunet --window 16x16x8 --mirror 0,2\n"
    assert capsys.readouterr().out == told
    session = onnxc.InferenceSession(model)
    for dims in ((1, 2, 16, 16, 8), (3, 2, 24, 20, 12)):
        x = torch.from_numpy(volume(dims))
        [found] = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        with torch.no_grad():
            expected = network(x).numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert nnunet_command.main([str(tmp_path / "trained"), "-o", str(tmp_path), "--folds", "7"]) == 1
    assert capsys.readouterr().err.startswith("onnxc.nnunet: cannot read the checkpoint ")
    assert nnunet_command.main([str(tmp_path / "trained"), "-o", "/proc/models"]) == 1
    assert "cannot make the folder '/proc/models': No such file" in capsys.readouterr().err


def test_needs_a_model_and_four_axes(folds: dict[int, list[Path]]) -> None:
    with pytest.raises(onnxc.OnnxcError, match="the predictor has no model yet"):
        onnxc.nnunet.Predictor().predict_logits_from_preprocessed_data(np.zeros((1, 8, 8, 8), np.float32))
    ours, _ = predictors(Setting(SIZE), folds)
    with pytest.raises(onnxc.OnnxcError, match=r"data has the shape \(2, 8, 8\), expected .channels, x, y, z."):
        ours.predict_logits_from_preprocessed_data(np.zeros((2, 8, 8), np.float32))
