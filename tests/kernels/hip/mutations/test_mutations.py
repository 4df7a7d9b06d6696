"""Kernels of ours, broken on purpose: each fault must be found, by the simulator's report or by the result.

A mutation replaces a text of the device source, of a kernel header or of the assembly. Text that is no longer there
fails the test: then the mutation must be written anew for what the kernels have become.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.gfx942sim.hip_host import LIBRARY, REPOSITORY

KERNELS = Path("kernels/hip")
COMPILE = [
    "clang-19",
    "-x",
    "hip",
    "--cuda-device-only",
    "--no-gpu-bundle-output",
    "--offload-arch=gfx942",
    "-nogpuinc",
    "-nogpulib",
    "-std=c++20",
    "-O3",
    "-ffp-contract=on",
    "-fno-exceptions",
    "-fno-rtti",
    "-Wno-everything",
]
ASSEMBLE = ["clang-19", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-x", "assembler"]

WRONG_RESULT = "elements differ"


@dataclass
class Change:
    before: str
    after: str
    file: str = ""  # a kernel header; the device source if it is empty


@dataclass
class Mutation:
    name: str
    changes: list[Change]
    report: str  # what standard error, or the comparison, must say
    assembly: bool = False  # the text is in the assembly of the convolution's kernel


GEMM, LOADS = "gemm/implicit_gemm.h", "gemm/gemm_loads.h"
BLOCK, TILE = "gemm/gemm_block.h", "gemm/gemm_tile.h"

MUTATIONS = [
    Mutation(
        "barrier before the stores dropped",
        [Change("    barrier();  // the product of the step before is done with LDS\n", "", GEMM)],
        "without a barrier",
    ),
    Mutation(
        "barrier behind the stores dropped",
        [Change("    store_to_lds(set);\n    barrier();\n", "    store_to_lds(set);\n", GEMM)],
        "which was never written",
    ),
    Mutation(
        "barrier that a wave does not reach",
        [
            Change(
                "    store_to_lds(set);\n",
                "    store_to_lds(set);\n    if (thread_index() / 64 == 3) __builtin_amdgcn_endpgm();\n",
                GEMM,
            )
        ],
        "waits at a barrier that wave 3 never reached",
    ),
    Mutation(
        "tail of the loops shifted by one",
        [Change("point < arguments.points;", "point < arguments.points + 1;")],
        "0 bytes past the end of a device allocation",
    ),
    Mutation(
        "barrier of a transposed tile dropped",
        [Change("    barrier();\n    #pragma unroll", "    #pragma unroll")],
        "never written",
    ),
    Mutation(
        "tail of a transposed tile shifted by one",
        [Change("(along_stored >= stored_end)", "(along_stored > stored_end)")],
        "with the same instruction",
    ),
    Mutation(
        "rows of a transposed tile exchanged on one side only",
        [Change("] = values[round]", " ^ 1] = values[round]")],
        "which was never written",
    ),
    Mutation(
        "tail of the convolution shifted by one",
        [Change("< arguments.launch.rows}", "< arguments.launch.rows + 1}", BLOCK)],
        "without a release and an acquire",
    ),
    Mutation(
        "chunks of a row exchanged on one side only",
        [
            Change(
                "shared.rows + lds_place(first_row(), chunk)",
                "shared.rows + lds_place(first_row(), chunk ^ 1)",
                TILE,
            )
        ],
        WRONG_RESULT,
    ),
    Mutation(
        "weights that stay a tap behind",
        [
            Change(
                "weight_way(at.lanes, at.lane) * weight_step",
                "(at.lane == 1 ? 0 : weight_way(at.lanes, at.lane)) * weight_step",
                GEMM,
            )
        ],
        WRONG_RESULT,
    ),
    Mutation(
        "rows that miss a tap's way",
        [Change("move_rows(of_lane(at.lanes.way, at.lane))", "move_rows(of_lane(at.lanes.way, at.lane & ~2))", GEMM)],
        "past the end of a device allocation",
    ),
    Mutation(
        "fetches behind the last step that do not stop",
        [Change("at.left <= 0 ? end_lane", "at.left <= -2 ? end_lane", GEMM)],
        "bytes at",
    ),
    Mutation(
        "registers of two steps exchanged",
        [Change("reduce_step(set, next);", "reduce_step(1 - set, next);", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "an odd last step left out",
        [Change("count % 2 == 1) reduce_step(0, next)", "count < 0) reduce_step(0, next)", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "parts of the reduction that overlap",
        [Change("share + (part < more)}", "share + 1}", GEMM)],
        "past the end of a device allocation",
    ),
    Mutation(
        "part of the reduction left out of the sum",
        [Change("int64_t part = 1;", "int64_t part = 2;", GEMM)],
        WRONG_RESULT,
    ),
    Mutation(
        "LDS one row short",
        [
            Change(
                "columns[lds_columns(tile) * lds_row_bytes]", "columns[(lds_columns(tile) - 1) * lds_row_bytes]", TILE
            ),
            Change("  static_assert(sizeof shared == gemm_lds_bytes(plan.tile));\n", "", GEMM),
        ],
        "bytes of LDS at",
    ),
    Mutation(
        "row of LDS never written",
        [
            Change(
                "    *reinterpret_cast<Chunk*>(operand + lds_place(row, chunk)) = value;\n",
                "    if (thread_index() != 255)\n"
                "    *reinterpret_cast<Chunk*>(operand + lds_place(row, chunk)) = value;\n",
                TILE,
            )
        ],
        "which was never written",
    ),
    Mutation(
        "load of the padding unguarded",
        [Change("is_inside(i, tap) & is_real ? inside : outside", "inside", LOADS)],
        "bytes at",
    ),
    Mutation(
        "accumulator not cleared",
        [Change("sums[i][j] = Float16(0.0f);", 'asm volatile("" : "=a"(sums[i][j]));', TILE)],
        "which was never written",
    ),
    Mutation("bias index off by one", [Change("p0[c];", "p0[c + 1];")], WRONG_RESULT),
    Mutation(
        "kernel arguments in another order",
        [
            Change(
                "  GemmArguments<float, float, float> call;\n  Epilogue1 epilogue;\n",
                "  Epilogue1 epilogue;\n  GemmArguments<float, float, float> call;\n",
            )
        ],
        "bytes at",
    ),
    Mutation(
        "kernel argument that the host does not pass",
        [Change("  Epilogue1 epilogue;\n};", "  Epilogue1 epilogue;\n  int64_t more;\n};")],
        "bytes of arguments, but is given",
    ),
    Mutation(
        "wait for memory removed",
        [Change("s_waitcnt vmcnt(0)\n\tds_write", "ds_write")],
        "before an s_waitcnt vmcnt",
        assembly=True,
    ),
    Mutation(
        "wait for LDS removed",
        [Change("s_waitcnt lgkmcnt(0)\n\tv_mfma", "v_mfma")],
        "before an s_waitcnt lgkmcnt",
        assembly=True,
    ),
    Mutation(
        "wait state removed",
        [Change("s_nop 1\n\tv_addc_co_u32", "v_addc_co_u32")],
        "0 wait states, but 2 are needed",
        assembly=True,
    ),
]


@dataclass
class Model:
    """A compiled model in its folder, its device source, its inputs, and the outputs that are compared."""

    folder: Path
    source: str
    inputs: list[str]
    outputs: list[str]
    options: list[str] = field(default_factory=list)  # that its device source is compiled with besides

    def compile(self, source: str, kernels: Path | None, *options: str) -> Path:
        """The device source, and changed kernel headers in front of the others."""
        (self.folder / "changed.hip").write_text(source)
        output = self.folder / ("changed.s" if "-S" in options else "changed.co")
        includes = [f"-I{folder}" for folder in (kernels, REPOSITORY / "src") if folder]
        command = [*COMPILE, *self.options, *options, *includes, "changed.hip", "-o", str(output)]
        subprocess.run(command, cwd=self.folder, check=True)
        return output

    def assemble(self, text: str) -> Path:
        (self.folder / "changed.s").write_text(text)
        output = self.folder / "changed.co"
        subprocess.run([*ASSEMBLE, "changed.s", "-o", str(output)], cwd=self.folder, check=True)
        return output

    def run(self, code_object: Path) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "ONNXC_POISON": "1",
            "ONNXC_HIP_LIBRARY": str(LIBRARY),
            "GFX942SIM_CODE_OBJECT": str(code_object),
        }
        command = [str(onnxc_commands.BINARIES / "onnxc-run"), "model.so", "--device", "hip"]
        for name in self.inputs:
            command += ["--input", f"{name}={name}.npy"]
        for name in self.outputs:
            command += ["--expect", f"{name}=expected/{name}.npy"]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


def make_model(
    folder: Path,
    graph: onnx.GraphProto,
    inputs: dict[str, Array],
    outputs: list[str],
    expected: dict[str, Array] | None = None,
    opset: int = 20,
) -> Model:
    """Its outputs are expected to be those given, or else what the CPU gives."""
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), str(folder / "model.onnx"))
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "cpu,hip")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "source", "--target", "cpu,hip", "--emit", "source")
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
    if expected is None:
        files = {name: folder / f"{name}.npy" for name in inputs}
        onnxc_commands.run_files(folder / "model.so", files, outputs, folder / "expected")
    else:
        (folder / "expected").mkdir()
        for name, array in expected.items():
            np.save(folder / "expected" / f"{name}.npy", array)
    return Model(folder, (folder / "source.device.hip").read_text(), list(inputs), outputs)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A convolution whose tiles have tails on all sides, and a transpose; what the convolution gives is compared."""
    folder = tmp_path_factory.mktemp("mutations")
    random = np.random.default_rng(0)
    weights = random.integers(-3, 4, (72, 20, 3, 3, 3)).astype(np.float32)
    bias = random.integers(-9, 10, 72).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 6),
            helper.make_node("Transpose", ["x"], ["z"], perm=[0, 2, 3, 4, 1]),
        ],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 20, 3, 7, 9])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 72, 3, 7, 9]),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3, 7, 9, 20]),
        ],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    x = random.integers(-4, 5, (1, 20, 3, 7, 9)).astype(np.float32)
    return make_model(folder, graph, {"x": x}, ["y"])


