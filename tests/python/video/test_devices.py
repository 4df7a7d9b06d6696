"""onnxc.video.Decoder on a simulated GPU, which its caches do not leave, and of models in float16."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxc
from onnxc.video.caches import Caches
from tests.onnxc_commands import BINARIES, SIMULATOR, execute
from tests.python.video import networks
from tests.python.video.networks import latents

pytestmark = pytest.mark.usefixtures("commands")

OPTIONS: dict[str, Any] = {"caches": {"cache": "next"}, "tile": 5, "overlap": 2}


def test_caches_stay_on_the_gpu(tmp_path: Path, decoder_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
    models = [str(decoder_file.with_name(f"{name}.onnx")) for name in ("first", "later")]
    execute([str(BINARIES / "onnxc"), *models, "-o", str(tmp_path / "gpu.so"), "--target", "gpu"])
    kept: list[bool] = []
    keep = Caches.keep

    def watched(caches: Caches, outputs: Any) -> None:
        kept.append(outputs["next"].is_on_gpu)
        keep(caches, outputs)

    monkeypatch.setattr(Caches, "keep", watched)
    values = latents(1, 2, 3, 6, 7)
    decoder = onnxc.video.Decoder(tmp_path / "gpu.so", entry="later", first="first", device="gpu", **OPTIONS)
    frames = decoder.decode(values)
    assert kept == [True] * 18  # 3 chunks of 6 tiles
    expected = onnxc.video.Decoder(decoder_file, entry="later", first="first", **OPTIONS).decode(values)
    np.testing.assert_allclose(frames, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_models_in_float16(tmp_path: Path, decoder_file: Path) -> None:
    files = []
    for name, text in (("first", networks.FIRST), ("later", networks.LATER)):
        model = onnx.parser.parse_model(text.replace("float[1, 2", "float16[1, 2"))
        weights = {
            tensor.name: tensor for tensor in onnx.load(decoder_file.with_name(f"{name}.onnx")).graph.initializer
        }
        for key in ("w0", "w1"):
            half = numpy_helper.to_array(weights[key]).astype(np.float16)
            model.graph.initializer.append(numpy_helper.from_array(half, key))
        files.append(tmp_path / f"{name}.onnx")
        onnx.save(model, files[-1])
    execute([str(BINARIES / "onnxc"), *map(str, files), "-o", str(tmp_path / "half.so")])
    values = latents(1, 2, 3, 6, 7).astype(np.float16)
    frames = onnxc.video.Decoder(tmp_path / "half.so", entry="later", first="first", **OPTIONS).decode(values)
    assert frames.dtype == np.float32
    expected = onnxc.video.Decoder(decoder_file, entry="later", first="first", **OPTIONS).decode(values)
    # Weights and what lies between the layers have 11 bits.
    np.testing.assert_allclose(frames, expected, rtol=0, atol=1e-2 * np.abs(expected).max())
