"""A whole check without a GPU: a bundle of two models and a tiny network for the CPU, beside PyTorch on the CPU."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.onnxc_commands import REPOSITORY
from tools.gpu_check import bundle, check, jobs, manifest, results, times
from tools.gpu_check.devices import Cpu, Device, Function
from tools.gpu_check.manifest import TESTED, TESTS, TIMED
from tools.gpu_check.networks.table import DRY, NETWORKS
from tools.gpu_check.packing import CODE, Part, pack, unpack, weights_begin
from tools.gpu_check.results import FAILED, WRONG
from tools.gpu_check.target import TARGETS

pytestmark = pytest.mark.usefixtures("commands")

MODELS = ("one_hot_routing_dynamic", "transformer_layer")
WORDS = ["--for", "cpu", "--models", ",".join(MODELS), "--networks", "tiny", "--kinds", "ieee", "--scan", "18x16x20"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, commands: None) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "cpu"
    assert bundle.main([*WORDS, "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def whole(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a check of everything, started in the bundle as on another machine."""
    out = tmp_path_factory.mktemp("out")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-m", "tools.gpu_check", "--out", str(out)]
    done = subprocess.run(command, cwd=made, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not reached" not in done.stderr
    assert done.stdout.strip() == (out / "table.md").read_text().strip()
    return out


def end_the_process(model: Path) -> None:
    """Makes a model whose process ends, as after a fault of a driver's."""
    source = "#include <cstdlib>\n__attribute__((constructor)) void load() { abort(); }\n"
    command = ["clang++-19", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(model)]
    subprocess.run(command, input=source, text=True, check=True)


def changed(made: Path, folder: Path, change: Callable[[Path], object]) -> Path:
    """A bundle whose test models are changed in their folder."""
    shutil.copytree(made, folder / "bundle")
    for archive in (CODE, TESTS):
        unpack(made / archive, folder / "unpacked")
    change(folder / "unpacked")
    parts = {str(file.relative_to(folder / "unpacked")): Part(file) for file in (folder / "unpacked").rglob("*.*")}
    pack(parts, folder / "bundle" / TESTS)
    return folder / "bundle"


def test_every_job_has_a_result(made: Path, whole: Path) -> None:
    found = results.read(whole)
    done = {(each.part, each.name, each.kind) for each in found}
    planned = jobs.all_jobs(manifest.read(made))
    assert {job.part for job in planned} == set(jobs.PARTS) - {"layers", "more"}
    assert {(job.part, job.name, job.kind) for job in planned} <= done
    assert not [each for each in found if each.status in (WRONG, FAILED)]
    ways = {each.what for each in found if each.part == jobs.CORRECTNESS}
    assert ways == {"plain", "poisoned", "graph", "stream", "capture", "host", "unaligned"}


def once(device: Device, function: Function) -> times.Timing:
    """In place of a measurement, whose repeats would take minutes on a CPU."""
    function()
    return times.Timing(1, 1, 0, 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, row in NETWORKS.items() if row.part == DRY])
