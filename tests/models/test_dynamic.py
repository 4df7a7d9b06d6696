"""One model.so for every size: runs of changing dims against onnxruntime and against compiles for one size.

A session keeps its plan and its memory from run to run, so the sizes come in an order in which each dim grows, shrinks
and is 1, an edge of a tile or odd.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from models.export import export
from models.tensor_files import Array
from models.zoo import FLOAT32, ROWS
from onnxc.errors import RunError
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.compare import mismatch
from tests.models.float64_bound import allowed_error
from tests.onnxruntime_sessions import open_session
from tools.benchmark.float64 import run_float64

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Network:
    """A dynamic export of one input, its dims, and runs.

    dims: of the input, by name if they are free.
    sizes: of the free dims in their order, as they follow one another.
    factor: the exporter's factor of D, H and W in the input's shape.
    forbidden: sizes that the network cannot take, and the operator whose rule says so.
    few_voxels: the network divides by the deviation of as few as two voxels if a volume is small, so that its
        error is held to that of onnxruntime, each against float64.
    """

    name: str
    dims: tuple[int | str, ...]
    sizes: tuple[Sizes, ...]
    factor: int = 1
    forbidden: tuple[tuple[Sizes, str], ...] = ()
    few_voxels: bool = False

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(dim for dim in self.dims if isinstance(dim, str))

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims)


NETWORKS = (
    Network(
        "unet3d_narrow",
        ("N", 1, "D", "H", "W"),
        (
            (1, 16, 32, 16), (3, 48, 16, 32), (1, 16, 16, 16), (2, 80, 16, 48), (3, 16, 64, 16), (1, 32, 48, 80),
            (4, 16, 16, 32), (1, 96, 32, 16), (2, 0, 16, 16), (1, 16, 32, 16),
        ),
        factor=16,
        few_voxels=True,
        forbidden=(((1, 24, 32, 16), "Concat"), ((1, 16, 8, 16), "Concat"), ((1, 16, 16, 33), "Concat")),
    ),
    Network(
        "r3d_18_narrow",
        ("N", 3, "T", "H", "W"),
        (
            (1, 8, 32, 48), (3, 16, 33, 47), (1, 2, 17, 16), (2, 9, 64, 31), (8, 3, 2, 3), (1, 17, 112, 65),
            (3, 31, 15, 80), (1, 8, 32, 48), (2, 5, 49, 2),
        ),
    ),
    Network(
        "x3d_narrow",
        ("N", 3, "T", "H", "W"),
        (
            (1, 8, 32, 48), (3, 13, 33, 47), (1, 2, 17, 16), (2, 9, 64, 31), (8, 3, 2, 3), (1, 17, 112, 65),
            (3, 31, 15, 80), (1, 8, 32, 48), (2, 5, 49, 2),
        ),
    ),
)  # fmt: skip
PARAMETERS = [pytest.param(network, id=network.name) for network in NETWORKS]
# The same with all their channels.
WHOLE = {"unet3d_narrow": "unet3d_dynamic", "r3d_18_narrow": "r3d_18_dynamic", "x3d_narrow": "x3d_s_dynamic"}
WHOLE_PARAMETERS = [
    pytest.param(replace(network, name=WHOLE[network.name]), id=WHOLE[network.name], marks=pytest.mark.slow)
    for network in NETWORKS
]


def with_free_dims(network: Network, path: Path) -> Path:
    """The export with its dims free: the rules for legal sizes are the compiler's to find."""
    model = onnx.load(export(ROWS[network.name]).model)
    for declared, dim in zip(model.graph.input[0].type.tensor_type.shape.dim, network.dims, strict=True):
        declared.Clear()
        if isinstance(dim, str):
            declared.dim_param = dim
        else:
            declared.dim_value = dim
    del model.graph.value_info[:]
    onnx.save(model, path)
    return path


