"""onnxc-run --volume and what goes wrong: damaged scans, NaN, a full disk, Ctrl-C, windows that do not fit, size."""

import gzip
import json
import re
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import onnxc
from tests.onnxc_commands import BINARIES
from tests.python.volumes.networks import convolution, volume
from tests.tools.volume_files import AFFINE, SIZE, compiled_network, execute, passes, save_scan

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_network(tmp_path_factory.mktemp("network"))


def lying_header(path: Path) -> None:
    header = bytearray(gzip.decompress(path.read_bytes()))
    header[42:44] = (30000).to_bytes(2, "little")  # dim[1]
    header[44:46] = (30000).to_bytes(2, "little")
    path.write_bytes(gzip.compress(bytes(header)))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-900])


def broken_sum(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8] + bytes(8))


def save_as(array: NDArray[Any]) -> Any:
    return lambda path: nibabel.save(nibabel.Nifti1Image(array, AFFINE), path)


BAD_SCANS: list[tuple[str, Any, str]] = [
    ("lying", lying_header, "the header says that .* bytes of voxels begin at byte 352, and the file has"),
    ("truncated gzip", truncated, r"is truncated or damaged: \d+ of 14212 bytes of voxels could be read"),
    ("broken sum", broken_sum, "damaged"),
    ("rank 2", save_as(np.zeros((9, 9), np.int16)), r"has 2 axes \(9x9\), and the model takes 3 spatial ones"),
    (
        "rank 5",
        save_as(np.zeros((9, 9, 9, 2, 2), np.int16)),
        r"has 5 axes \(9x9x9x2x2\), and the model takes 3 spatial",
    ),
    ("channels", save_as(np.zeros((9, 9, 9, 2), np.int16)), "dim 1 .*1.*; the inputs are 'x' 1x2x"),
    ("complex", save_as(np.zeros((9, 9, 9), np.complex64)), r"elements of NIfTI type 32 \(COMPLEX64\)"),
    ("text", lambda path: path.write_text("a scan"), "is not a NIfTI image, or its header is damaged"),
    ("empty", lambda path: path.write_bytes(b""), "is not a NIfTI image, or its header is damaged"),
    ("none", lambda path: path.unlink(), "cannot read .*: No such file or directory"),
]


@pytest.mark.parametrize(("change", "text"), [case[1:] for case in BAD_SCANS], ids=[case[0] for case in BAD_SCANS])
def test_bad_scans(model: Path, tmp_path: Path, change: Any, text: str) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 10)
    change(ct)
    done = execute(model, "--volume", ct, "--window", "12", "--output", tmp_path / "seg.nii.gz")
    assert done.returncode == 1
    assert re.search(text, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path != ct] == []


def test_nan_voxels_are_told(model: Path, tmp_path: Path) -> None:
    x = volume(SIZE)
    x[3:5, 3:6, 3:7] = np.nan
    nibabel.save(nibabel.Nifti1Image(x, AFFINE), tmp_path / "x.nii.gz")
    done = execute(model, "--volume", tmp_path / "x.nii.gz", "--window", "12", "--json", "--output", tmp_path / "y.npy")
    assert done.returncode == 0
    assert "24 voxels are NaN" in done.stderr
    assert json.loads(done.stdout)["nan_voxels"] == 24
    y = np.load(tmp_path / "y.npy")
    assert np.isnan(y[:, 4, 4, 4]).all()
    assert not np.isnan(y[:, 15:]).any()


def test_what_means_the_volumes_own_size(model: Path, tmp_path: Path) -> None:
    """As in Python; another negative number is refused."""
    np.save(tmp_path / "x.npy", volume(SIZE))
    results = []
    for size in ("0", "-1", "x".join(map(str, SIZE))):
        output = tmp_path / f"{size}.npy"
        done = execute(model, "--volume", tmp_path / "x.npy", f"--window={size}", "--output", output)
        assert done.returncode == 0, done.stderr
        results.append(np.load(output))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    done = execute(model, "--volume", tmp_path / "x.npy", "--window=-2", "--output", tmp_path / "y.npy")
    assert done.returncode == 2
    assert "--window -2: expected sizes of at least 1, or 0 or -1 for the volume's own" in done.stderr


def test_a_file_that_cannot_be_written_leaves_nothing(model: Path, tmp_path: Path) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 10)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for name in ("seg.nii", "seg.nii.gz", "seg.npy"):
        done = execute(model, "--volume", ct, "--window", "12", "--output", tmp_path / name, preexec_fn=limit)
        assert done.returncode == 1
        assert "cannot write" in done.stderr
        assert list(tmp_path.iterdir()) == [ct]


