"""Two ways to write, run or compile a model give one result.

tests/random/pairs.py says which pairs are equal to the bit for any values and which only for exact ones, and why. A
batch run in two parts, by any number of threads, is always equal to the bit: an element's sums do not depend on its
place in the batch, nor on who computes it. Code for another CPU, `-O0`, and a compile that leaves out a pass may sum in
another order, so these are held to the bit if the values are exact: in networks of small integers.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from onnxc import InferenceSession
from onnxc import compile as compile_model
from tests import onnxc_commands
from tests.random import judge
from tests.random.batches import FIRST, WHOLE, random_batched
from tests.random.drawing import RUNS
from tests.random.pairs import PAIRS, Pair, random_pair
from tests.random.random_graphs import RandomGraph, build_model, opset_of, random_graph
from tests.random.test_random_graphs import FAILED, OPTIONS, groups

pytestmark = pytest.mark.usefixtures("commands")

PAIRS_TOGETHER, PAIRS_ON_GPU, BATCHES_TOGETHER, GRAPHS_TOGETHER = 30, 10, 15, 8
# The tolerance of a pair whose sums stand in another order, if they round.
NEAR = 1e-5


def compile_graphs(
    graphs: Sequence[RandomGraph], opset: int, folder: Path, options: Sequence[str], device: str = "cpu"
) -> InferenceSession:
    onnx.save(build_model(graphs, opset), folder / "model.onnx")
    return compile_model(folder / "model.onnx", options=options, device=device, threads=2)


def run(session: InferenceSession, feeds: dict[str, Array]) -> dict[str, Array]:
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, feeds), strict=True))


def kept(graph: RandomGraph, opset: int) -> Path:
    FAILED.mkdir(parents=True, exist_ok=True)
    onnx.save(build_model([graph], opset), FAILED / f"{graph.prefix}pair.onnx")
    return FAILED / f"{graph.prefix}pair.onnx"


def unequal(one: Array, other: Array) -> str | None:
    """The difference of two results that must be equal to the bit; zeros may have either sign."""
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    if not np.isfinite(one).all():
        return "not finite"
    different = one != other
    if not different.any():
        return None
    return f"{int(different.sum())} of {one.size} elements differ, by up to {judge.largest_difference(one, other):.4g}"


def far(one: Array, other: Array) -> str | None:
    if one.shape != other.shape or one.size == 0:
        return unequal(one, other)
    error, scale = judge.largest_difference(one, other), float(np.abs(one).max())
    return None if error <= NEAR * scale else f"differ by {error:.4g} of {scale:.4g}"


def check_pairs(pairs: Sequence[Pair], opset: int, folder: Path, options: Sequence[str], device: str) -> None:
    wrong = {}
    with compile_graphs([pair.graph for pair in pairs], opset, folder, options, device) as session:
        for number in range(RUNS):
            results = run(session, {pair.graph.input: judge.as_given(pair.graph, number) for pair in pairs})
            for pair in pairs:
                forms = [results[output.name] for output in pair.graph.outputs]
                found = (unequal if pair.is_to_the_bit else far)(*forms)
                if found is not None:
                    wrong[pair.graph.prefix] = (
                        f"{kept(pair.graph, opset)} {' '.join(options)} on {device}: {pair.name}, "
                        f"{pair.equality.value}, run {number} of {pair.graph.dims}: {found}"
                    )
    assert not wrong, "\n".join(wrong.values())


@pytest.mark.parametrize("group", groups(0, 2, 40))
def test_pairs(group: int, tmp_path: Path) -> None:
    opset = opset_of(group)
    pairs = [random_pair(PAIRS_TOGETHER * group + i, opset) for i in range(PAIRS_TOGETHER)]
    check_pairs(pairs, opset, tmp_path, OPTIONS[group % len(OPTIONS)], "cpu")


@pytest.fixture
def simulated_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))


@pytest.mark.usefixtures("simulated_gpu")
@pytest.mark.parametrize("group", groups(0, 1, 20))
def test_pairs_on_the_gpu(group: int, tmp_path: Path) -> None:
    opset = opset_of(group)
    pairs = [random_pair(500_000 + PAIRS_ON_GPU * group + i, opset) for i in range(PAIRS_ON_GPU)]
    check_pairs(pairs, opset, tmp_path, (), "hip")


def test_pairs_are_of_every_kind_and_mostly_exact() -> None:
    pairs = [random_pair(seed, 17) for seed in range(PAIRS_TOGETHER)]
    assert {pair.name for pair in pairs} == {draw.__name__ for draw in PAIRS}
    assert sum(pair.is_to_the_bit for pair in pairs) >= 2 * len(pairs) / 3


@pytest.mark.parametrize("group", groups(0, 1, 20))
def test_a_batch_in_parts(group: int, tmp_path: Path) -> None:
    opset, options = opset_of(group), OPTIONS[group % len(OPTIONS)]
    graphs = [random_batched(100_000 + BATCHES_TOGETHER * group + i, opset) for i in range(BATCHES_TOGETHER)]
    inputs = {graph.input: judge.as_given(graph, WHOLE) for graph in graphs}
    cuts = {graph.input: graph.dims[0][FIRST] for graph in graphs}
    onnx.save(build_model(graphs, opset), tmp_path / "model.onnx")
    onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", *options)
    with (
        InferenceSession(tmp_path / "model.so", threads=1) as one,
        InferenceSession(tmp_path / "model.so", threads=5) as many,
    ):
        whole, again = run(one, inputs), run(many, inputs)
        first = run(many, {name: array[: cuts[name]] for name, array in inputs.items()})
        rest = run(one, {name: array[cuts[name] :] for name, array in inputs.items()})
    wrong = {}
    for graph in graphs:
        for output in graph.outputs:
            joined = np.concatenate([first[output.name], rest[output.name]])
            found = unequal(whole[output.name], again[output.name]) or unequal(whole[output.name], joined)
            if found is not None:
                made_by = next(node.op_type for node in graph.nodes if output.name in node.output)
                wrong[graph.prefix] = (
                    f"{kept(graph, opset)} {' '.join(options)}: {output.name} ({made_by}), {graph.dims}: {found}"
                )
    assert not wrong, "\n".join(wrong.values())


def optional_passes() -> list[str]:
    """As the command lists them."""
    command = [str(onnxc_commands.BINARIES / "onnxc"), "m.onnx", "-o", "m.so", "--skip-pass", "nope"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    listed = re.search(r"must be one of: (.*); found", done.stderr)
    assert listed is not None, done.stderr
    return listed[1].split()


ON_GPU_ALONE = ["split_running_folds", "split_scatters", "split_reductions"]


def whole_graphs(group: int, opset: int) -> list[RandomGraph]:
    """A network of integers."""
    seeds = range(200_000 + 1000 * group, 200_000 + 1000 * (group + 1))
    graphs = (random_graph(seed, opset) for seed in seeds)
    return [graph for graph, _ in zip((each for each in graphs if each.whole), range(GRAPHS_TOGETHER), strict=False)]


def results_of(
    graphs: Sequence[RandomGraph], opset: int, folder: Path, options: Sequence[str], device: str
) -> list[dict[str, Array]]:
    with compile_graphs(graphs, opset, folder, options, device) as session:
        return [run(session, {g.input: judge.as_given(g, number) for g in graphs}) for number in range(RUNS)]


def check_same(
    graphs: Sequence[RandomGraph], opset: int, folder: Path, variants: Sequence[Sequence[str]], device: str = "cpu"
) -> None:
    """Exact outputs are equal to the bit, those after Winograd's transforms near the same integer."""
    expected = results_of(graphs, opset, folder, (), device)
    wrong = []
    for options in variants:
        found = results_of(graphs, opset, folder, options, device)
        for number in range(RUNS):
            for graph in graphs:
                for output in graph.outputs:
                    one, other = (results[number][output.name].astype(np.float64) for results in (expected, found))
                    if not output.exact:
                        one, other = np.rint(one), np.rint(other)
                    difference = unequal(one, other)
                    if difference is not None:
                        wrong.append(
                            f"{kept(graph, opset)} {' '.join(options)}, run {number}: {output.name} {difference}"
                        )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("group", groups(0, 1, 20))
