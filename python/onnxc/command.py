"""The command onnxc, as the package calls it."""

import ctypes
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from onnxc import library
from onnxc.errors import ArgumentError, CompileError, OnnxcError

# When the package is imported: two threads that ask sysconfig first fail (AttributeError: 'userbase').
_ENVIRONMENTS = tuple(Path(sysconfig.get_path("data", scheme)) / "bin" for scheme in ("posix_prefix", "posix_user"))

_NVIDIA_DRIVER = Path("/proc/driver/nvidia")


def target_options(device: str, given: Sequence[str] = ()) -> list[str]:
    """The target that a model must be compiled for to run on the device; `given` may choose the GPU."""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return []
    # Code for sm_80 runs on every newer GPU of NVIDIA's as well.
    is_nvidia = "--gpu-arch" not in given and (kind == "cuda" or (kind == "gpu" and _NVIDIA_DRIVER.exists()))
    return ["--target", "gpu", *(("--gpu-arch", "sm_80") if is_nvidia else ())]


def compile_and_load(model: Path | bytes, options: Sequence[str]) -> ctypes.CDLL:
    """Compiles a model file, or the bytes of one without external data; nothing if the cache has the result."""
    from onnxc import cache  # here, since `python -m onnxc.cache` warns if the package has imported it already

    try:
        content = model.read_bytes() if isinstance(model, Path) else model
    except OSError as error:
        raise OnnxcError(f"cannot read {str(model)!r}: {error.strerror}") from error
    beside = model.parent if isinstance(model, Path) else Path()
    kept = cache.ready_folder()
    name = cache.key(content, beside, Path(_find_command()), options) if kept else None
    if name is not None and (found := cache.find(name)) is not None:
        return library.load(found)
    # Beside the cache, so that the result is moved there whole. A loaded library stays whole after its file is removed.
    with tempfile.TemporaryDirectory(prefix="onnxc-", dir=kept if name else None) as folder:
        file = model if isinstance(model, Path) else Path(folder) / "model.onnx"
        if isinstance(model, bytes):
            file.write_bytes(content)
        shared_object = Path(folder) / f"{file.stem}.so"
        execute([file], shared_object, options)
        if name is None or kept is None:
            return library.load(shared_object)
        shared_object = shared_object.replace(kept / f"{name}.so")
        cache.describe(shared_object, model, options)
    cache.make_room(kept)
    return library.load(shared_object)


def execute(models: Sequence[Path], output: Path, options: Sequence[str]) -> None:
    """Compiles model files to one model.so. Raises CompileError with the command's message."""
    # "./" keeps a file whose name starts with a dash from being read as an option.
    *files, target = (str(path) if path.is_absolute() else os.path.join(".", path) for path in (*models, output))
    command = [_find_command(), *files, "-o", target, *options]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        try:
            _, errors = process.communicate()
        except BaseException:  # such as Ctrl-C: the command removes what it has made before it ends
            process.terminate()
            process.wait()
            raise
    if process.returncode != 0:
        raise CompileError(errors.strip() or f"onnxc ended with code {process.returncode}", process.returncode)


def version() -> str:
    """The command's own facts."""
    done = subprocess.run([_find_command(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def ep_path() -> str:
    """onnxc as an execution provider of onnxruntime: the library to register there.

        import onnxruntime

        onnxruntime.register_execution_provider_library("onnxc", onnxc.ep_path())

    Raises OnnxcError if this installation has none.
    """
    path = Path(_find_command()).resolve().parents[1] / "lib" / "libonnxc_ep.so"
    if not path.is_file():
        raise OnnxcError(f"{path} is missing; install onnxc again")
    return str(path)


def _find_command() -> str:
    """$ONNXC_BIN/onnxc; else of the source tree or the Python environment that this file is in, or on the PATH. Raises
    ArgumentError if $ONNXC_BIN has none, OnnxcError if there is none."""
    folder = os.environ.get("ONNXC_BIN")
    source_tree = Path(__file__).resolve().parents[2] / "build" / "bin"
    places = [Path(folder)] if folder else [source_tree, *_ENVIRONMENTS]
    for place in places:
        if (place / "onnxc").is_file():
            return str(place / "onnxc")
    if folder:
        raise ArgumentError(f"the environment variable ONNXC_BIN is {folder!r}, and this folder has no command onnxc")
    found = shutil.which("onnxc")
    if found is None:
        raise OnnxcError("the command onnxc is not found: put it on the PATH, or set ONNXC_BIN to its folder")
    return found
