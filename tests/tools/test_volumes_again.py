"""onnxc-run --volume FILES --output FOLDER: killed at any moment, the same command goes on with what is missing."""

import fcntl
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

import onnxc
from tests.onnxc_commands import BINARIES
from tests.python.volumes.networks import save_network, volume
from tests.tools.volume_files import SIZE, compiled_network, execute, passes, save_scan

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_network(tmp_path_factory.mktemp("network"))


def results_of(folder: Path) -> list[Path]:
    """Without the record of what they were made from."""
    return sorted(path for path in folder.iterdir() if path.name != ".onnxc-volumes.jsonl")


def made_of(printed: str) -> list[str]:
    return [Path(json.loads(line)["output"]).name for line in printed.splitlines()]


def test_several_files_go_on_where_they_stopped(model: Path, tmp_path: Path) -> None:
    files = [save_scan(tmp_path / f"case{i}.nii.gz", volume(SIZE, i) * 100) for i in range(4)]
    whole = files[1].read_bytes()
    files[1].write_bytes(whole[: len(whole) * 2 // 3])
    words: tuple[str | Path, ...] = (
        model,
        "--volume",
        *files,
        "--window",
        "12",
        "--labels",
        "--json",
        "--output",
        tmp_path / "out",
    )
    done = execute(*words)
    assert done.returncode == 1
    assert "case1.nii.gz' is truncated or damaged" in done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [Path(line["volume"]).name for line in lines] == ["case0.nii.gz", "case2.nii.gz", "case3.nii.gz"]
    assert all(line["dims"] == list(SIZE) and 0 < line["network_share"] < 1 for line in lines)
    results = results_of(tmp_path / "out")
    assert [result.name for result in results] == ["case0.nii.gz", "case2.nii.gz", "case3.nii.gz"]
    times = [result.stat().st_mtime_ns for result in results]

    files[1].write_bytes(whole)
    assert [Path(json.loads(line)["volume"]).name for line in passes(*words).splitlines()] == ["case1.nii.gz"]
    assert [result.stat().st_mtime_ns for result in results] == times
    assert len(passes(*words, "--overwrite").splitlines()) == 4


@pytest.mark.parametrize("suffix", [".nii.gz", ".nii", ".npy"])
def test_killed_in_the_middle_the_same_command_goes_on(model: Path, tmp_path: Path, suffix: str) -> None:
    """Killed at some moment of each of six runs, and then let be: all is there once, nothing of it half written."""
    names = [f"case{i:02}{suffix}" for i in range(20)]
    (tmp_path / "in").mkdir()
    for i, name in enumerate(names):
        x = volume((30, 30, 30), i) * 100
        if suffix == ".npy":
            np.save(tmp_path / "in" / name, x)
        else:
            save_scan(tmp_path / "in" / name, x)
    words: list[str | Path] = [model, "--volume", *(tmp_path / "in" / name for name in names), "--window", "12"]
    words += ["--overlap", "0.5", "--json", "--output", tmp_path / "out"]
    out = tmp_path / "out"
    made: dict[str, int] = {}
    for kill in range(6):
        process = subprocess.Popen(
            [str(BINARIES / "onnxc-run"), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        seen = len(made)
        while process.poll() is None and len(list(out.glob(f"case*{suffix}"))) < seen + 2:
            time.sleep(0.001)
        time.sleep(0.002 * kill)
        process.send_signal(signal.SIGINT if kill == 2 else signal.SIGKILL)
        process.wait()
        made = {path.name: path.stat().st_mtime_ns for path in results_of(out) if path.suffix != ".tmp"}
    assert len(made) >= 2
    assert len(list(out.glob("*.tmp"))) <= 1  # of the last one that was killed; each removes those before it

    again = made_of(passes(*words))
    assert again == [name for name in names if name not in made]
    assert [path.name for path in results_of(out)] == names
    assert {name: (out / name).stat().st_mtime_ns for name in made} == made
    assert passes(*words) == ""
    for name in names:
        passes(model, "--volume", tmp_path / "in" / name, "--window", "12", "--overlap", "0.5", "--output",
               tmp_path / name)  # fmt: skip
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()


def test_a_result_of_another_origin_is_made_anew(model: Path, tmp_path: Path) -> None:
    scans = [save_scan(tmp_path / f"case{i}.nii", volume(SIZE, i) * 100) for i in range(2)]
    other = save_network(tmp_path / "other.onnx", ("full",), channels=1, seed=7)
    onnxc.compile(other, other.with_suffix(".so"), options=["-O1"]).close()
    # The same model under another name is the same model, and threads change no bit.
    copy = tmp_path / "copy.so"
    copy.write_bytes(model.read_bytes())
    out = tmp_path / "out"

    def made(path: Path, *words: str) -> list[str]:
        done = execute(path, "--volume", *scans, *words, "--json", "--output", out)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("it is made anew") == len(done.stdout.splitlines()) or "--overwrite" in words
        return made_of(done.stdout)

    both = ["case0.nii", "case1.nii"]
    done = execute(model, "--volume", *scans, "--window", "12", "--output", out)
    assert done.returncode == 0
    assert made(model, "--window", "12") == []
    assert made(copy, "--window", "12", "--threads", "1") == []
    assert made(other.with_suffix(".so"), "--window", "12") == both
    assert made(model, "--window", "12") == both
    for option in (["--overlap", "0.5"], ["--blend", "gaussian"], ["--mirror", "0"], ["--clip", "0,50"], ["--labels"]):
        assert made(model, "--window", "12", *option) == both
        assert made(model, "--window", "12", *option) == []
    assert made(model, "--window", "12") == both
    save_scan(scans[1], volume(SIZE, 5) * 100)
    assert made(model, "--window", "12") == ["case1.nii"]
    assert made(model, "--window", "12", "--overwrite") == both


def test_a_result_that_was_changed_is_kept_and_one_that_was_cut_is_made_again(model: Path, tmp_path: Path) -> None:
    names = ["a.nii.gz", "b.nii", "c.npy", "d.nii.gz", "e.nii"]
    for i, name in enumerate(names):
        if name.endswith(".npy"):
            np.save(tmp_path / name, volume(SIZE, i))
        else:
            save_scan(tmp_path / name, volume(SIZE, i) * 100)
    scans = [tmp_path / name for name in names]
    out = tmp_path / "out"
    words: list[str | Path] = [model, "--volume", *scans, "--window", "12", "--labels", "--json", "--output", out]
    passes(*words)
    whole = {name: (out / name).read_bytes() for name in names}
    for name in names[:3]:
        (out / name).write_bytes(whole[name][:-50])
    assert made_of(passes(*words)) == names[:3]
    assert {name: (out / name).read_bytes() for name in names} == whole

    # Corrected by hand, as after a look at it; and a file that was there before.
    corrected: Any = nibabel.load(out / "d.nii.gz")
    labels = np.asarray(corrected.dataobj).copy()
    labels[3] = 1
    nibabel.save(nibabel.Nifti1Image(labels, corrected.affine), out / "d.nii.gz")
    (out / "d.nii.gz").touch()
    (out / ".onnxc-volumes.jsonl").write_text(
        "".join(line for line in (out / ".onnxc-volumes.jsonl").open() if '"e.nii"' not in line) + '\n{"result": "cut'
    )
    kept = (out / "d.nii.gz").read_bytes()
    done = execute(*words)
    assert done.returncode == 1
    assert done.stdout == ""
    for name in ("d.nii.gz", "e.nii"):
        assert f"{out / name}' is there, and was changed since it was made, or not made by onnxc-run" in done.stderr
    assert (out / "d.nii.gz").read_bytes() == kept
    assert made_of(passes(*words, "--overwrite")) == names
    assert {name: (out / name).read_bytes() for name in names} == whole
    assert passes(*words) == ""


def test_temporary_files_of_others_at_work_stay(model: Path, tmp_path: Path) -> None:
    ct = save_scan(tmp_path / "ct.nii", volume(SIZE) * 10)
    (tmp_path / "out").mkdir()
    abandoned, held = tmp_path / "out" / ".onnxc-1-0.tmp", tmp_path / "out" / ".onnxc-1-1.tmp"
    abandoned.touch()
    with held.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        passes(model, "--volume", ct, "--window", "12", "--output", tmp_path / "out" / "seg.nii")
        assert not abandoned.exists()
        assert held.exists()