def test_every_level_and_cpu(group: int, tmp_path: Path) -> None:
    """No optimisation, AVX2's code, and all that this machine has: AVX-512's, if it has that."""
    opset = opset_of(group)
    check_same(whole_graphs(group, opset), opset, tmp_path, [("-O0",), ("--march", "x86-64-v3")])


# In make test one pass, in make test-all each, on several groups of graphs.
@pytest.mark.parametrize("group", groups(0, 1, 40))
def test_each_pass_left_out(group: int, tmp_path: Path) -> None:
    passes = [name for name in optional_passes() if name not in ON_GPU_ALONE]
    assert len(passes) >= 8
    opset = opset_of(group)
    skipped = passes[group % len(passes)]
    check_same(whole_graphs(50 + group // len(passes), opset), opset, tmp_path, [("--skip-pass", skipped)])


@pytest.mark.usefixtures("simulated_gpu")
@pytest.mark.parametrize("group", groups(0, 1, 6))
def test_each_pass_for_the_gpu_left_out(group: int, tmp_path: Path) -> None:
    opset = opset_of(group)
    skipped = ON_GPU_ALONE[group % len(ON_GPU_ALONE)]
    graphs = whole_graphs(100 + group // len(ON_GPU_ALONE), opset)
    check_same(graphs, opset, tmp_path, [("--skip-pass", skipped)], "hip")


def test_passes_that_are_needed_are_not_left_out() -> None:
    assert "fuse_nests" in optional_passes()
    assert not {"infer_shapes", "fold_constants", "eliminate_copies"} & set(optional_passes())


def test_a_pass_that_is_left_out_does_not_run(tmp_path: Path) -> None:
    onnx.save(build_model([random_graph(3, 17)], 17), tmp_path / "model.onnx")
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(tmp_path / "model.onnx"), "--dump-ir"]
    all_passes = onnxc_commands.execute(command).stdout
    without = onnxc_commands.execute([*command, "--skip-pass", "fuse_nests", "--skip-pass", "trim_kernels"]).stdout
    for name in ("fuse_nests", "trim_kernels"):
        assert f"# after {name}\n" in all_passes
        assert f"# after {name}\n" not in without