def with_sparse_integer_weights(path: Path) -> Path:
    """Every filter has two taps of 1 or -1: sums stay below 2**24, so that each order of summation gives the same."""
    model = onnx.load(path)
    generator = np.random.default_rng(0)
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        weights = np.zeros(tuple(tensor.dims), np.float32)
        for filter_ in weights.reshape(weights.shape[0], -1):
            taps = generator.integers(0, filter_.size, 2)
            filter_[taps] = generator.choice([-1, 1], 2)
        tensor.CopyFrom(numpy_helper.from_array(weights, tensor.name))
    # The features before the mean, which is not an integer.
    (mean,) = (node for node in model.graph.node if node.op_type == "ReduceMean")
    model.graph.output.append(onnx.ValueInfoProto(name=mean.input[0]))
    onnx.save(model, path)
    return path


def by_name(network: Network, sizes: Sizes) -> dict[str, int]:
    return dict(zip(network.symbols, sizes, strict=True))


def random_input(network: Network, sizes: Mapping[str, int]) -> Array:
    return np.random.default_rng(list(sizes.values())).standard_normal(network.shape(sizes)).astype(np.float32)


def integer_input(network: Network, sizes: Mapping[str, int]) -> Array:
    return np.random.default_rng(list(sizes.values())).integers(-3, 4, network.shape(sizes)).astype(np.float32)


def bound_to(sizes: Mapping[str, int]) -> Iterator[str]:
    for name, size in sizes.items():
        yield from ("--dim", f"{name}={size}")


def run(session: InferenceSession, volume: Array) -> list[Array]:
    return session.run(None, {session.get_inputs()[0].name: volume})


def by_onnxruntime(model: Path, volume: Array) -> list[Array]:
    """The result of onnxruntime; it refuses a volume without voxels, whose result has none either."""
    session = open_session(model)
    if volume.size == 0:
        (scores,) = session.get_outputs()
        return [np.zeros((volume.shape[0], scores.shape[1], *volume.shape[2:]), np.float32)]
    return [np.asarray(each) for each in session.run(None, {session.get_inputs()[0].name: volume})]


def reference(network: Network, model: Path, volume: Array) -> tuple[list[Array], float]:
    """The expected result of a run, and how far from it, relative to its largest magnitude, a result may be."""
    theirs = by_onnxruntime(model, volume)
    if not network.few_voxels or volume.size == 0:
        return theirs, FLOAT32
    content = onnx.load(model)
    exact = run_float64(content, {content.graph.input[0].name: volume})
    return [each.astype(np.float32) for each in exact], allowed_error(theirs, exact, FLOAT32)


def expect(results: list[Array], references: list[Array], tolerance: float, what: str) -> None:
    for index, (result, expected) in enumerate(zip(results, references, strict=True)):
        difference = mismatch(result, expected, tolerance)
        assert difference is None, f"output {index}, {what}: {difference}"


def expect_right(session: InferenceSession, network: Network, model: Path, sizes: Mapping[str, int], what: str) -> None:
    volume = random_input(network, sizes)
    expect(run(session, volume), *reference(network, model, volume), what)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("network", PARAMETERS + WHOLE_PARAMETERS)
def test_every_size_by_one_model(network: Network, tmp_path: Path) -> None:
    model = with_free_dims(network, tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(model, tmp_path / "model.so")) as session:
        for sizes in network.sizes:
            expect_right(session, network, model, by_name(network, sizes), f"sizes {sizes}")


def integer_model(folder: Path) -> tuple[Network, Path]:
    """A network whose features, the last output, are integers."""
    (network,) = (each for each in NETWORKS if each.name == "r3d_18_narrow")
    return network, with_sparse_integer_weights(with_free_dims(network, folder / "model.onnx"))


@pytest.mark.usefixtures("commands")
def test_integers_to_the_bit(tmp_path: Path) -> None:
    network, model = integer_model(tmp_path)
    with InferenceSession(onnxc_commands.compile_model(model, tmp_path / "model.so")) as session:
        for sizes in network.sizes:
            volume = integer_input(network, by_name(network, sizes))
            (_, features), (_, expected) = run(session, volume), by_onnxruntime(model, volume)
            assert 0 < np.max(np.abs(expected)) < 2**24
            expect([features], [expected], 0, f"sizes {sizes}")


