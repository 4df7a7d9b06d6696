"""The offsets of the members of the kernels' arguments: in what the host packs, and in what the GPU's code reads.

Both come from one text, but two compilers for two machines lay it out, with types of their own.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tests import onnxc_commands

INCLUDES = [f"-I{onnxc_commands.REPOSITORY / folder}" for folder in ("src", "runtime", "runtime/include")]
COMPILE = ["clang++-19", "-std=c++20", "-fsyntax-only", "-w", *INCLUDES, "-Xclang", "-fdump-record-layouts"]
HOST = ["-march=x86-64-v3", "-xc++"]
DEVICE = ["--cuda-device-only", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-xhip"]


@dataclass(frozen=True)
class Member:
    offset: int
    depth: int  # of a structure in a structure
    kind: str  # the type of a number; "pointer"; "structure"
    name: str


@dataclass(frozen=True)
class Layout:
    size: int
    members: tuple[Member, ...]


def layouts(source: str, namespace: str, structures: Sequence[str], options: Sequence[str]) -> dict[str, Layout]:
    """The layouts of these structures of a source text, by name."""
    # A structure whose size is asked for is laid out.
    uses = [f"static_assert(sizeof({namespace}::{name}) > 0);" for name in structures]
    command = [*COMPILE, *options, "-"]
    done = subprocess.run(command, input="\n".join([source, *uses]), text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {}
    for record in done.stdout.split("*** Dumping AST Record Layout")[1:]:
        lines = re.findall(r"^\s*(\d+) \|(\s+)(.*)$", record, flags=re.MULTILINE)
        size = re.search(r"\[sizeof=(\d+)", record)
        assert lines
        assert size
        name = lines[0][2].split("::")[-1]
        members = (Member(int(offset), len(indent) // 2, *kind_and_name(text)) for offset, indent, text in lines[1:])
        found[name] = Layout(int(size[1]), tuple(members))
    return {name: found[name] for name in structures}


def kind_and_name(member: str) -> tuple[str, str]:
    """Splits "type name". The target of a pointer is not compared: halves are numbers here and two bytes there."""
    kind, name = member.rsplit(" ", 1)
    if "*" in kind:
        return "pointer", name
    return ("structure" if kind.startswith(("struct ", "class ", "union ")) else kind), name


VOLUME_HEADER = '#include "kernels/hip/volume/volume_geometry.h"'


def host_layouts(source: str, structures: Sequence[str]) -> dict[str, Layout]:
    """Those of the host file, and of volumes' kernels, which the runtime packs."""
    own = [name for name in structures if name.endswith("_arguments")]
    shared = [name for name in structures if name not in own]
    found = layouts(source, "onnxc::runtime::entry0::hip", own, HOST)
    return found | (layouts(VOLUME_HEADER, "onnxc::kernels", shared, HOST) if shared else {})


def device_layouts(source: str, structures: Sequence[str]) -> dict[str, Layout]:
    return layouts(source, "onnxc::kernels", structures, DEVICE)


def differences(host: Layout, device: Layout) -> list[str]:
    """The members that lie elsewhere, or are missing."""
    found = [
        f"{a or 'nothing'} of the host is {b or 'nothing'} of the GPU"
        for a, b in zip_longest(host.members, device.members)
        if a != b
    ]
    return found + ([f"{host.size} bytes of the host are {device.size} of the GPU"] if host.size != device.size else [])
