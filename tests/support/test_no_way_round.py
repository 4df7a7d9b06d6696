"""The compiler reaches files, processes, tensor data and specs only through the places that check: nothing goes round
them."""

import re
from pathlib import Path

import pytest

from tests.onnxc_commands import REPOSITORY

# The forbidden texts, the files that may have them (the start of a path under src/), and the better way.
RULES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "files": (
        r"\b(?:std::)?(?:[io]?fstream|fopen|freopen|mkstemp|mkdtemp|tmpfile|mmap|unlink)\b\s*[({ ]",
        ("support/",),
        "support/safe_file.h or support/temporary_folder.h",
    ),
    "processes": (
        r"\b(?:system|popen|posix_spawnp?|execv[pe]*|execl[pe]*|v?fork)\s*\(",
        ("support/processes/subprocess.cpp",),
        "support/processes/subprocess.h",
    ),
    "tensor data": (
        r"[.>](?:raw|float|int32|int64|double|uint64|string|external)_data\(",
        ("frontend/file/tensor_data.cpp", "frontend/file/external_data.cpp"),
        "frontend/file/tensor_data.h",
    ),
    "protobuf": (r'#include [<"](?:onnx/|google/protobuf)', ("frontend/",), "frontend/import.h"),
    # Passes ask the target what follows from its machine.
    "machines": (
        r'#include "machine/|get(?:_if)?<(?:CpuMachine|machine::GpuMachine)>|target\.name ==',
        (
            "machine/",
            "codegen/",
            "toolchain/",
            "passes/lowering/target.h",
            "pipeline/",
            "command/",
        ),
        "passes/lowering/target.h",
    ),
    # A fusion names the kernels that it joins, and gets their specs.
    "specs": (
        r"\bdynamic_(?:pointer_)?cast<",
        ("codegen/call/typed_call.h", "frontend/file/external_data.cpp"),
        "codegen/call/typed_call.h",
    ),
    "escapes for C": (r"\\\\%03o|\\\\\{:03o\}|std::quoted", ("support/text.cpp",), "support/text.h"),
}


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def sources() -> list[Path]:
    return sorted(path for path in (REPOSITORY / "src").rglob("*") if path.suffix in (".h", ".cpp"))


@pytest.mark.parametrize("name", RULES)
def test_only_the_checked_places(name: str) -> None:
    pattern, allowed, instead = RULES[name]
    kernels = REPOSITORY / "src" / "kernels"  # the generated code's, not the compiler's
    offenders, uses = [], 0
    for path in sources():
        if kernels in path.parents:
            continue
        found = re.findall(pattern, without_comments(path.read_text()))
        uses += len(found)
        if found and not str(path.relative_to(REPOSITORY / "src")).startswith(allowed):
            offenders.append(f"{path.relative_to(REPOSITORY)}: {found[0]}")
    assert uses > 0, "the pattern finds nothing, not even where it is allowed"
    assert not offenders, f"use {instead}"
