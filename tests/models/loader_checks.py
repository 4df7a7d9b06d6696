"""Checks of a code object of gfx942 by what ROCm's loader and the hardware read: its ELF header and size, the metadata
of each kernel and its descriptor. LLVM's "User Guide for AMDGPU Backend" has their layouts ("ELF Code Object", "Kernel
Descriptor"); ROCm's clr (hip_module.cpp, hip_fatbin.cpp) what an image must be for hipModuleLoadData."""

import struct
from dataclasses import dataclass
from pathlib import Path

from tests.models.code_object import ELF, MACHINE_AMDGPU, Entry, metadata

HSA, CODE_OBJECT_5 = 64, 3
# gfx942 (0x4c); XNACK of either kind (0x100) and SRAM-ECC of either kind (0x400), so that any mode of a card loads it.
FLAGS_GFX942 = 0x54C
TARGET, VERSION = "amdgcn-amd-amdhsa--gfx942", ("1", "2")
PAGE, DESCRIPTOR_BYTES, DESCRIPTOR_ALIGNMENT, ENTRY_ALIGNMENT = 4096, 64, 64, 256
RELOCATIONS = (4, 9)
BLOCK_THREADS = 256
# Words that the instruction prefetcher may read after the last kernel.
PREFETCHED, S_NOP = 256, 0xBF800000

# Bits of the descriptor that are the same in every kernel: first, count, value.
Bits = dict[str, tuple[int, int, int]]
RESOURCES_1: Bits = {
    "priority": (10, 2, 0),
    "rounding and denormals": (12, 8, 0xF0),  # to nearest; all denormals are kept
    "privileged": (20, 1, 0),
    "DX10 clamp": (21, 1, 1),
    "debugging": (22, 1, 0),
    "IEEE mode": (23, 1, 1),
    "float16 overflow and reserved": (24, 8, 0),
}
RESOURCES_2: Bits = {
    "scratch": (0, 1, 0),
    "user SGPRs": (1, 5, 2),  # the address of the arguments
    "trap handler": (6, 1, 0),
    "work group index": (7, 3, 1),  # that of x
    "work group information": (10, 1, 0),
    "work item index": (11, 2, 0),  # that of x
    "exceptions and LDS": (13, 19, 0),  # the packet processor fills in the LDS
}
RESOURCES_3: Bits = {"reserved": (6, 10, 0), "split work groups and reserved": (16, 16, 0)}
PROPERTIES: Bits = {"properties": (0, 16, 0x8)}  # the arguments' address and no other, wavefronts of 64 lanes


@dataclass(frozen=True)
class Section:
    kind: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Symbol:
    address: int
    size: int


@dataclass(frozen=True)
class Descriptor:
    lds: int
    scratch: int
    argument_bytes: int
    entry: int
    resources: tuple[int, int, int]
    properties: int
    preload: int
    reserved: bytes

    @staticmethod
    def read(content: bytes, offset: int) -> "Descriptor":
        lds, scratch, arguments = struct.unpack_from("<III", content, offset)
        (entry,) = struct.unpack_from("<q", content, offset + 16)
        third, first, second, properties, preload = struct.unpack_from("<IIIHH", content, offset + 44)
        reserved = b"".join(content[offset + a : offset + b] for a, b in ((12, 16), (24, 44), (60, 64)))
        return Descriptor(lds, scratch, arguments, entry, (first, second, third), properties, preload, reserved)


class Image:
    """A code object as an ELF file of 64 bits."""

    def __init__(self, content: bytes) -> None:
        (start,) = struct.unpack_from("<Q", content, 40)
        size, self.count = struct.unpack_from("<HH", content, 58)
        # As clr takes the size of an image: up to the end of the section headers.
        self.content = content[: start + size * self.count]
        self.sections = [self._section(start + size * number) for number in range(self.count)]
        self.symbols = self._symbols()

    def _section(self, at: int) -> Section:
        _, kind, _, address, offset, size, link = struct.unpack_from("<IIQQQQI", self.content, at)
        return Section(kind, address, offset, size, link)

    def _symbols(self) -> dict[str, Symbol]:
        found = {}
        for table in (section for section in self.sections if section.kind == 11):  # the dynamic symbols, as at load
            names = self.sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, 24):
                name, _, _, _, address, size = struct.unpack_from("<IBBHQQ", self.content, at)
                end = self.content.index(b"\0", names + name)
                found[self.content[names + name : end].decode()] = Symbol(address, size)
        return found

    def holder(self, address: int) -> Section:
        """The section with content that holds an address."""
        return next(s for s in self.sections if s.kind == 1 and s.address <= address < s.address + s.size)

    def offset(self, address: int) -> int:
        section = self.holder(address)
        return section.offset + address - section.address


def place_faults(shared_object: Path) -> list[str]:
    """The code objects of a model.so begin pages, so that their headers are aligned in memory too."""
    content, found = shared_object.read_bytes(), []
    start = content.find(ELF, 1)
    while start >= 0:
        if content[start + 18] == MACHINE_AMDGPU and start % PAGE:
            found.append(f"a code object at {start}, which is no multiple of {PAGE}")
        start = content.find(ELF, start + 1)
    return found