def test_each_architecture_gives_what_pytorch_gives(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its export with weights that repeat to the calls that are timed, on its smallest volume."""
    words = ["--for", "cpu", "--models", "", "--networks", name, "--kinds", "ieee", "-o", str(tmp_path / "bundle")]
    assert bundle.main(words) == 0
    for archive in (CODE, f"{name}.tar.xz"):
        unpack(tmp_path / "bundle" / archive, tmp_path)
    monkeypatch.setattr(times, "measure", once)
    network = manifest.read(tmp_path / "bundle").network(name)
    timed = times.Timed("networks", network, "ieee", tmp_path / TIMED / name, TARGETS["cpu"], Cpu())
    found = {each.what: each for each in times.check(timed)}
    assert found["result"].status == results.RIGHT, found["result"].text
    assert len(found) == 7


def test_models_come_back_to_the_byte(made: Path, tmp_path: Path) -> None:
    for archive in (CODE, TESTS, "tiny.tar.xz"):
        unpack(made / archive, tmp_path)
    unpacked = sorted(tmp_path.rglob("*.so"))
    assert len(unpacked) == 7
    for file in unpacked:
        original = made.with_name("cpu.work") / file.parent.relative_to(tmp_path) / f"cpu-{file.name}"
        assert file.read_bytes() == original.read_bytes()
        assert weights_begin(original) < original.stat().st_size


def test_a_network_to_time_does_not_take_the_files_of_the_test_model_of_its_name() -> None:
    check_of, time_of = (jobs.Job(jobs.CORRECTNESS, what, "r3d_18", "ieee", 90) for what in ("check", "time"))
    assert (check_of.folder, time_of.folder) == ("tests/r3d_18", "networks/r3d_18")


def test_table_has_each_part(whole: Path) -> None:
    text = (whole / "table.md").read_text()
    assert f"| ieee {7 * '| 2 of 2 '}|" in text
    assert "| float16 | 2 of 2 |" in text
    parts = (
        "| tiny | ieee | ",
        "labels as in float32",
        "| first load |",
        "| a new shape, ms |",
        "| memcheck | left out",
    )
    for part in parts:
        assert part in text


def test_a_wrong_value_gives_4_and_a_broken_model_does_not_hide_the_others(made: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        output = folder / TESTED / "transformer_layer" / "output_0_1.npy"
        values = np.load(output)
        values.flat[7] += 0.1
        np.save(output, values)
        (folder / TESTED / "one_hot_routing_dynamic" / "float16.so").write_bytes(b"no model")
        end_the_process(folder / TESTED / "one_hot_routing_dynamic" / "bfloat16.so")

    broken = changed(made, tmp_path, change)
    assert check.main(["--bundle", str(broken), "--out", str(tmp_path / "out"), "--part", "correctness"]) == 4
    found = results.read(tmp_path / "out")
    assert {each.name for each in found if each.status == WRONG} == {"transformer_layer"}
    failed = {each.kind: each.text for each in found if each.status == FAILED}
    assert failed.keys() == {"float16", "bfloat16"}
    assert failed["float16"].startswith("CompileError: ")
    assert failed["bfloat16"].startswith("the process ended with code -6: ")
    right = {each.kind for each in found if each.status == results.RIGHT and each.name == "one_hot_routing_dynamic"}
    assert right == {"ieee"}
    assert check.main(["--out", str(tmp_path / "out"), "--table"]) == 4


def test_a_run_that_is_killed_keeps_its_results(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": f"{REPOSITORY / 'python'}"}
    command = [sys.executable, "-m", "tools.gpu_check", "--bundle", str(made), "--out", str(out)]
    process = subprocess.Popen(command, cwd=REPOSITORY, env=environment)
    end = time.monotonic() + 240
    while len(results.read(out)) < 4 and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = results.read(out)
    assert len(kept) >= 4
    assert check.main(["--out", str(out), "--table"]) == 0
    assert "| models right |" in capsys.readouterr().out


def test_a_run_that_is_asked_to_stop_prints_its_table(made: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": f"{REPOSITORY / 'python'}"}
    command = [sys.executable, "-m", "tools.gpu_check", "--bundle", str(made), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 240
    while len(results.read(tmp_path / "out")) < 2 and time.monotonic() < end:
        time.sleep(0.1)
    process.terminate()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "stopped; what ended before is in the table" in stderr
    assert "| models right |" in stdout
    assert list(tmp_path.glob("gpu-check-*")) == []


def test_minutes_that_do_not_suffice_name_what_is_left(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check.main(["--bundle", str(made), "--out", str(tmp_path), "--minutes", "0"]) == 0
    told = capsys.readouterr().err
    assert "not reached: 6 of correctness; --part correctness measures them" in told
    assert "not reached: 1 of scan; --part scan measures them" in told


def test_a_machine_without_a_gpu_is_told(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = (made / manifest.FILE).read_text()
    (tmp_path / manifest.FILE).write_text(content.replace('"target": "cpu"', '"target": "nvidia"'))
    assert check.main(["--bundle", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "finds no GPU: install a PyTorch with CUDA or ROCm" in capsys.readouterr().err


def test_a_folder_that_is_not_a_bundle_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--bundle", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert f"error: {tmp_path} is not a bundle" in capsys.readouterr().err


def test_a_part_without_jobs_is_told(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--bundle", str(made), "--out", str(tmp_path), "--part", "layers"]) == 1
    assert f"error: {made} has nothing to check in this part" in capsys.readouterr().err


def test_a_bundle_that_is_too_large_is_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what it was made of stays, so that another choice takes no time."""
    shutil.copytree(made.with_name("cpu.work"), tmp_path / "cpu.work")
    assert bundle.main([*WORDS, "-o", str(tmp_path / "cpu"), "--limit", "0.2"]) == 1
    told = capsys.readouterr().err
    assert "MB, and 0.2 MB are allowed; the largest: code.tar.xz" in told
    assert bundle.size_of(made) < 1.5e6


def test_the_limit_leaves_room_for_the_sources_beside_it() -> None:
    assert bundle.LIMIT <= 60 * bundle.MEGABYTE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--models", "nope"], "--models: unknown: nope; known: seed_convolution"),
        (["--networks", "unet"], "--networks: unknown: unet; known: r3d_18"),
        (["--kinds", "int8"], "--kinds: unknown: int8; known: ieee"),
    ],
)
def test_an_unknown_name_is_a_mistake_of_the_command_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        bundle.main(words)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_model_that_does_not_compile_is_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compiler = tmp_path / "onnxc"
    compiler.write_text("#!/bin/sh\necho 'error: no such target' >&2\nexit 2\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(bundle, "BINARIES", tmp_path)
    words = ["--for", "cpu", "--models", "one_hot_routing_dynamic", "--networks", "", "-o", str(tmp_path / "bundle")]
    assert bundle.main(words) == 1
    assert "one_hot_routing_dynamic ieee: error: no such target" in capsys.readouterr().err
    assert manifest.read(tmp_path / "bundle").models[0].tolerances == {}
