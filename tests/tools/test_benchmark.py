"""make bench, on the smallest model and only onnxruntime, and the arithmetic of its tables."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from tests.onnxc_commands import BINARIES, REPOSITORY
from tools.benchmark import layers, record, report, turns, volumes
from tools.benchmark.dynamic import Cost
from tools.benchmark.measurement import Compiled, ModelResults
from tools.benchmark.turns import Result


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": "python", "ONNXC_BIN": str(BINARIES)}
    command = [sys.executable, "-m", "tools.benchmark", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=REPOSITORY, check=False)


def results(model: str, ours: float | None, theirs: float) -> ModelResults:
    mine = {"error": "no such kernel"} if ours is None else {"minimum_ms": ours, "peak_mib": 10.0}
    return ModelResults(model, threads={1: {"onnxc": mine, "openvino": {"minimum_ms": theirs, "peak_mib": 30.0}}})


def test_ratios_and_their_geometric_mean() -> None:
    all_results = [results("a", 2.0, 4.0), results("b", 3.0, 24.0), results("c", None, 1.0)]
    assert report.ratio(all_results[0], 1, "openvino") == 2.0
    assert report.ratio(all_results[0], 1, "openvino", "peak_mib") == 3.0
    assert report.ratio(all_results[2], 1, "openvino") is None
    [line] = report.summary(all_results, ["onnxc", "openvino"], 1)
    assert line == "1 thread, against openvino: 4.00 times as fast (geometric mean of 2), least 2.00 (a)"


def test_table_shows_ratios_and_failures() -> None:
    all_results = [results("a", 2.0, 4.0), results("c", None, 1.0)]
    head, _, first, second = report.table(all_results, ["onnxc", "openvino"]).splitlines()
    assert "peak MiB: onnxc / openvino" in head
    assert "4.00 (2.00x)" in first
    assert "10 / 30" in first
    assert "failed" in second
    assert report.failures(all_results) == ["c, 1 threads: onnxc failed: no such kernel"]


def test_a_measurement_beside_other_programs_is_named() -> None:
    disturbed = results("a", 2.0, 4.0)
    disturbed.threads[1]["onnxc"]["other_cores"] = 0.05
    disturbed.threads[1]["openvino"]["other_cores"] = 0.9
    assert report.disturbances([disturbed]) == ["a, 1 threads: 0.9 cores were busy with other programs beside openvino"]


def test_least_times_that_few_rounds_saw_are_named() -> None:
    steady, moved = results("a", 2.0, 4.0), results("b", 2.0, 4.0)
    for each, ours in ((steady, [2.0, 3.0, 2.1]), (moved, [2.0, 4.5, 3.0])):
        each.threads[1]["onnxc"]["turns_ms"] = ours
        each.threads[1]["openvino"]["turns_ms"] = [4.0, 6.0, 4.2]
    [line] = report.unsettled([steady, moved], ["onnxc", "openvino"])
    assert line == "b, 1 threads: 2.00 times as fast as openvino by the least times, 1.40 in the median round"


def turn(least: float, median: float, other_cores: float = 0.0) -> Result:
    return {"minimum_ms": least, "latency_ms": median, "other_cores": other_cores, "iterations": 2}


def test_a_result_is_of_the_turn_with_the_least_time() -> None:
    assert turns.summarized([turn(3.0, 5.0, 0.5), turn(2.0, 4.0, 0.1), turn(4.0, 4.5)]) == {
        "minimum_ms": 2.0,
        "other_cores": 0.1,
        "latency_ms": 4.5,
        "iterations": 6,
        "turns_ms": [3.0, 2.0, 4.0],
    }


class ListedProcess:
    """In place of an engine's process: notes what it is asked, and fails in the turn that its arguments name."""

    asked: ClassVar[list[tuple[str, int, str]]] = []

    def __init__(self, module: str, words: Sequence[str], threads: int, limit: float) -> None:
        self.name, self.threads, self.fails_in = words[0], threads, [*words[2:]]
        self.turns = 0

    def answer(self) -> Result:
        return {"version": self.name}

    def take_turn(self, seconds: float) -> Result:
        self.asked.append((self.name, self.threads, "turn"))
        self.turns += 1
        if str(self.turns) in self.fails_in:
            raise turns.EngineError("out of memory")
        return turn(10.0 - self.turns, 11.0)

    def finish(self) -> Result:
        self.asked.append((self.name, self.threads, "finish"))
        return {"peak_mib": 1.0}

    def close(self) -> None:
        self.asked.append((self.name, self.threads, "close"))


