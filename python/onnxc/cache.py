"""Compiled models, kept by what they were made of, so that opening a model a second time compiles nothing.

The key is the model's bytes, its external data (by name, size and time), the options, the compiler and this CPU. The
folder is $ONNXC_MODEL_CACHE, by default onnxc/models in $XDG_CACHE_HOME or ~/.cache; an empty $ONNXC_MODEL_CACHE keeps
nothing. Beyond $ONNXC_MODEL_CACHE_BYTES (4 GiB) what was opened longest ago is removed.

    python -m onnxc.cache            # what is kept: the last opening, the size, the model and the options
    python -m onnxc.cache --clear    # removes it
"""

import argparse
import hashlib
import os
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from onnxc import arguments
from onnxc.errors import ArgumentError, counted
from onnxc.input_files import external_names

USUAL_BYTES = 4 << 30
# The files that are kept here, and no other file that the folder may have.
_KEPT = re.compile(r"[0-9a-f]{64}\.so")


def folder() -> Path | None:
    """The folder of compiled models; nothing if they are not kept."""
    chosen = os.environ.get("ONNXC_MODEL_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "onnxc" / "models"


def most_bytes() -> int:
    """How much is kept. Raises ArgumentError for a value that is not a number of bytes."""
    text = os.environ.get("ONNXC_MODEL_CACHE_BYTES", "")
    if text and not re.fullmatch("[0-9]+", text):
        raise ArgumentError(
            f"the environment variable ONNXC_MODEL_CACHE_BYTES is {text!r}; a number of bytes is expected"
        )
    return int(text or USUAL_BYTES)


def ready_folder() -> Path | None:
    """The folder, made if it was not there; nothing if the usual one cannot be made. Raises ArgumentError for variables
    of the environment that have no meaning."""
    where = folder()
    if where is None:
        return None
    most_bytes()
    try:
        return arguments.made_folder("the environment variable ONNXC_MODEL_CACHE", where)
    except ArgumentError:
        if "ONNXC_MODEL_CACHE" in os.environ:
            raise
        return None


def key(content: bytes, beside: Path, compiler: Path, options: Sequence[str]) -> str | None:
    """The name of a compiled model; nothing if it cannot be told what the model consists of.

    beside: the folder of its external data. compiler: the command's file.
    """
    digest = hashlib.sha256(content)
    names = external_names(content)
    if content.count(b"\x08location") > len(names):
        return None  # written in another order than protobuf's own, or with a very long name
    parts = [str(_state(compiler)), *options, os.environ.get("ONNXC_CXX", ""), _this_cpu()]
    for name in sorted(set(names)):
        try:
            parts.append(f"{name!r} {_state(beside / name)}")
        except (OSError, ValueError):
            return None  # the compiler says what is wrong
    digest.update("\0".join(parts).encode())
    return digest.hexdigest()


def _state(file: Path) -> tuple[int, int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _this_cpu() -> str:
    with open("/proc/cpuinfo") as file:
        return next((line for line in file if line.startswith("flags")), "")


def find(name: str) -> Path | None:
    """The compiled model of this key; it then counts as opened just now."""
    where = folder()
    if where is None:
        return None
    file = where / f"{name}.so"
    try:
        os.utime(file)
    except OSError:
        return None
    return file


def make_room(where: Path) -> None:
    """Removes what was opened longest ago, until the rest is within the bound; the newest stays whatever its size."""
    most = most_bytes()
    files = _files(where)
    total = sum(size for _, size, _ in files)
    for _, size, file in files[:-1]:
        if total <= most:
            return
        remove(file)
        total -= size


def _record(file: Path) -> Path:
    """Beside a compiled model, for people: what it was made of."""
    return file.with_suffix(".txt")


def describe(file: Path, model: Path | bytes, options: Sequence[str]) -> None:
    """Notes what a compiled model was made of."""
    name = str(model.absolute()) if isinstance(model, Path) else f"{len(model)} bytes of memory"
    _record(file).write_text(shlex.join([name, *options]))


def description(file: Path) -> str:
    """The facts that describe noted; onnxruntime's provider notes nothing."""
    try:
        return _record(file).read_text()
    except OSError:
        return file.stem


def remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    _record(file).unlink(missing_ok=True)


def _files(where: Path) -> list[tuple[int, int, Path]]:
    """Time of the last opening, size and path; the one opened longest ago comes first."""
    found = []
    for file in where.glob("*.so") if where.is_dir() else ():
        if not _KEPT.fullmatch(file.name):
            continue
        try:
            status = file.stat()
        except FileNotFoundError:  # another process removed it
            continue
        found.append((status.st_mtime_ns, status.st_size, file))
    return sorted(found)


def clear() -> int:
    """Removes every compiled model, and what onnxruntime's provider keeps of those that cannot be compiled; how many
    compiled ones there were."""
    where = folder()
    files = _files(where) if where else []
    refusals = where.glob(f"{'[0-9a-f]' * 64}.refused.json") if where else ()
    for path in (*(file for _, _, file in files), *refusals):
        remove(path)
    return len(files)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m onnxc.cache", description="The compiled models that are kept.")
    parser.add_argument("--clear", action="store_true", help="remove them")
    if parser.parse_args(words).clear:
        print(f"removed {counted(clear(), 'model')}")
        return
    where = folder()
    files = _files(where) if where else []
    for opened, size, file in reversed(files):
        date = time.strftime("%Y-%m-%d %H:%M", time.localtime(opened / 1e9))
        print(f"{date} {size / 1e6:9.1f} MB  {description(file)}")
    print(f"{counted(len(files), 'model')}, {sum(size for _, size, _ in files) / 1e6:.1f} MB in {where or 'no folder'}")


if __name__ == "__main__":
    main()