def faults(file: Path) -> list[str]:
    """Checks a file that begins with a code object. ROCm's loader refuses a fault, or hardware runs otherwise."""
    image = Image(file.read_bytes())
    notes = metadata(file)
    found = header_faults(image)
    if notes.target != TARGET or notes.version != VERSION:
        found.append(f"metadata of {notes.target}, version {'.'.join(notes.version)}")
    named = {entry.fields["symbol"] for entry in notes.kernels}
    if described := {name for name in image.symbols if name.endswith(".kd")} ^ named:
        found.append(f"{sorted(described)} in the symbols or in the metadata alone")
    for entry in notes.kernels:
        if entry.fields["symbol"] in image.symbols:
            wrong = metadata_faults(entry) + kernel_faults(image, entry)
            found += [f"{entry.fields['name']}: {fault}" for fault in wrong]
    return found + padding_faults(image)


def header_faults(image: Image) -> list[str]:
    found = []
    content = image.content
    if content[:7] != ELF + b"\x02\x01\x01" or content[7:9] != bytes([HSA, CODE_OBJECT_5]):
        found.append(f"identification {content[:9].hex()}")
    kind, machine = struct.unpack_from("<HH", content, 16)
    (flags,) = struct.unpack_from("<I", content, 48)
    if (kind, machine, flags) != (3, MACHINE_AMDGPU, FLAGS_GFX942):
        found.append(f"ELF of type {kind}, machine {machine:#x}, flags {flags:#x}")
    if any(section.kind != 8 and section.offset + section.size > len(content) for section in image.sections):
        found.append("a section behind the section headers, where clr ends the image")
    if any(section.kind in RELOCATIONS for section in image.sections):
        found.append("relocations")
    return found


def metadata_faults(entry: Entry) -> list[str]:
    expected = {
        "kernarg_segment_align": "8",
        "max_flat_workgroup_size": str(BLOCK_THREADS),
        "uniform_work_group_size": "1",
        "uses_dynamic_stack": "false",
        "wavefront_size": "64",
        "private_segment_fixed_size": "0",
    }
    found = [
        f".{name} is {entry.fields.get(name)}, expected {value}"
        for name, value in expected.items()
        if entry.fields.get(name) != value
    ]
    # No hidden argument: the launch gives none.
    layout = [(argument.kind, argument.offset, argument.size) for argument in entry.arguments]
    if layout != [("by_value", 0, int(entry.fields["kernarg_segment_size"]))]:
        found.append(f"arguments {layout} in {entry.fields['kernarg_segment_size']} bytes")
    return found


def kernel_faults(image: Image, entry: Entry) -> list[str]:
    """Checks the descriptor, its place and its code's, and that it says what the metadata says."""
    symbol = image.symbols[entry.fields["symbol"]]
    descriptor = Descriptor.read(image.content, image.offset(symbol.address))
    found = []
    if symbol.address % DESCRIPTOR_ALIGNMENT or symbol.size != DESCRIPTOR_BYTES:
        found.append(f"descriptor of {symbol.size} bytes at {symbol.address:#x}")
    code = image.symbols[entry.fields["name"]]
    if symbol.address + descriptor.entry != code.address or code.address % ENTRY_ALIGNMENT:
        found.append(f"entry at {symbol.address + descriptor.entry:#x}, code at {code.address:#x}")
    said = (descriptor.lds, descriptor.scratch, descriptor.argument_bytes)
    names = ("group_segment_fixed_size", "private_segment_fixed_size", "kernarg_segment_size")
    if said != tuple(int(entry.fields[name]) for name in names):
        found.append(f"descriptor with {said} bytes of LDS, scratch and arguments, unlike the metadata")
    if any(descriptor.reserved) or descriptor.preload:
        found.append(f"reserved bytes {descriptor.reserved.hex()}, {descriptor.preload} preloaded arguments")
    return found + register_faults(descriptor, entry) + bit_faults(descriptor)


def register_faults(descriptor: Descriptor, entry: Entry) -> list[str]:
    """Vector registers are given in eights, accumulation registers from a multiple of four on; scalar ones in 16."""
    found = []
    first, _, third = descriptor.resources
    given, own = 8 * ((first & 63) + 1), 4 * ((third & 63) + 1)
    total, accumulators = int(entry.fields["vgpr_count"]), int(entry.fields["agpr_count"])
    if not (total <= given <= 512 and total - accumulators <= own <= given and own + accumulators <= given):
        found.append(f"{given} registers given, {own} before the accumulation registers; {total} with {accumulators}")
    scalar = 8 * ((first >> 6 & 15) + 1)
    if not int(entry.fields["sgpr_count"]) <= min(scalar, 112):
        found.append(f"{scalar} scalar registers given, {entry.fields['sgpr_count']} needed")
    return found


def bit_faults(descriptor: Descriptor) -> list[str]:
    words = (*zip(descriptor.resources, (RESOURCES_1, RESOURCES_2, RESOURCES_3), strict=True),)
    return [
        f"{name}: {word >> first & (1 << count) - 1:#x}, expected {value:#x}"
        for word, bits in (*words, (descriptor.properties, PROPERTIES))
        for name, (first, count, value) in bits.items()
        if word >> first & (1 << count) - 1 != value
    ]


def padding_faults(image: Image) -> list[str]:
    """After the last kernel of all there must be nothing but s_nop."""
    kernels = (symbol for name, symbol in image.symbols.items() if f"{name}.kd" in image.symbols)
    last = max(kernels, key=lambda symbol: symbol.address)
    text = image.holder(last.address)
    behind = image.content[image.offset(last.address) + last.size : text.offset + text.size]
    words = [word for (word,) in struct.iter_unpack("<I", behind)]
    if len(words) < PREFETCHED or set(words) != {S_NOP}:
        return [f"{words.count(S_NOP)} s_nop in {len(words)} words after the last kernel"]
    return []