def test_each_round_has_every_contestant_with_every_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "EngineProcess", ListedProcess)
    asked = ListedProcess.asked
    plan = turns.Plan(("onnxc", "pytorch"), (1, 2), seconds=0.1, rounds=2)
    whole, failing = turns.Contestant("onnxc", "onnxc", []), turns.Contestant("pytorch", "pytorch", ["2"])
    measured = turns.take_turns(Path("model"), [whole, failing], plan)
    one_round = [(engine, threads, "turn") for threads in (1, 2) for engine in plan.engines]
    assert [call for call in asked if call[2] == "turn"] == 2 * one_round
    assert [call for call in asked if call[2] == "finish"] == [("onnxc", 1, "finish"), ("onnxc", 2, "finish")]
    assert len([call for call in asked if call[2] == "close"]) == 4
    assert measured[2]["onnxc"]["turns_ms"] == [9.0, 8.0]
    assert measured[2]["onnxc"]["peak_mib"] == 1.0
    assert measured[1]["pytorch"] == {"error": "out of memory"}

    asked.clear()
    turns.take_turns(Path("model"), [whole], dataclasses.replace(plan, limit=0.0))
    assert [call for call in asked if call[2] == "turn"] == [("onnxc", 1, "turn"), ("onnxc", 2, "turn")]


def test_intensity_counts_what_enters_and_leaves_a_step() -> None:
    def tensor(name: str, *dims: int) -> dict[str, object]:
        return {"name": name, "dtype": "float32", "dims": list(dims)}

    nodes = [
        {
            "name": "conv",
            "op_type": "Conv",
            "inputs": [tensor("x", 10), tensor("w", 5), None],
            "outputs": [tensor("t", 7)],
        },
        {"name": "relu", "op_type": "Relu", "inputs": [tensor("t", 7)], "outputs": [tensor("y", 7)]},
        {"name": "pool", "op_type": "MaxPool", "inputs": [tensor("y", 7)], "outputs": [tensor("z", 3)]},
    ]
    shapes = {"nodes": nodes, "outputs": [tensor("z", 3)]}
    step = {"step": "conv_direct", "nodes": ["conv (Conv)", "relu (Relu)"], "ms": 2.0, "gflops": 0.5}
    [layer] = layers.layers_of({"steps": [step, {"step": "copy", "nodes": [], "ms": 1, "gflops": None}]}, shapes)
    assert layer.intensity == pytest.approx(1e6 / (4 * (10 + 5 + 7)))


def test_a_record_is_read_as_it_was_saved(tmp_path: Path) -> None:
    compiled = Compiled(Path("m.onnx"), Path("m.so"), 12.5, 100)
    first, second = results("a", 2.0, 4.0), results("b", 3.0, 24.0)
    first.compiled = compiled
    profile = layers.Profile(1, 100.0, 10.0, [layers.Layer("conv_direct", 1.0, 50.0, 8.0)])
    measured = record.Record({"cpu": "a CPU"})
    measured.add(first, {1: profile})
    measured.add(second, {})
    measured.add_dynamic(Cost("d", {"N": 2}, compiled, compiled, {1: {"minimum_ms": 1.0}}, {1: {"minimum_ms": 0.5}}))
    measured.save(tmp_path)
    again = record.load(tmp_path)
    assert again is not None
    assert again == measured

    again.add(results("a", 1.0, 4.0), {})
    assert [each.model for each in again.models] == ["a", "b"]
    assert again.models[0].threads[1]["onnxc"]["minimum_ms"] == 1.0
    more_threads = results("a", 5.0, 6.0)
    more_threads.threads = {2: more_threads.threads[1]}
    again.add(more_threads, {})
    assert {count: row["onnxc"]["minimum_ms"] for count, row in again.models[0].threads.items()} == {1: 1.0, 2: 5.0}


def test_a_folder_without_results_has_no_record(tmp_path: Path) -> None:
    assert record.load(tmp_path) is None