def test_a_full_disk_leaves_nothing(model: Path, tmp_path: Path) -> None:
    """A file system of 40 KB, in a name space of its own."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a file system")
    ct = save_scan(tmp_path / "ct.nii", volume((40, 40, 40)) * 10)
    (tmp_path / "disk").mkdir()
    for name in ("seg.nii", "seg.nii.gz", "seg.npy"):
        command: list[str | Path] = [
            BINARIES / "onnxc-run",
            model,
            "--volume",
            ct,
            "--window",
            "12",
            "--output",
            tmp_path / "disk" / name,
        ]
        script = 'mount -t tmpfs -o size=40k none "$0"; "$@"; code=$?; ls -A "$0"; exit $code'
        words: list[str | Path] = ["unshare", "-rm", "sh", "-c", script, tmp_path / "disk", *command]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"cannot write '{tmp_path / 'disk' / name}': No space left on device" in done.stderr
        assert done.stdout == ""


def test_ctrl_c_leaves_nothing(model: Path, tmp_path: Path) -> None:
    ct = save_scan(tmp_path / "ct.nii", volume((120, 120, 120)) * 10)
    words = [model, "--volume", ct, "--window", "12", "--overlap", "0.9", "--output", tmp_path / "seg.nii.gz"]
    process = subprocess.Popen([str(BINARIES / "onnxc-run"), *map(str, words)], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob(".onnxc-*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT
    assert list(tmp_path.iterdir()) == [ct]


def test_a_window_that_the_model_does_not_take_is_told_with_the_nearest_that_it_does(tmp_path: Path) -> None:
    """A network that halves its windows and doubles them again, and adds both."""
    layers = [convolution("down", "x", (1, 4), 3, 2), convolution("same", "x", (1, 4), 3)]
    nodes = [node for node, _ in layers]
    weights = [tensor for _, tensors in layers for tensor in tensors]
    weights.append(numpy_helper.from_array(np.array([1, 1, 2, 2, 2], np.float32), "scales"))
    nodes.append(helper.make_node("Resize", ["down", "", "scales"], ["up"], mode="nearest"))
    nodes.append(helper.make_node("Concat", ["up", "same"], ["y"], axis=1))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, "D", "H", "W"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "n.onnx")
    onnxc.compile(tmp_path / "n.onnx", tmp_path / "n.so", options=["-O1"]).close()
    ct = save_scan(tmp_path / "ct.nii", volume(SIZE) * 10)
    words: list[str | Path] = [tmp_path / "n.so", "--volume", ct, "--output", tmp_path / "seg.nii", "--window"]
    done = execute(*words, "11x12x13")
    assert done.returncode == 1
    assert "the window is 11x12x13, and the nearest that fit are 10x12x12 and 12x12x14" in done.stderr
    passes(*words, "10x12x12")


def constant_network(path: Path) -> Path:
    """x to the classes x + 1 and 5 - x: label 0 if x is at least 2."""
    weights = [
        numpy_helper.from_array(np.array([1, -1], np.float32).reshape(2, 1, 1, 1, 1), "w"),
        numpy_helper.from_array(np.array([1, 5], np.float32), "b"),
    ]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, "D", "H", "W"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2, "D", "H", "W"])], weights,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    onnxc.compile(path, path.with_suffix(".so")).close()
    return path.with_suffix(".so")


def sparse_scan(path: Path, size: tuple[int, int, int]) -> dict[tuple[int, int, int], int]:
    """uint8, zero but for some voxels; those are given back. The file has the disk space of only these."""
    generator = np.random.default_rng(0)
    places = [(0, 0, 0), (size[0] - 1, size[1] - 1, size[2] - 1)]
    places += [tuple(int(generator.integers(extent)) for extent in size) for _ in range(300)]  # type: ignore[misc]
    values = {place: int(generator.integers(1, 200)) for place in places}
    with path.open("wb") as file:
        file.truncate(size[0] * size[1] * size[2])
        for place, value in values.items():
            file.seek(int(np.ravel_multi_index(place, size)))
            file.write(bytes([value]))
    return values


def test_a_volume_of_which_only_slabs_are_in_memory(tmp_path: Path) -> None:
    """Values of 352 MB leave while windows run: the process never holds half of that."""
    size = (672, 256, 256)
    values = sparse_scan(tmp_path / "x.raw", size)
    printed = passes(constant_network(tmp_path / "n.onnx"), "--volume", tmp_path / "x.raw", "--raw",
                     "x".join(map(str, size)) + ":uint8", "--window", "8x64x256", "--overlap", "0", "--json",
                     "--output", tmp_path / "y.raw")  # fmt: skip
    assert json.loads(printed)["peak_bytes"] < 160e6
    y = np.memmap(tmp_path / "y.raw", np.float32, "r", shape=(2, *size))
    for place, value in values.items():
        assert (y[:, *place] == [value + 1, 5 - value]).all()
    assert int((y[0] == 1).sum()) == size[0] * size[1] * size[2] - len(values)


@pytest.mark.slow
def test_eight_gigabytes_are_segmented_in_bounded_memory(tmp_path: Path) -> None:
    """2048^3 voxels of uint8, a sparse file; labels streamed. Sums are those of a row of windows, 50 MB, and 16
    slices of labels, 67 MB, wait for their last row; of the scan 256 MB are mapped before they are given back."""
    size = (2048, 2048, 2048)
    values = sparse_scan(tmp_path / "x.raw", size)
    printed = passes(constant_network(tmp_path / "n.onnx"), "--volume", tmp_path / "x.raw", "--raw",
                     "2048x2048x2048:uint8", "--window", "16x128x256", "--overlap", "0", "--labels", "--json",
                     "--output", tmp_path / "y.raw")  # fmt: skip
    summary = json.loads(printed)
    assert summary["peak_bytes"] < 6e8
    assert summary["working_bytes"] < 2e8
    labels = np.memmap(tmp_path / "y.raw", np.uint8, "r", shape=size)
    for place, value in values.items():
        assert labels[place] == (0 if value >= 2 else 1)
    ones = sum(int(np.count_nonzero(labels[i])) for i in range(size[0]))
    assert ones == size[0] * size[1] * size[2] - sum(value >= 2 for value in values.values())
