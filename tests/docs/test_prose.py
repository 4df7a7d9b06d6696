"""Comments, docstrings, texts and pages are in plain English: each room's count of marks may only fall."""

import functools
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from tests.docs.prose import file_paragraphs, sentences, texts
from tests.docs.prose_marks import marks
from tests.onnxc_commands import REPOSITORY

# The sentences with a mark in each room, pages together. Rooms that are not named have none.
MARKED: dict[str, int] = {}
# The sentences of more than MOST_WORDS words: the rule says 25, and that some lists and formulas need more.
MOST_WORDS = 40
LONG: dict[str, int] = {
    "pages": 31,
    "python/onnxc": 1,
    "runtime/base": 1,
    "runtime/include": 1,
    "src/frontend": 1,
    "src/kernels": 9,
    "src/machine": 1,
    "src/ops": 2,
    "src/passes": 2,
    "src/report": 1,
    "src/toolchain": 1,
    "tests/fuzz": 2,
    "tests/ops": 2,
    "tools/benchmark": 3,
    "tools/onnxc_run": 3,
}  # fmt: skip


def room(file: PurePosixPath) -> str:
    return "pages" if file.suffix == ".md" else "/".join(file.parts[:-1][:2])


@functools.cache
def prose() -> list[tuple[str, PurePosixPath, int, str]]:
    """Room, file, line and text of each sentence."""
    result = []
    listing = ["git", "ls-files", "*.h", "*.cpp", "*.py", "*.md"]
    tracked = subprocess.run(listing, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for file in map(PurePosixPath, tracked.split()):
        if file.name != "CHANGELOG.md" and not file.match("lab/notes/*") and not file.match("tests/docs/*prose*"):
            found = [(paragraph.lines[0].number, paragraph.text) for paragraph in file_paragraphs(REPOSITORY / file)]
            if file.suffix in (".h", ".cpp") and file.parts[0] != "tests":
                found += texts(REPOSITORY / file)
            for line, text in found:
                for sentence in sentences(text):
                    result.append((room(file), file, line + 1, sentence))
    return result


def too_long(sentence: str) -> list[str]:
    words = len(sentence.split())
    return [f"{words} words"] if words > MOST_WORDS else []


@pytest.mark.parametrize(("name", "table", "fault"), [("MARKED", MARKED, marks), ("LONG", LONG, too_long)])
def test_the_counts_only_fall(name: str, table: dict[str, int], fault: Callable[[str], list[str]]) -> None:
    listed: dict[str, list[str]] = defaultdict(list)
    for place, file, line, sentence in prose():
        if found := fault(sentence):
            listed[place].append(f"{file}:{line}: {', '.join(found)}: {sentence}")
    more = [text for place in listed if len(listed[place]) > table.get(place, 0) for text in listed[place]]
    assert not more, "write these plainly (CONTRIBUTING.md, Rules):\n" + "\n".join(more)
    fewer = {place: len(listed[place]) for place in table if len(listed[place]) < table[place]}
    assert not fewer, f"the prose became plainer: lower {name} to {fewer}"


def test_sentences_are_found_in_each_kind_of_file(tmp_path: Path) -> None:
    kinds = {
        "a.cpp": """// One. Two
// goes on.
int a = 1'000;  // Three.
auto s = "// no";
/* Four:
 * five. */
// - six
// NOLINT
""",
        "a.py": '''"""One. Two
goes on."""

A = "# no"  # Three.


def f() -> None:
    """Four: five."""
    # - six
    # fmt: off
''',
        "a.md": """# no
One. Two
goes on.
```sh
no
```
Three.

Four: five.
- six
""",
    }
    for name, text in kinds.items():
        (tmp_path / name).write_text(text)
        found = [s for p in file_paragraphs(tmp_path / name) for s in sentences(p.text)]
        assert sorted(found) == sorted(["One.", "Two goes on.", "Three.", "Four: five.", "- six"]), name


def test_texts_of_several_literals_are_one(tmp_path: Path) -> None:
    source = 'auto a = "One, two, "\n         "three, four.";\n// "not this one here"\nauto b = "two words";\n'
    (tmp_path / "a.cpp").write_text(source)
    assert list(texts(tmp_path / "a.cpp")) == [(0, "One, two, three, four.")]


@pytest.mark.parametrize(
    "sentence",
    [
        "Of the loops the last one runs.",
        "What bounds it: memory.",
        "Where a row is short, it is copied.",
        "By the definition: each voxel.",
        "UserError where the file is missing.",
        "Empty, and where nothing is known null.",
        "It is no number.",
        "An axis that is none.",
        "It is none of ours.",
        "Sizes alone say it.",
        "The element behind the last.",
        "That a tensor is dense is shown above.",
        "Rows of which only one is read.",
    ],
)
def test_marks_are_found(sentence: str) -> None:
    assert marks(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "What does it cost?",
        "Where are the rows?",
        "Ends at the place where the row begins.",
        "It knows where the data is.",
        "There is no number of rows.",
        "It is no longer needed.",
        "The factor is no larger than the root.",
        "If, `where` and the others.",
        "The others are left alone.",
        "No file is left behind.",
        "By default it is 4.",
        "That is why it is read twice.",
        "Rows whose length is known.",
        "Often the last of the rows is read.",
    ],
)
def test_good_english_has_no_mark(sentence: str) -> None:
    assert not marks(sentence)
