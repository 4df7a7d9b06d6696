"""Only kernels/hip/amd and kernels/hip/nvidia name a GPU's instructions: other kernels' words hold for each vendor."""

import re

import pytest

from tests.onnxc_commands import REPOSITORY

KERNELS = REPOSITORY / "src/kernels/hip"
VENDORS = ("amd", "nvidia")
# Builtins of clang for one vendor, its libraries' functions, its attributes, and assembly.
WORDS = re.compile(
    r"__builtin_amdgcn|__ocml|__hip_|amdgpu_|__nvvm|__syncthreads|__scoped_atomic|launch_bounds\(|\b_Z\d|\basm\b|__asm__"
    r"|address_space"
)


def words(text: str) -> list[str]:
    """The vendors' words in a source, comments apart."""
    return WORDS.findall(re.sub(r"//.*", "", text))


def test_vendor_words_stay_with_their_vendor() -> None:
    found = {}
    for file in sorted([*KERNELS.rglob("*.h"), *(REPOSITORY / "src/codegen").rglob("*.cpp")]):
        text = file.read_text()
        if file.is_relative_to(KERNELS) and file.relative_to(KERNELS).parts[0] in VENDORS:
            assert words(text), f"{file.name} has no word of its vendor"
        elif named := words(text):
            found[str(file.relative_to(REPOSITORY))] = named
    assert not found


@pytest.mark.parametrize("header", ["words.h", "elementary.h", "attributes.h"])
def test_both_vendors_have_the_same_words(header: str) -> None:
    names = []
    for vendor in VENDORS:
        text = (KERNELS / vendor / header).read_text()
        functions = re.findall(r"^__device__ inline .*?(\w+)\(", text, re.M)
        names.append(set(functions) | set(re.findall(r"^#define (\w+)", text, re.M)))
    # Those of AMD's compiler only.
    assert names[0] - {"ONNXC_PLANNED_WAVES", "ONNXC_ONLY_TWO_WAVES"} == names[1]


def test_the_pattern_finds_words() -> None:
    assert words('asm volatile("" : "+v"(value));')
    assert words("return __builtin_amdgcn_readlane(value, lane);")
    assert words("_Z3expf(a)")
    assert not words("// asm is for vendors")
    assert not words("scheduling_barrier(); atomic_add(element, value);")
