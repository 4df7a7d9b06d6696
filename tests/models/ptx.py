"""The PTX of a model, as text and as ptxas compiles it: what each kernel needs.

ptxas comes with PyPI's nvidia-cuda-nvcc (scripts/requirements-test.txt): no GPU and no CUDA is needed."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests import onnxc_commands

SOURCES = onnxc_commands.REPOSITORY / "src"
LIBCLC = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
# Instructions that pass the bits of a half on, unchanged or as a part.
MOVES = re.compile(r"mov|shr|shl|and|or|bfe|prmt|cvt\.[us]\d+\.[us]\d+|selp")


@dataclass(frozen=True)
class Kernel:
    """Registers are those of a thread; memory is in bytes: of a block (shared), of a thread (local)."""

    name: str
    registers: int
    shared: int
    local: int
    spilled: int
    argument_bytes: int
    code: tuple[str, ...]  # its instructions in PTX
    remarks: tuple[str, ...] = ()  # what ptxas says of its code, such as that products wait for one another


def ptxas() -> Path:
    files = [Path(folder, "nvidia/cu13/bin/ptxas") for folder in sys.path]
    found = next((file for file in files if file.exists()), None)
    assert found, "no ptxas: scripts/setup.sh installs it (nvidia-cuda-nvcc)"
    return found


def compile_source(device_source: Path, ptx: Path) -> Path:
    """As the head of the source says."""
    command = re.findall(r"^//   (clang.*)$", device_source.read_text(), re.M)[0]
    libraries = f"-Xclang -mlink-builtin-bitcode -Xclang {LIBCLC}"
    command = re.sub(r"-I\S*", f"-I{SOURCES}", command).replace("$LIBRARIES", libraries)
    command = re.sub(r"\S+ -o \S+$", f"{device_source} -o {ptx}", command)
    subprocess.run(command.split(), check=True)
    return ptx


def kernels(ptx: Path, architecture: str) -> list[Kernel]:
    command = [str(ptxas()), "-v", f"-arch={architecture}", str(ptx), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    codes, arguments = functions(ptx.read_text())
    found = [kernel(entry, codes, arguments) for entry in re.split(r"Compiling entry function ", done.stderr)[1:]]
    assert codes.keys() == {made.name for made in found}
    said = remarks(done.stderr)
    assert said.keys() <= codes.keys(), said
    return [replace(made, remarks=tuple(said.get(made.name, []))) for made in found]


def remarks(text: str) -> dict[str, list[str]]:
    """The remarks about each function; "" stands for those that name none."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if re.search(r"\(C\d+\)|warning", line):
            function = re.search(r"function '(\w+)'", line)
            found.setdefault(function[1] if function else "", []).append(line.strip())
    return found


def kernel(entry: str, codes: dict[str, tuple[str, ...]], arguments: dict[str, int]) -> Kernel:
    name = entry.split("'")[1]

    def number(pattern: str) -> int:
        match = re.search(pattern, entry)
        return int(match[1]) if match else 0

    spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    return Kernel(
        name,
        number(r"Used (\d+) registers"),
        number(r"(\d+) bytes smem"),
        number(r"(\d+) bytes stack frame"),
        spilled,
        arguments[name],
        codes[name],
    )


def functions(text: str) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """The instructions of each kernel, and the size of its one argument."""
    codes, arguments = {}, {}
    for match in re.finditer(r"\.entry (\w+)\((.*?)\)(.*?)^\}", text, re.M | re.S):
        name, parameters, body = match.groups()
        sizes = re.findall(r"\.b8 \w+\[(\d+)\]", parameters)
        assert len(sizes) == 1, f"{name} has {len(sizes)} arguments"
        arguments[name] = int(sizes[0])
        codes[name] = tuple(instructions(body))
    return codes, arguments


def instructions(body: str) -> Iterator[str]:
    for line in body.splitlines():
        text = line.split("//")[0].strip()
        if text.endswith(";") and not text.startswith("."):
            yield re.sub(r"^@\S+\s+", "", text.rstrip(";"))


def byte_stores_of_halves(code: tuple[str, ...]) -> list[str]:
    """Stores of single bytes of what a rounding to 16 bits made. ptxas 13.0, and the driver's compiler of that time,
    convert the half to an integer there."""
    halves: set[str] = set()
    found = []
    for instruction in code:
        mnemonic = instruction.split(maxsplit=1)[0]
        registers = re.findall(r"%\w+", instruction)
        uses_half = bool(halves.intersection(registers[1:]))
        if re.match(r"st\.\S*[busf]8$", mnemonic):
            found += [instruction] if uses_half else []
        elif re.match(r"cvt\.rn(\.relu)?(\.satfinite)?\.b?f16", mnemonic) or (MOVES.match(mnemonic) and uses_half):
            halves.add(registers[0])
    return found