def replaced(text: str, change: Change) -> str:
    assert change.before in text, f"there is no '{change.before}' any more: write the mutation anew"
    return text.replace(change.before, change.after)


def changed_kernels(model: Model, mutation: Mutation) -> Path:
    """A folder with the changed headers, to be looked through before the others."""
    folder = model.folder / "kernels"
    shutil.rmtree(folder, ignore_errors=True)
    for change in mutation.changes:
        header = folder / KERNELS / change.file
        header.parent.mkdir(parents=True, exist_ok=True)
        before = header if header.exists() else REPOSITORY / "src" / KERNELS / change.file
        header.write_text(replaced(before.read_text(), change))
    return folder


def changed_assembly(text: str, change: Change) -> str:
    """The first such text of the convolution's kernel replaced."""
    at = text.find(change.before, text.index("\nkernel1:"))
    assert at >= 0, f"there is no '{change.before}' any more: write the mutation anew"
    return text[:at] + change.after + text[at + len(change.before) :]


def check_unchanged(model: Model) -> None:
    for code_object in (
        model.compile(model.source, None),
        model.assemble(model.compile(model.source, None, "-S").read_text()),
    ):
        done = model.run(code_object)
        assert done.returncode == 0, done.stderr
        for name in model.outputs:
            assert f"output '{name}': equal" in done.stdout


def test_unchanged_kernels_pass(model: Model) -> None:
    check_unchanged(model)


@pytest.mark.parametrize("mutation", [pytest.param(mutation, id=mutation.name) for mutation in MUTATIONS])
def test_mutation_is_found(model: Model, mutation: Mutation) -> None:
    check_found(model, mutation)


def check_found(model: Model, mutation: Mutation) -> None:
    if mutation.assembly:
        text = model.compile(model.source, None, "-S").read_text()
        code_object = model.assemble(changed_assembly(text, mutation.changes[0]))
    elif mutation.changes[0].file:
        code_object = model.compile(model.source, changed_kernels(model, mutation))
    else:
        code_object = model.compile(replaced(model.source, mutation.changes[0]), None)
    done = model.run(code_object)
    assert done.returncode == (4 if mutation.report == WRONG_RESULT else 1), done.stdout + done.stderr
    assert mutation.report in done.stdout + done.stderr
