"""The kernels' source about the alignment of each access, before anything is optimised.

AMD's GPUs take any address in their unaligned mode, so that neither their assembly nor a run shows an access that says
less than what holds. Other compilers make one access a byte of it."""

import re
import subprocess

from tests.models.argument_layouts import DEVICE, INCLUDES

FRONT_END = ["clang++-19", "-std=c++20", "-w", "-O1", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes"]
# Types whose elements are bytes, or that are a byte themselves.
BYTE = re.compile(r"i8|i1")


def front_end(source: str, *options: str) -> str:
    """LLVM's IR of a device source, as clang's front end writes it."""
    command = [*FRONT_END, *INCLUDES, *DEVICE, *options, "-", "-o", "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def faults(ir: str) -> list[str]:
    """Accesses of more than a byte that claim no alignment."""
    found = []
    for line in ir.splitlines():
        text = line.strip()
        access = re.match(r"(?:%\S+ = )?(load|store) (?:atomic )?(?:volatile )?(<[^>]*>|\S+?)[ ,].*align 1\b", text)
        copy = re.match(r"(?:tail )?call void @llvm\.memcpy\S*\((ptr.*?), (ptr.*?), i64 (\d+)", text)
        if access and not BYTE.fullmatch(access[2]):
            found.append(f"{access[1]} of {access[2]} with alignment 1: {text}")
        if copy and int(copy[3]) > 1 and not all(re.search(r"align (?!1\b)", end) for end in copy.groups()[:2]):
            found.append(f"copy of {copy[3]} bytes with alignment 1: {text}")
    return found
