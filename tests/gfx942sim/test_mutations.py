"""Kernels of ours, broken on purpose: each fault must be found, by the simulator's report or by the result.

A mutation replaces a text of the device source, of a kernel header or of the assembly. Text that is no longer there
fails the test: then the mutation must be written anew for what the kernels have become.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import onnxc_commands
from tests.gfx942sim.hip_host import LIBRARY, REPOSITORY

KERNELS = Path("codegen/hip/kernels")
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
class Mutation:
    name: str
    before: str
    after: str
    report: str  # what standard error, or the comparison, must say
    file: str = ""  # a kernel header; the device source where it is empty
    assembly: bool = False  # the text is in the assembly of the convolution's kernel


MUTATIONS = [
    Mutation(
        "barrier before the stores dropped",
        "      barrier();  // the product of the step before is done with LDS\n",
        "",
        "without a barrier",
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "barrier behind the stores dropped",
        "      store_to_lds();\n      barrier();\n",
        "      store_to_lds();\n",
        "which was never written",
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "barrier that a wave does not reach",
        "      store_to_lds();\n      barrier();\n",
        "      store_to_lds();\n      if (thread_index() / 64 == 3) return;\n      barrier();\n",
        "waits at a barrier that wave 3 never reached",
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "tail of the loops shifted by one",
        "point < arguments.points;",
        "point < arguments.points + 1;",
        "0 bytes behind the end of a device allocation",
    ),
    Mutation(
        "tail of the convolution shifted by one",
        "voxel < output.product()}",
        "voxel < output.product() + 1}",
        "behind the end of a device allocation",
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "columns of a row exchanged on one side only",
        "* lds_row + lane / 32 * 4;\n    for (int half",
        "* lds_row + (1 - lane / 32) * 4;\n    for (int half",
        WRONG_RESULT,
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "filter read from its end",
        "packing.offset(group, tap, input_block",
        "packing.offset(group, static_cast<int>(shape.kernel.product()) - 1 - tap, input_block",
        WRONG_RESULT,
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "LDS one row short",
        "TileVoxel voxels[tile.voxels];",
        "TileVoxel voxels[tile.voxels - 1];",
        "bytes of LDS at",
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "row of LDS never written",
        "i < channel_loads; ++i)\n      *reinterpret_cast<float4*>(shared.weights",
        "i < channel_loads; ++i)\n      if (thread_index() != 255) *reinterpret_cast<float4*>(shared.weights",
        "which was never written",
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "load of the padding unguarded",
        "is_inside ? load4(row[i] + step) : float4(0.0f)",
        "load4(row[i] + step)",
        "reads 4 bytes at",
        "conv_implicit_gemm.h",
    ),
    Mutation(
        "accumulator not cleared",
        "sums[i][j] = float16(0.0f);",
        'asm volatile("" : "=a"(sums[i][j]));',
        "which was never written",
        "conv_implicit_gemm.h",
    ),
    Mutation("bias index off by one", "p0[c];", "p0[c + 1];", WRONG_RESULT),
    Mutation(
        "kernel arguments in another order",
        "  ConvArguments<float, float> call;\n  Epilogue1 epilogue;\n",
        "  Epilogue1 epilogue;\n  ConvArguments<float, float> call;\n",
        "reads 4 bytes at",
    ),
    Mutation(
        "kernel argument that the host does not pass",
        "  Epilogue1 epilogue;\n};",
        "  Epilogue1 epilogue;\n  int64_t more;\n};",
        "bytes of arguments, but is given",
    ),
    Mutation(
        "wait for memory removed",
        "s_waitcnt vmcnt(0)\n\tds_write",
        "ds_write",
        "before an s_waitcnt vmcnt",
        assembly=True,
    ),
    Mutation(
        "wait for LDS removed", "s_waitcnt lgkmcnt(0)\n\tv_mfma", "v_mfma", "before an s_waitcnt lgkmcnt", assembly=True
    ),
    Mutation(
        "wait state removed",
        "s_nop 0\n\tv_readfirstlane",
        "v_readfirstlane",
        "0 wait states where 1 are needed",
        assembly=True,
    ),
]


@dataclass
class Model:
    """A convolution whose tiles have tails on all sides, and what it gives."""

    folder: Path
    source: str

    def compile(self, source: str, kernels: Path | None, *options: str) -> Path:
        """The device source, and changed kernel headers in front of the others."""
        (self.folder / "changed.hip").write_text(source)
        output = self.folder / ("changed.s" if "-S" in options else "changed.co")
        includes = [f"-I{folder}" for folder in (kernels, REPOSITORY / "src") if folder]
        command = [*COMPILE, *options, *includes, "changed.hip", "-o", str(output)]
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
        command = [str(onnxc_commands.BINARIES / "onnxc-run"), "model.so", "--device", "hip", "--input", "x=x.npy"]
        return subprocess.run(
            [*command, "--expect", "y=cpu/y.npy"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("mutations")
    random = np.random.default_rng(0)
    weights = random.integers(-3, 4, (72, 20, 3, 3, 3)).astype(np.float32)
    bias = random.integers(-9, 10, 72).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 6)],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 20, 3, 7, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 72, 3, 7, 9])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(folder / "model.onnx"))
    np.save(folder / "x.npy", random.integers(-4, 5, (1, 20, 3, 7, 9)).astype(np.float32))
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "source", "--target", "hip", "--emit", "source")
    onnxc_commands.run_files(folder / "model.so", {"x": folder / "x.npy"}, ["y"], folder / "cpu")
    return Model(folder, (folder / "source.device.hip").read_text())


def replaced(text: str, mutation: Mutation) -> str:
    assert mutation.before in text, f"there is no '{mutation.before}' any more: write the mutation anew"
    return text.replace(mutation.before, mutation.after)


def changed_kernels(model: Model, mutation: Mutation) -> Path:
    folder = model.folder / "kernels"
    shutil.rmtree(folder, ignore_errors=True)
    header = folder / KERNELS / mutation.file
    header.parent.mkdir(parents=True)
    header.write_text(replaced((REPOSITORY / "src" / KERNELS / mutation.file).read_text(), mutation))
    return folder


def changed_assembly(text: str, mutation: Mutation) -> str:
    """The first such text of the convolution's kernel replaced."""
    at = text.find(mutation.before, text.index("\nkernel1:"))
    assert at >= 0, f"there is no '{mutation.before}' any more: write the mutation anew"
    return text[:at] + mutation.after + text[at + len(mutation.before) :]


def test_unchanged_kernels_pass(model: Model) -> None:
    for code_object in (
        model.compile(model.source, None),
        model.assemble(model.compile(model.source, None, "-S").read_text()),
    ):
        done = model.run(code_object)
        assert done.returncode == 0, done.stderr
        assert "output 'y': equal" in done.stdout


@pytest.mark.parametrize("mutation", [pytest.param(mutation, id=mutation.name) for mutation in MUTATIONS])
def test_mutation_is_found(model: Model, mutation: Mutation) -> None:
    if mutation.assembly:
        text = model.compile(model.source, None, "-S").read_text()
        code_object = model.assemble(changed_assembly(text, mutation))
    elif mutation.file:
        code_object = model.compile(model.source, changed_kernels(model, mutation))
    else:
        code_object = model.compile(replaced(model.source, mutation), None)
    done = model.run(code_object)
    assert done.returncode == (4 if mutation.report == WRONG_RESULT else 1), done.stdout + done.stderr
    assert mutation.report in done.stdout + done.stderr
