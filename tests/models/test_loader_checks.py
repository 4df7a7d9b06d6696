"""The checks of what ROCm's loader reads find each change of a code object, and the source of the limits that they
hold is the code object of a compile. test_gpu.py makes them for every model."""

import struct
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx.parser import parse_model

from tests import onnxc_commands
from tests.models import code_object, loader_checks
from tests.models.loader_checks import Image

pytestmark = pytest.mark.usefixtures("commands")

MODEL = """<ir_version: 9, opset_import: ["" : 18]> m (float[1, 8, 5, 6, 7] x, float[8, 8, 3, 3, 3] w) => (y) {
  c = Conv (x, w)
  y = Softmax (c)
}"""
Change = Callable[[bytearray], None]


@pytest.fixture(scope="module")
def shared_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loader")
    onnx.save(parse_model(MODEL), folder / "model.onnx")
    return onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")


@pytest.fixture
def file(shared_object: Path, tmp_path: Path) -> Path:
    return code_object.extract(shared_object, tmp_path / "kernels.co")


def test_nothing_is_found_in_what_is_compiled(shared_object: Path, file: Path) -> None:
    assert len(code_object.metadata(file).kernels) > 1
    assert loader_checks.faults(file) == []
    assert loader_checks.place_faults(shared_object) == []


def at(offset: int, form: str, value: int) -> Change:
    return lambda content: struct.pack_into(form, content, offset, value)


def in_descriptor(offset: int, form: str, change: Callable[[int], int]) -> Change:
    """Changes a number of the first descriptor."""

    def apply(content: bytearray) -> None:
        image = Image(bytes(content))
        address = min(symbol.address for name, symbol in image.symbols.items() if name.endswith(".kd"))
        place = image.offset(address) + offset
        (value,) = struct.unpack_from(form, content, place)
        struct.pack_into(form, content, place, change(value))

    return apply


def in_text(old: bytes, new: bytes) -> Change:
    """Changes the metadata's MessagePack, in which a small number follows its name."""

    def apply(content: bytearray) -> None:
        place = content.index(old)
        content[place : place + len(new)] = new

    return apply


def last_word_of_text(content: bytearray) -> None:
    image = Image(bytes(content))
    text = image.holder(max(symbol.address for name, symbol in image.symbols.items() if f"{name}.kd" in image.symbols))
    struct.pack_into("<I", content, text.offset + text.size - 4, 0)


def flipped(bit: int) -> Callable[[int], int]:
    return lambda value: value ^ 1 << bit


CHANGES: list[tuple[str, Change, str]] = [
    ("another system", at(7, "<B", 0), "identification"),
    ("code object version 6", at(8, "<B", 4), "identification"),
    ("an object file", at(16, "<H", 1), "ELF of type 1"),
    ("another GPU", at(48, "<I", 0x53F), "flags 0x53f"),
    ("XNACK on alone", at(48, "<I", 0x74C), "flags 0x74c"),
    ("metadata of version 1.1", in_text(b"amdhsa.version\x92\x01\x02", b"amdhsa.version\x92\x01\x01"), "version 1.1"),
    ("metadata of another GPU", in_text(b"--gfx942", b"--gfx940"), "amdhsa--gfx940"),
    ("arguments of alignment 4", in_text(b".kernarg_segment_align\x08", b".kernarg_segment_align\x04"), "is 4"),
    ("other argument kinds", in_text(b"by_value", b"by_image"), "arguments [('by_image'"),
    ("32 lanes", in_text(b".wavefront_size\x40", b".wavefront_size\x20"), ".wavefront_size is 32"),
    ("odd blocks", in_text(b".uniform_work_group_size\x01", b".uniform_work_group_size\x00"), "_size is 0"),
    ("blocks of 128", in_text(b".max_flat_workgroup_size\xcd\x01\x00", b".max_flat_workgroup_size\xcd\x00\x80"), "128"),
    ("a dynamic stack", in_text(b".uses_dynamic_stack\xc2", b".uses_dynamic_stack\xc3"), "is true"),
    ("more LDS", in_descriptor(0, "<I", lambda lds: lds + 512), "unlike the metadata"),
    ("scratch", in_descriptor(4, "<I", lambda scratch: scratch + 16), "unlike the metadata"),
    ("more arguments", in_descriptor(8, "<I", lambda size: size + 8), "unlike the metadata"),
    ("a reserved byte", in_descriptor(12, "<B", flipped(0)), "reserved bytes 01"),
    ("another reserved byte", in_descriptor(43, "<B", flipped(0)), "reserved bytes"),
    ("the last reserved byte", in_descriptor(63, "<B", flipped(7)), "reserved bytes"),
    ("another entry", in_descriptor(16, "<q", lambda entry: entry + 4), "entry at"),
    ("too few registers", in_descriptor(48, "<I", lambda word: word & ~63), "8 registers given"),
    ("too few scalar registers", in_descriptor(48, "<I", lambda word: word & ~(15 << 6)), "8 scalar registers given"),
    ("denormals flushed", in_descriptor(48, "<I", flipped(16)), "rounding and denormals: 0xe0"),
    ("no IEEE mode", in_descriptor(48, "<I", flipped(23)), "IEEE mode: 0x0, expected 0x1"),
    ("no clamp", in_descriptor(48, "<I", flipped(21)), "DX10 clamp: 0x0"),
    ("a scratch offset", in_descriptor(52, "<I", flipped(0)), "scratch: 0x1"),
    ("another user register", in_descriptor(52, "<I", flipped(1)), "user SGPRs: 0x3"),
    ("a trap handler", in_descriptor(52, "<I", flipped(6)), "trap handler: 0x1"),
    ("the index of y", in_descriptor(52, "<I", flipped(8)), "work group index: 0x3"),
    ("an exception", in_descriptor(52, "<I", flipped(24)), "exceptions and LDS"),
    ("split work groups", in_descriptor(44, "<I", flipped(16)), "split work groups"),
    ("a dispatch pointer", in_descriptor(56, "<H", flipped(1)), "properties: 0xa"),
    ("preloaded arguments", in_descriptor(58, "<H", flipped(0)), "1 preloaded arguments"),
    ("no padding", last_word_of_text, "words after the last kernel"),
]


@pytest.mark.parametrize(("change", "fault"), [change[1:] for change in CHANGES], ids=[change[0] for change in CHANGES])
def test_each_change_is_found(file: Path, change: Change, fault: str) -> None:
    content = bytearray(file.read_bytes())
    change(content)
    file.write_bytes(content)
    found = loader_checks.faults(file)
    assert fault in "\n".join(found)


def test_a_code_object_off_a_page_is_found(shared_object: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.so"
    moved.write_bytes(b"\x7f" + shared_object.read_bytes())
    assert "which is no multiple of 4096" in "\n".join(loader_checks.place_faults(moved))
