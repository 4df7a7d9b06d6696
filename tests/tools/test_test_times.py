"""tools.test_times: seconds by folder and by file, of pytest's and ctest's results."""

from pathlib import Path

from tools.test_times import report

PYTHON = """<testsuites><testsuite>
<testcase classname="tests.ops.vision.test_grid_sample" name="test_a" time="1.5"/>
<testcase classname="tests.ops.vision.test_grid_sample" name="test_b" time="0.5"/>
<testcase classname="tests.report.test_pages.TestPage" name="test_c" time="3.0"/>
</testsuite></testsuites>"""
CPP = """<testsuite><testcase name="Expr.Adds" classname="Expr.Adds" time="0.25"/>
<testcase name="Sizes/Pools.Are/3" classname="Sizes/Pools.Are/3" time="0.75"/></testsuite>"""


def test_times_are_summed_by_folder_and_file(tmp_path: Path) -> None:
    (tmp_path / "python.xml").write_text(PYTHON)
    (tmp_path / "cpp.xml").write_text(CPP)
    lines = report([tmp_path / "cpp.xml", tmp_path / "python.xml"]).splitlines()
    assert lines[0] == "6 seconds of tests, in all processes together."
    assert lines[4:7] == ["| tests.report | 3.0 |", "| tests.ops | 2.0 |", "| C++ | 1.0 |"]
    assert "| tests.ops.vision.test_grid_sample | 2.0 |" in lines
    assert "| C++.Pools | 0.8 |" in lines
