"""Writes the seeds of tests/fuzz/corpus: python -m tests.fuzz.make_corpus. Findings of the fuzzers stand beside them.

A seed is small and shows one thing that its reader knows; the fuzzer puts them together.
"""

import gzip
import io
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.random.random_graphs import build_model, random_graph

CORPUS = Path(__file__).parent / "corpus"

EXPRESSIONS = [
    "N", "16*D", "16*((D - 1)//16) + 16", "min(N, 3) + max(D, H, 2)", "(N + 15)//16*16 - N%16", "Mod(N, 4)",
    "FloorDiv(N - 1, 2) + CeilDiv(D, 3)", "ModularIndexing(N, 2, 3)", "floor(N/2)", "ceiling(D/3)", "N**2 - D**3",
    "-(-N)", "2**62 + N", "((N//2)%3)*((N//2)%3)", "batch size", "N.1", "", "9223372036854775808", "N//0", "N%(D - D)",
]  # fmt: skip
PROGRAMS = [
    'b0 input float32 [N, 4] "x"\nb1 output float32 [N, 4] "y"\ninputs b0\noutputs b1\n'
    "nest relu  axes i<N, j<4\n  b1[i, j] = max(b0[i, j], 0.0)\n",
    'b0 input float32 [N, 4] "x"\nb1 constant float32 [100] "w"\nb2 output float32 [N, 4] "y"\ninputs b0\noutputs b2\n'
    '# "conv" Conv-22\nkernel conv 3x3x3  b2 = b0, b1\n  epilogue [i, j] acc0\n',
]
COMMAND_LINES = [
    "model.onnx\n-o\nmodel.so", "model.onnx\n--dump-shapes",
    "model.onnx\n-o\nm.so\n--dim\nN=1..8\n--dim\nD=4\n-O0\n-j\n2",
    "model.onnx\n-o\nm.so\n--max-memory\n8GB\n--max-seconds\n60\n--max-nodes\n100", "--help", "model.onnx\n--dim\n=1",
    "m\n--dim\nN=8..1", "m\n--outputs\na,b\n--emit\nir\n-o\nx\n--target\nhip\n--fp32\nbf16x3\n--march\nx86-64-v3",
]  # fmt: skip


def arrays() -> dict[str, bytes]:
    seeds = {}
    for name, array in {
        "f4": np.arange(6, dtype="<f4").reshape(2, 3),
        "big_endian": np.arange(4, dtype=">i2"),
        "fortran": np.asfortranarray(np.arange(6, dtype="<f8").reshape(3, 2)),
        "scalar": np.array(7, np.int64),
        "empty": np.zeros((0, 3), np.float16),
        "bool": np.array([True, False]),
        "void": np.zeros(3, "V2"),
    }.items():
        file = io.BytesIO()
        np.save(file, array)
        seeds[name] = file.getvalue()
    seeds["cut"] = seeds["f4"][:140]
    return seeds


def tensors() -> dict[str, bytes]:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    listed = helper.make_tensor("x", TensorProto.INT32, [2, 2], [1, -2, 3, 4])
    outside = TensorProto(name="x", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="fuzz.pb")
    outside.external_data.add(key="offset", value="4")
    outside.external_data.add(key="length", value="8")
    half = helper.make_tensor("x", TensorProto.INT4, [3], [1, -2, 3])
    return {
        "raw": numpy_helper.from_array(array, "x").SerializeToString(), "listed": listed.SerializeToString(),
        "outside": outside.SerializeToString(), "int4": half.SerializeToString(),
        "text": helper.make_tensor("x", TensorProto.STRING, [1], [b"a"]).SerializeToString(),
    }  # fmt: skip


def scans() -> dict[str, bytes]:
    """NIfTI-1 files of 2 x 3 x 1 voxels of 16 bits: in either byte order, with a scale, compressed."""
    seeds = {}
    for name, order in (("little", "<"), ("big", ">")):
        header = bytearray(352)
        struct.pack_into(order + "i", header, 0, 348)
        struct.pack_into(order + "8h", header, 40, 3, 2, 3, 1, 1, 1, 1, 1)
        struct.pack_into(order + "2h", header, 70, 4, 16)  # int16
        struct.pack_into(order + "8f", header, 76, 1, 1, 1, 1, 1, 1, 1, 1)
        struct.pack_into(order + "3f", header, 108, 352, 2, 1)  # the first voxel's byte, slope, intercept
        header[344:348] = b"n+1\0"
        seeds[name] = bytes(header) + struct.pack(order + "6h", *range(6))
    seeds["compressed"] = gzip.compress(seeds["little"], mtime=0)
    seeds["cut"] = seeds["little"][:350]
    return seeds


def models() -> dict[str, bytes]:
    seeds = {}
    for seed in range(12):
        seeds[f"random{seed}"] = build_model([random_graph(seed, 18)], 18).SerializeToString()
    seeds["control"] = control().SerializeToString()
    seeds["cut"] = seeds["control"][:100]
    return seeds


def control() -> onnx.ModelProto:
    """A Loop and a function of the model's own."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "s"], ["t"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value("s", TensorProto.FLOAT, None)],
        [value("d", TensorProto.BOOL, []), value("t", TensorProto.FLOAT, None)],
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    function = helper.make_function(
        "own", "twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [imports[0]]
    )
    loop = helper.make_node("Loop", ["three", "", "x"], ["l"], body=body)
    graph = helper.make_graph(
        [loop, helper.make_node("twice", ["l"], ["y"], domain="own")],
        "g",
        [value("x", TensorProto.FLOAT, ["2*N", 4])],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(3, np.int64), "three")],
    )
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=[function])


def code_objects() -> dict[str, bytes]:
    """A kernel that does nothing, by the assembler, and parts of it."""
    text = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}]
.end_amdgpu_metadata
"""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "k.s", Path(folder) / "k.co"
        source.write_text(text)
        target = ["--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-fuse-ld=lld-19"]
        subprocess.run(["clang-19", *target, source, "-o", output], check=True)
        whole = output.read_bytes()
    return {"whole": whole, "cut": whole[: len(whole) // 2], "head": whole[:64]}


def calls() -> dict[str, bytes]:
    """Read from both ends: nothing at all is a run without rows, as the model wants it; 255 changes what it can."""
    return {"nothing": b"", "all_wrong": b"\xff" * 200, "rows": bytes(range(240)) * 2}


def write(name: str, seeds: dict[str, bytes]) -> None:
    folder = CORPUS / name
    folder.mkdir(parents=True, exist_ok=True)
    for seed, content in seeds.items():
        (folder / seed).write_bytes(content)


def numbered(texts: list[str]) -> dict[str, bytes]:
    return {f"seed{i}": text.encode() for i, text in enumerate(texts)}


def main() -> None:
    write("expression", numbered(EXPRESSIONS))
    write("program", numbered([*PROGRAMS, "b0 input float32 [", "nest relu"]))
    write("command_line", numbered(COMMAND_LINES))
    write("npy", arrays())
    write("tensor", tensors())
    write("nifti", scans())
    write("model", {name: content for name, content in models().items() if len(content) < 8192})
    write("code_object", code_objects())
    write("run", calls())


if __name__ == "__main__":
    main()