@pytest.mark.slow
@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("network", PARAMETERS)
def test_equals_compiles_for_one_size(network: Network, tmp_path: Path) -> None:
    """Within the bound of both: a compile that knows the size may choose another kernel for a small map."""
    model = with_free_dims(network, tmp_path / "model.onnx")
    for sizes, volume, dynamic, static in with_compiles_for_one_size(model, network, random_input):
        expected, tolerance = reference(network, model, volume)
        expect(static, expected, tolerance, f"sizes {sizes}, known to the compiler")
        # If rounding decides, both are as far from the exact result as they may be.
        expect(dynamic, static, 2 * tolerance if network.few_voxels else tolerance, f"sizes {sizes}")


@pytest.mark.slow
@pytest.mark.usefixtures("commands")
def test_integers_equal_compiles_for_one_size(tmp_path: Path) -> None:
    """To the bit, whatever the kernels."""
    network, model = integer_model(tmp_path)
    for sizes, _, dynamic, static in with_compiles_for_one_size(model, network, integer_input):
        expect(dynamic[-1:], static[-1:], 0, f"sizes {sizes}")


def with_compiles_for_one_size(
    model: Path, network: Network, make_input: Callable[[Network, Mapping[str, int]], Array]
) -> Iterator[tuple[Sizes, Array, list[Array], list[Array]]]:
    """For each size: an input, and the results of the one model for all sizes and of a compile for this one."""
    folder = model.parent
    with InferenceSession(onnxc_commands.compile_model(model, folder / "model.so")) as session:
        for sizes in network.sizes[:8]:
            bound = by_name(network, sizes)
            shared_object = onnxc_commands.compile_model(model, folder / "static.so", *bound_to(bound))
            volume = make_input(network, bound)
            with InferenceSession(shared_object) as static:
                yield sizes, volume, run(session, volume), run(static, volume)


@pytest.mark.slow
@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("network", PARAMETERS)
def test_every_subset_of_free_dims(network: Network, tmp_path: Path) -> None:
    """Some dims known and some not: what is wrong in neither extreme can be wrong here (iree-org/iree#21028)."""
    model = with_free_dims(network, tmp_path / "model.onnx")
    for count in range(len(network.symbols) + 1):
        for free in itertools.combinations(network.symbols, count):
            known = by_name(network, network.sizes[0])
            fixed = {name: size for name, size in known.items() if name not in free}
            shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", *bound_to(fixed))
            with InferenceSession(shared_object) as session:
                for sizes in network.sizes[:4]:
                    bound = {**by_name(network, sizes), **fixed}
                    expect_right(session, network, model, bound, f"{free} free, sizes {sizes}")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("network", [network for network in NETWORKS if network.forbidden])
def test_forbidden_sizes(network: Network, tmp_path: Path) -> None:
    """The rule is found, shown, and named when a size breaks it; the session goes on."""
    model = with_free_dims(network, tmp_path / "model.onnx")
    dump = onnxc_commands.dump_shapes(model, tmp_path / "shapes.json")
    multiples = f"{network.factor}*n"
    assert {rule["symbol"]: rule["legal"] for rule in dump["sizes"]} == {"D": multiples, "H": multiples, "W": multiples}
    assert dump["guards"] == []
    assert dump["inputs"][0]["dims"] == list(network.dims)
    assert dump["outputs"][0]["dims"] == ["N", 2, "D", "H", "W"]
    with InferenceSession(onnxc_commands.compile_model(model, tmp_path / "model.so")) as session:
        for name in ("D", "H", "W"):
            assert f"{name} = {network.factor}*n" in session.information["rules"]
        for sizes, operator in network.forbidden:
            with pytest.raises(RunError, match=rf"= {network.factor}\*n .*\({operator}[,)]"):
                run(session, random_input(network, by_name(network, sizes)))
        expect_right(session, network, model, by_name(network, network.sizes[0]), "after the refusals")
