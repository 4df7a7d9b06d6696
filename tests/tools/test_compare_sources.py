"""tools.compare_sources: two compilers that write the same but for includes, and one that does not."""

from pathlib import Path

import pytest

from tools import compare_sources

COMPILER = """#!/bin/sh
printf '%s' '{text}' > "$3"
printf '%s' '{weights}' > "$3.weights"
"""


def compiler(folder: Path, name: str, text: str, weights: str = "w") -> Path:
    file = folder / name
    file.write_text(COMPILER.format(text=text, weights=weights))
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("after", "weights", "mapped", "is_equal"),
    [
        ('#include "b/y.h"\n#include "c/x.h"\nint a;\n', "w", [], True),
        ('#include "a/x.h"\n#include "b/z.h"\nint a;\n', "w", [], False),
        ('#include "a/x.h"\n#include "b/y.h"\nint b;\n', "w", [], False),
        ('#include "a/x.h"\n#include "b/y.h"\nint b;\n', "w", ["int b=>int a"], True),
        ('#include "a/x.h"\n#include "b/y.h"\nint a;\n', "v", [], False),
    ],
)
def test_only_paths_of_includes_may_differ(
    after: str, weights: str, mapped: list[str], is_equal: bool, tmp_path: Path
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.onnx").touch()
    before = compiler(tmp_path, "before", '#include "a/x.h"\n#include "b/y.h"\nint a;\n')
    changed = compiler(tmp_path, "after", after, weights)
    [(name, model)] = compare_sources.models_in([tmp_path / "models"], "")
    replacements = [compare_sources.replacement(each) for each in mapped]
    found = compare_sources.compare(before, changed, replacements, name, model)
    assert [(one.model, one.way, not one.difference) for one in found] == [
        ("m", way, is_equal) for way in compare_sources.WAYS
    ]


def test_a_folder_without_models_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no \.onnx file"):
        list(compare_sources.models_in([tmp_path], ""))
