"""The GPU code inside a model.so, as LLVM's tools read it: what each kernel needs, and the loops it runs."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ELF = b"\x7fELF"
MACHINE_AMDGPU = 0xE0


# The mnemonics of each innermost loop, and of the whole; those of waits with what they wait for.
Function = tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]


@dataclass(frozen=True)
class Argument:
    kind: str
    offset: int
    size: int


@dataclass(frozen=True)
class Kernel:
    """Registers and spills are counts a lane, memory is in bytes: of a block (LDS), of a lane (scratch)."""

    name: str
    arguments: tuple[Argument, ...]
    argument_bytes: int
    vector_registers: int
    spilled_registers: int
    scratch: int
    lds: int
    loops: tuple[tuple[str, ...], ...]  # the mnemonics of each innermost loop
    code: tuple[str, ...]  # and of the whole

    @property
    def mnemonics(self) -> set[str]:
        return {mnemonic for loop in self.loops for mnemonic in loop}


def extract(shared_object: Path, file: Path) -> Path:
    """Writes the code object to a file, from its ELF header to the end: the tools stop at its end."""
    content = shared_object.read_bytes()
    start = content.find(ELF, 1)
    while start >= 0 and content[start + 18] != MACHINE_AMDGPU:
        start = content.find(ELF, start + 1)
    assert start >= 0, "no code object in the shared object"
    file.write_bytes(content[start:])
    return file


@dataclass(frozen=True)
class Entry:
    """The metadata of a kernel: its own fields as text, and its arguments."""

    fields: dict[str, str]
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Metadata:
    target: str
    version: tuple[str, ...]
    kernels: tuple[Entry, ...]


def metadata(code_object: Path) -> Metadata:
    notes = _run("llvm-readelf-19", "--notes", str(code_object))
    kernels, rest = notes.split("amdhsa.kernels:", 1)[1].split("amdhsa.target:", 1)
    # One entry a kernel, each begun by a list item of the level of "amdhsa.kernels".
    entries = re.split(r"^  - ", kernels, flags=re.MULTILINE)[1:]
    version = tuple(re.findall(r"- (\d+)", rest.split("amdhsa.version:", 1)[1]))
    return Metadata(rest.split()[0], version, tuple(_entry(text) for text in entries))


def kernels(code_object: Path) -> list[Kernel]:
    functions = _functions(_run("llvm-objdump-19", "-d", str(code_object)))
    return [_kernel(entry, functions) for entry in metadata(code_object).kernels]


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _entry(text: str) -> Entry:
    # A kernel's own fields stand four columns in, those of its arguments further.
    fields = dict(re.findall(r"^(?:    )?\.(\w+):[ \t]+(\S+)", text, flags=re.MULTILINE))
    arguments = []
    if ".args:" in text:
        own = re.split(r"^    \.", text.split(".args:", 1)[1], flags=re.MULTILINE)[0]
        for argument in re.split(r"^      - ", own, flags=re.MULTILINE)[1:]:
            values = dict(re.findall(r"\.(\w+):\s+(\S+)", argument))
            arguments.append(Argument(values["value_kind"], int(values["offset"]), int(values["size"])))
    return Entry(fields, tuple(arguments))


def _kernel(entry: Entry, functions: dict[str, Function]) -> Kernel:
    fields = entry.fields
    return Kernel(
        fields["name"],
        entry.arguments,
        int(fields["kernarg_segment_size"]),
        int(fields["vgpr_count"]),
        int(fields["vgpr_spill_count"]) + int(fields["sgpr_spill_count"]),
        int(fields["private_segment_fixed_size"]),
        int(fields["group_segment_fixed_size"]),
        *functions[fields["name"]],
    )


def _functions(disassembly: str) -> dict[str, Function]:
    """A loop is from the target of a conditional backward branch to the branch; innermost if it holds no other. An
    unconditional one, or one over the kernel's end, comes back from code that was moved out of line."""
    result: dict[str, Function] = {}
    for part in re.split(r"^[0-9a-f]+ <", disassembly, flags=re.MULTILINE)[1:]:
        lines = re.findall(r"^\s+(\w+)(?: ([^/\n]*))?// ([0-9A-F]+):", part, flags=re.MULTILINE)
        code = [(int(address, 16), mnemonic, operands.strip()) for mnemonic, operands, address in lines]
        code = [
            (address, f"{mnemonic} {operands}".strip() if mnemonic.startswith("s_wait") else mnemonic, operands)
            for address, mnemonic, operands in code
        ]
        ends = [address for address, mnemonic, _ in code if mnemonic == "s_endpgm"]
        ranges = []
        for address, mnemonic, operands in code:
            if not mnemonic.startswith("s_cbranch"):
                continue
            words = int(operands)
            target = address + 4 + 4 * (words - 0x10000 if words >= 0x8000 else words)
            if target <= address and not any(target <= end <= address for end in ends):
                ranges.append((target, address))
        innermost = [
            (start, end)
            for start, end in ranges
            if not any((a, b) != (start, end) and start <= a and b <= end for a, b in ranges)
        ]
        loops = tuple(
            tuple(mnemonic for address, mnemonic, _ in code if start <= address <= end) for start, end in innermost
        )
        result[part.split(">", 1)[0]] = (loops, tuple(mnemonic for _, mnemonic, _ in code))
    return result