@pytest.mark.usefixtures("commands")
def test_short_run(tmp_path: Path) -> None:
    engines = ("onnxc", "onnxruntime", "onnxruntime+onnxc")
    limits = ["--engines", *engines, "--threads", "1", "--rounds", "2", "--seconds", "0.05"]
    done = bench("seed_convolution", *limits, "--no-pictures", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "against onnxruntime" in done.stdout
    assert (tmp_path / "table.md").read_text() in done.stdout

    content = json.loads((tmp_path / "results.json").read_text())
    [model] = content["models"]
    row = model["threads"]["1"]
    for engine in engines:
        assert row[engine]["minimum_ms"] == min(row[engine]["turns_ms"]) <= row[engine]["latency_ms"]
        assert len(row[engine]["turns_ms"]) == 2
        assert row[engine]["peak_mib"] > row[engine]["added_mib"] > 0
        assert row[engine]["errors"][0] < 1e-5  # float32 sums of 81 products
    assert content["profiles"]["1"]["seed_convolution"]["layers"]
    assert set(content["machine"]) >= {"cpu", "cores", "instructions"}
    assert record.load(tmp_path) is not None


def test_an_engine_that_fails_says_why(tmp_path: Path) -> None:
    """Its folder holds no model."""
    plan = turns.Plan(("onnxruntime",), (1,), seconds=0.05, rounds=2)
    measured = turns.take_turns(tmp_path, [turns.Contestant("peer", "onnxruntime", [])], plan)
    assert "manifest.json" in measured[1]["peer"]["error"]


@pytest.mark.usefixtures("commands")
def test_an_engine_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    limits = ["--engines", "onnxruntime", "--threads", "1", "--limit", "0.01"]
    done = bench("seed_convolution", *limits, "--no-pictures", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "onnxruntime failed: not done after 0 s" in done.stdout


def test_unknown_models_are_refused() -> None:
    done = bench("no_such_model")
    assert done.returncode == 2
    assert "no such model: no_such_model" in done.stderr


@pytest.mark.slow
def test_engines_go_through_a_volume_together() -> None:
    """The slow one has more turns; the one that fails has no more."""
    done = {"fast": 0, "slow": 0, "failing": 0}
    asked: list[str] = []

    def take_turn(engine: str) -> tuple[int, int] | None:
        asked.append(engine)
        if engine == "failing" and done[engine] == 4:
            return None
        done[engine] += {"fast": 6, "slow": 2, "failing": 4}[engine]
        return divmod(done[engine], 12)

    volumes.go_together(list(done), take_turn, rounds=2)
    assert asked[:9] == ["fast", "slow", "failing", "slow", "slow", "failing", "fast", "slow", "slow"]
    assert done == {"fast": 24, "slow": 24, "failing": 4}


def test_the_picture_of_volumes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from tools.benchmark import pictures

    def result(seconds: float) -> Result:
        return {"volumes": [{"seconds": seconds, "network_seconds": 0.9 * seconds}], "added_mib": 600.0}

    results = {"onnxc": result(2.0), "monai+openvino": result(6.0), "monai+onnxruntime": {"error": "out of memory"}}
    pictures.draw_volumes(results, "64x64x64 voxels", tmp_path / "volumes.png")
    assert (tmp_path / "volumes.png").stat().st_size > 5000


@pytest.mark.slow
def test_volumes_are_measured_from_end_to_end(tmp_path: Path) -> None:
    """A small network on a small volume, 18 windows, so that each engine has several turns."""
    done = bench(
        "--group", "volumes", "--threads", "1", "--seconds", "0.01", "--volume", "32x28x20", "--window", "16x16x16",
        "--classes", "3", "--filters", "4x8x8", "--engines", "onnxc", "onnxruntime", "--no-pictures",
        "--output", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [results] = json.loads((tmp_path / "volumes.json").read_text())["threads"].values()
    assert list(results) == ["onnxc", "monai+onnxruntime"]
    for engine, result in results.items():
        assert result.get("error") is None
        assert all(0 < volume["network_seconds"] < volume["seconds"] for volume in result["volumes"])
        assert result["equal_labels"] > 0.999
        assert f"| {engine} {result['version']} |" in done.stdout
    assert "times as fast" in done.stdout


def test_table_of_volumes_has_ratios_and_failures() -> None:
    job = volumes.Job(volume=(100, 100, 100))
    results: Result = {
        "onnxc": {"version": "1", "volumes": [{"seconds": 2.0, "network_seconds": 1.5}], "added_mib": 512.0},
        "monai+onnxruntime": {
            "version": "2", "added_mib": 2048.0, "equal_labels": 0.5,
            "volumes": [{"seconds": 6.0, "network_seconds": 4.0}, {"seconds": 4.0, "network_seconds": 3.0}],
        },
        "monai+openvino": {"error": "out of memory"},
    }  # fmt: skip
    _, _, ours, theirs, failed = volumes.table(job, results).splitlines()
    assert ours == "| onnxc 1 | 2.0 | 0.500 |  | 25.0% | 0.50 |  |"
    assert theirs == "| monai+onnxruntime 2 | 5.0 | 0.200 | 2.50 times as fast | 30.0% | 2.00 | 50.0000% |"
    assert "failed: out of memory" in failed
