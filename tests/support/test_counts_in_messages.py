"""A number in front of a noun is written by one function, so that no message says "1 windows"."""

import re
from pathlib import Path

from tests.onnxc_commands import REPOSITORY

# A placeholder, and a noun in the plural.
COUNT = re.compile(r"\{[^{}]*\} (?:more |spatial |batch |support )?([a-z]{3,}s|axes|leaves)\b")
# Verbs and words that a placeholder does not count.
OTHERS = {
    *("is", "was", "has", "does", "this", "its", "needs", "holds", "gives", "refers", "waits", "follows", "knows"),
    *("demands", "begins", "appears", "across", "names", "takes", "comes", "uses", "imports", "becomes", "says"),
    *("nests", "collects", "lacks", "makes", "ends", "less", "arguments", "values"),
}
# Never one: what is measured in bytes, and limits.
NEVER_ONE = re.compile(r"\{[^{}]*\} bytes|(?:at most|more than|deeper than|allowed|to|limit is) \{[^{}]*\} \w+")
# Messages that are checked only beyond a large number.
LARGE = {
    "{} nodes are at fault:",  # of one its text stands alone
    "the remainder of {} channels in {} groups",  # none if there is one
    "the padding {} and {} takes more than the {} elements there are",
    "a part of {} elements",  # a negative number
    "the number of {} channels, {}, is not divisible",  # of input or output
    "it makes {} parts of an axis; at most {} are compiled",
    "the expression of a size nests {} deep with {} parts; at most {} and {} are supported; it is shorter if the",
    "a dim's name has {} characters, more than the {} that are supported: `{}...`",
    "attribute 'fmod' must be 1 for {} inputs",  # the name of a type
    "Throughput: {:.2f} runs/s",  # a rate
}
FOLDERS = (
    *(f"src/{room}" for room in ("frontend", "ops", "passes", "pipeline", "provider", "report", "toolchain")),
    "tools/onnxc_run",
)


def literals(file: Path) -> list[str]:
    text = re.sub(r'"\s*\n\s*"', "", file.read_text())
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)


def test_every_count_has_its_singular() -> None:
    files = [file for folder in FOLDERS for file in (REPOSITORY / folder).rglob("*.cpp")]
    assert len(files) > 150
    wrong = [
        f"{file.relative_to(REPOSITORY)}: {text}"
        for file in files
        for text in literals(file)
        if any(noun not in OTHERS for noun in COUNT.findall(NEVER_ONE.sub("", text)))
        and not any(text.startswith(known) for known in LARGE)
    ]
    assert wrong == [], "counted(number, noun) of support/count_text.h writes both"
