"""The page of results: what it counts, compares and leaves out."""

from pathlib import Path

from tools.gpu_check import results, table
from tools.gpu_check.results import FAILED, MEASURED, RIGHT, WRONG, Result, Results


def timed(what: str, best: float, **values: float) -> Result:
    return Result("networks", "unet3d_64", "float16", what, MEASURED, "", {"best": best, "spread": 0.02, **values})


def test_the_best_of_each_side_is_compared() -> None:
    found = [
        timed("onnxc", 1.5),
        timed("onnxc graph", 1.0),
        timed("torch eager ncdhw", 3.0),
        timed("torch graph ndhwc", 2.5),
        timed("torch.compile", 1.2, first_call_s=18.4),
    ]
    row = "| unet3d_64 | float16 | 1 (+2%, onnxc graph) | 2.5 (+2%, graph ndhwc) | 1.2 (+2%; 18 s) | 1.20 | 0.77 |"
    assert row in table.render(found)
    without = table.render(found[:4])
    assert "| 1 (+2%, onnxc graph) | 2.5 (+2%, graph ndhwc) |  | 2.50 | 0.77 |" in without


def test_a_first_call_that_takes_too_long_is_told_and_not_compared() -> None:
    slow = Result("compile", "unet3d_64", "float16", "torch.compile", MEASURED, "the first call takes more than 20 s")
    assert "| the first call takes more than 20 s |  |" in table.render([timed("onnxc", 1.0), slow])


def test_a_layer_is_one_of_its_chain() -> None:
    layer = Result("layers", "layer_512_7x7x2", "tf32", "onnxc", MEASURED, "", {"best": 0.08, "spread": 0})
    assert "| layer_512_7x7x2 | tf32 | 0.02 (+0%, onnxc) |" in table.render([layer])


def test_faults_come_first_and_are_counted() -> None:
    values = {"error": 1e-6, "tolerance": 1e-5}
    found = [
        Result("correctness", "pools", "ieee", "plain", RIGHT, "", values),
        Result("correctness", "resizes", "ieee", "plain", WRONG, "output 'y': off", {"error": 3e-5, "tolerance": 1e-5}),
        Result("correctness", "pools", "ieee", "capture", MEASURED, "refused, as it must: the host decides", {}),
        Result("networks", "r3d_18", "tf32", "time", FAILED, "OutOfMemoryError"),
    ]
    lines = table.render(found).splitlines()
    assert lines[0] == "- WRONG: resizes ieee, plain: output 'y': off"
    assert lines[1] == "- FAILED: r3d_18 tf32, time: OutOfMemoryError"
    assert "| ieee | 1 of 2 | 0 of 1, 1 refused as they must be | 3.00 |" in lines


def test_a_new_shape_is_told_with_both_runs() -> None:
    values = {"first_ms": 12.34, "second_ms": 2.04, "beyond_ms": 10.3}
    found = Result("shapes", "unet3d_dynamic", "float16", "shape 1x1x32x48x16", MEASURED, "", values)
    lines = table.render([found]).splitlines()
    assert lines[-3] == "| a new shape, ms | kind |  | first run | second run | beyond it (goal: under 50) |"
    assert lines[-1] == "| unet3d_dynamic | float16 | 1x1x32x48x16 | 12.3 | 2.0 | 10.3 |"


def test_a_line_that_was_cut_off_is_left_out_and_the_last_of_equal_ones_counts(tmp_path: Path) -> None:
    out = Results(tmp_path)
    out.add(timed("onnxc", 2.0))
    out.add(timed("onnxc", 1.0))
    with out.file.open("a") as file:
        file.write('{"part": "networks", "na')
    assert results.read(tmp_path) == [timed("onnxc", 1.0)]


def test_nothing_is_an_empty_page(tmp_path: Path) -> None:
    assert table.render(results.read(tmp_path / "none")) == "\n"
