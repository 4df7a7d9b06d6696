"""A function is at most 60 lines long. Kernels, whose loops stay in one body, are not counted."""

from pathlib import Path, PurePosixPath

import pytest

from tests.onnxc_commands import REPOSITORY
from tests.support.function_lengths import Function, functions

MOST_LINES = 60
FOLDERS = ("src", "runtime", "tools", "models")
KERNELS = PurePosixPath("src/kernels")


def sources(folder: str) -> list[Path]:
    files = [file for file in (REPOSITORY / folder).rglob("*") if file.suffix in (".h", ".cpp", ".c", ".py")]
    return [file for file in files if KERNELS not in PurePosixPath(file.relative_to(REPOSITORY)).parents]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_function_is_long(folder: str) -> None:
    found = [each for file in sources(folder) for each in functions(file)]
    assert len(found) > 60
    assert [f"{each.file}:{each.line}: {each.name}" for each in found if each.lines > MOST_LINES] == []


CPP = """
#define TEXT "{" \\
  "}"
namespace a {
struct Point : Base {
  Point() : x(0), text("{") {
  }
  int sum(int (&values)[2])
      const {
    auto add = [](int a) {  // }
      return a;
    };
    if (x > 0) { return add(x); }
    return R"(}}})"[0] == '}';
  }
  int x = int{1};
};
const std::array rows = {Row{"a", [](int x) { return x; }}, Row{"b", nullptr}};
template <class T>
bool operator==(const T& a, const T& b) { return a.x == b.x; }
}  // namespace a
"""


def test_functions_of_cpp_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "a.cpp"
    file.write_text(CPP)
    expected = [("Point", 6, 2), ("sum", 8, 8), ("operator==", 19, 2)]
    assert [(each.name, each.line, each.lines) for each in functions(file)] == expected


def test_functions_of_python_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("class A:\n    def b(self) -> int:\n        x = 1\n\n        return x\n")
    assert list(functions(file)) == [Function(file, 2, "b", 4)]
