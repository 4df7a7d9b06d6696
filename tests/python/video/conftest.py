"""The decoders that the tests of this folder run."""

from pathlib import Path

import pytest

from tests.python.video import networks


@pytest.fixture(scope="session")
def video_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("video")


@pytest.fixture(scope="session")
def decoder_file(commands: None, video_folder: Path) -> Path:
    """The entries "first" and "later", whose cache is the last two latent frames."""
    return networks.compiled(video_folder, "decoder", networks.FIRST, networks.LATER)


@pytest.fixture(scope="session")
def causal_file(commands: None, video_folder: Path) -> Path:
    """2t-1 frames of t, without a cache; causal.onnx lies beside it."""
    return networks.compiled(video_folder, "causal", networks.CAUSAL)


@pytest.fixture(scope="session")
def streaming_encoder_file(commands: None, video_folder: Path) -> Path:
    """The entries "begin", of one frame, and "go_on"."""
    return networks.compiled(video_folder, "streaming_encoder", networks.ENCODER_FIRST, networks.ENCODER_LATER)


@pytest.fixture(scope="session")
def encoder_file(commands: None, video_folder: Path) -> Path:
    """(t+1)//2 latent frames of t, without a cache; encoder.onnx lies beside it."""
    return networks.compiled(video_folder, "encoder", networks.ENCODER)


@pytest.fixture(scope="session")
def still_file(commands: None, video_folder: Path) -> Path:
    """Each frame by itself."""
    return networks.compiled(video_folder, "still", networks.STILL)
