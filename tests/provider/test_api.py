"""src/provider/api.h against the library that is installed: no header of onnxruntime's is at hand to compile it with.

The function at a position is told by its effect: here if that takes no graph; a graph's functions by the sessions of
test_provider.py, whose results would differ.
"""

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime

import onnxc
from tests.onnxc_commands import REPOSITORY

ROOM = REPOSITORY / "src" / "provider"
ROW = re.compile(r"^inline constexpr Entry<.*> (\w+)\{(\d+)(?:, Table::(\w+))?\};$", re.MULTILINE)
API_VERSION = 24
NUMBER = 3  # OrtOpAttrType
GetApi = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
GetVersion = ctypes.CFUNCTYPE(ctypes.c_void_p)


class ApiBase(ctypes.Structure):
    _fields_ = (("get_api", GetApi), ("get_version_string", GetVersion))


def rows() -> list[tuple[str, int, str]]:
    """Name, position and table of each function."""
    found = [
        (name, int(position), table or "main") for name, position, table in ROW.findall((ROOM / "api.h").read_text())
    ]
    assert len(found) > 50
    return found


def api_base() -> ApiBase:
    [path] = (Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*")
    library = ctypes.CDLL(str(path))
    library.OrtGetApiBase.restype = ctypes.POINTER(ApiBase)
    base: ApiBase = library.OrtGetApiBase().contents
    return base


def function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    [position] = [position for each, position, table in rows() if each == name and table == "main"]
    table = ctypes.cast(api_base().get_api(API_VERSION), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.CFUNCTYPE(result, *parameters)(table[position])


def test_rows_are_in_order_and_each_is_used() -> None:
    sources = " ".join(file.read_text() for file in ROOM.iterdir())
    for table in ("main", "provider", "editor"):
        positions = [position for _, position, each in rows() if each == table]
        assert positions == sorted(set(positions))
    for name, _, _ in rows():
        assert re.search(rf"entry::{name}\b", sources), f"{name} is not used"


def test_the_version_is_there() -> None:
    base = api_base()
    assert ctypes.string_at(base.get_version_string()).decode() == onnxruntime.__version__
    assert base.get_api(API_VERSION)


def test_a_status_keeps_its_text() -> None:
    status = function("CreateStatus", ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(11, b"some text")
    assert function("GetErrorMessage", ctypes.c_char_p, ctypes.c_void_p)(status) == b"some text"
    function("ReleaseStatus", None, ctypes.c_void_p)(status)


def test_an_attribute_keeps_its_value() -> None:
    attribute, value = ctypes.c_void_p(), ctypes.c_float(1.5)
    create = function(
        "CreateOpAttr", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p
    )
    assert create(b"alpha", ctypes.byref(value), 1, NUMBER, ctypes.byref(attribute)) is None
    name, kind = ctypes.c_char_p(), ctypes.c_int()
    read, size = ctypes.c_float(), ctypes.c_size_t()
    two = (ctypes.c_void_p, ctypes.c_void_p)
    assert function("OpAttr_GetName", ctypes.c_void_p, *two)(attribute, ctypes.byref(name)) is None
    assert function("OpAttr_GetType", ctypes.c_void_p, *two)(attribute, ctypes.byref(kind)) is None
    read_attribute = function(
        "ReadOpAttr", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    )
    assert read_attribute(attribute, NUMBER, ctypes.byref(read), 4, ctypes.byref(size)) is None
    function("ReleaseOpAttr", None, ctypes.c_void_p)(attribute)
    assert (name.value, kind.value, read.value, size.value) == (b"alpha", NUMBER, 1.5, 4)


def test_an_older_onnxruntime_is_refused() -> None:
    real = api_base()
    get_api = GetApi(lambda version: real.get_api(version) if version < API_VERSION else None)
    version = ctypes.create_string_buffer(b"1.23.2")
    old = ApiBase(get_api, GetVersion(lambda: ctypes.addressof(version)))
    factories, count = (ctypes.c_void_p * 4)(), ctypes.c_size_t(7)
    create = ctypes.CDLL(onnxc.ep_path()).CreateEpFactories
    create.restype = ctypes.c_void_p
    status = create(b"onnxc", ctypes.byref(old), None, factories, ctypes.c_size_t(4), ctypes.byref(count))
    text = function("GetErrorMessage", ctypes.c_char_p, ctypes.c_void_p)(status).decode()
    assert text == "onnxc's provider needs onnxruntime 1.24 or newer, and this is 1.23.2; update onnxruntime"
    assert count.value == 0
