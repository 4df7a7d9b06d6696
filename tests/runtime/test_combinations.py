"""The caller's choices: places of values, graphs, the stream of a run and a capture of it, a second instance that runs
in between, and poisoned memory. Each combination gives the results of a plain run, or is refused by name and leaves all
as it was."""

import ctypes
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from models.tensor_files import Array
from onnxc import abi
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.codegen.hip.gpu_model import model
from tests.ops.case import random
from tests.runtime.abi_caller import CPU, HIP, AbiError, Model, Value
from tools.simulated_gpu.hip import Hip

pytestmark = pytest.mark.usefixtures("commands")

SHARED_POOL, POISON = 1, 2
INVALID_ARGUMENT = 1
NON_BLOCKING = 1
ROUNDS = 2


@dataclass(frozen=True)
class Combination:
    device: int
    place: str  # "start" is aligned to 256 bytes, "apart" to an element
    on_gpu: bool
    flags: int
    stream: str  # "null", "own", "named", "captured"
    instances: int

    def __str__(self) -> str:
        return "-".join(
            (
                "hip" if self.device == HIP else "cpu",
                self.place,
                "gpu" if self.on_gpu else "host",
                {0: "plain", abi.HIP_GRAPH: "graph", POISON: "poison", SHARED_POOL: "pool"}[self.flags],
                self.stream,
                f"{self.instances}",
            )
        )

    def refusal(self) -> str | None:
        if self.stream != "captured":
            return None
        if not self.on_gpu:
            return "input 0 'x': the stream is being captured, and this is host memory"
        return "ONNXC_POISON gives each run memory of its own" if self.flags == POISON else None


COMBINATIONS = [
    Combination(*values)
    for values in (
        *itertools.product([CPU], ["start", "apart"], [False], [0, POISON, SHARED_POOL], ["null"], [1, 2]),
        *itertools.product(
            [HIP],
            ["start", "apart"],
            [False, True],
            [0, abi.HIP_GRAPH, POISON],
            ["null", "own", "named", "captured"],
            [1, 2],
        ),
    )
]


def inputs_of(run: int) -> Array:
    """Runs with several sizes in turn; the largest first, so that later ones need no more memory."""
    return random((5, 3, 5, 4)[run % 4], 32, seed=run)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that are read and stored 16 bytes at a time, and a product between."""
    folder = tmp_path_factory.mktemp("combinations")
    nodes = [
        helper.make_node("Softmax", ["x"], ["s"]),
        helper.make_node("MatMul", ["s", "w"], ["p"]),
        helper.make_node("LayerNormalization", ["p", "scale"], ["y"]),
        helper.make_node("Transpose", ["x"], ["z"], perm=[1, 0]),
    ]
    constants = {"w": random(32, 64, seed=1), "scale": random(64, seed=2)}
    onnx.save(model(nodes, {"x": (np.float32, ("N", 32))}, constants), folder / "model.onnx")
    return onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "cpu,hip")


@pytest.fixture(scope="module")
def expected(file: Path) -> dict[tuple[int, int], list[Array]]:
    """Keyed by target and run."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
        for device, name in ((CPU, "cpu"), (HIP, "hip")):
            with InferenceSession(file, device=name) as session:
                for run in range(2 * ROUNDS):
                    found[device, run] = [np.asarray(y) for y in session.run(None, {"x": inputs_of(run)})]
    return found


class Run:
    """The values of one run, and whether its results are right."""

    def __init__(self, model: Model, combination: Combination, run: int, expected: list[Array], hip: Hip) -> None:
        device = hip if combination.on_gpu else None
        self.model, self.expected = model, expected
        self.x = Value(inputs_of(run), combination.place, device)
        self.outputs = [Value(np.full_like(array, np.nan), combination.place, device) for array in expected]

    def start(self, instance: Any, **options: Any) -> None:
        self.model.run(instance, [self.x], self.outputs, **options)

    def is_right(self) -> bool:
        return all(
            value.content() == np.ascontiguousarray(array).tobytes()
            for value, array in zip(self.outputs, self.expected, strict=True)
        )

    def forget(self) -> None:
        for value in self.outputs:
            value.memory.write(np.full_like(value.array, np.nan).tobytes())

    def free(self) -> None:
        for value in (self.x, *self.outputs):
            value.memory.free()


def captured(hip: Hip, stream: ctypes.c_void_p, instances: list[Any], runs: list[Run], refusal: str | None) -> None:
    """Runs all in a capture, and what was captured twice; their instances have run with the same dims before."""
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    for instance, run in zip(itertools.cycle(instances), runs):
        run.start(instance, stream=stream)
    hip.hipStreamSynchronize(stream)
    for run in runs:
        run.forget()
    hip.hipStreamBeginCapture(stream, 1)
    for instance, run in zip(itertools.cycle(instances), runs):
        if refusal is None:
            run.start(instance, stream=stream)
            continue
        with pytest.raises(AbiError) as refused:
            run.start(instance, stream=stream)
        assert refused.value.status == INVALID_ARGUMENT
        assert refusal in str(refused.value)
    hip.hipStreamEndCapture(stream, ctypes.byref(graph))
    assert not any(run.is_right() for run in runs), "a capture runs nothing"
    hip.hipGraphInstantiate(ctypes.byref(executable), graph, None, None, ctypes.c_size_t(0))
    for _ in range(2):
        hip.hipGraphLaunch(executable, stream)
    hip.hipStreamSynchronize(stream)
    hip.hipGraphExecDestroy(executable)
    hip.hipGraphDestroy(graph)
    if refusal is not None:  # and the instance goes on outside of the capture
        for instance, run in zip(itertools.cycle(instances), runs):
            run.start(instance, stream=stream)
        hip.hipStreamSynchronize(stream)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_combination(
    combination: Combination,
    file: Path,
    expected: dict[tuple[int, int], list[Array]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
    monkeypatch.setenv("GFX942SIM_ALIGNMENT", "natural")
    hip, model = Hip(), Model(file)
    orders = ("late", "early") if combination.device == HIP else ("late",)
    for order in orders:
        monkeypatch.setenv("GFX942SIM_STREAMS", order)
        instances = [
            model.create(combination.device, combination.flags, threads=2) for _ in range(combination.instances)
        ]
        runs = [
            Run(model, combination, run, expected[combination.device, run], hip)
            for run in range(combination.instances * ROUNDS)
        ]
        stream = ctypes.c_void_p()
        if combination.stream in ("named", "captured"):
            hip.hipStreamCreateWithFlags(ctypes.byref(stream), NON_BLOCKING)
        if combination.stream == "captured":
            captured(hip, stream, instances, runs, combination.refusal())
        else:
            if combination.stream == "own":
                hip.hipDeviceSynchronize()
            options = {"flags": abi.OWN_STREAM} if combination.stream == "own" else {"stream": stream}
            for instance, run in zip(itertools.cycle(instances), runs):
                run.start(instance, **options)
            if combination.device == HIP:
                hip.hipDeviceSynchronize()
        assert [run.is_right() for run in runs] == [True] * len(runs)
        for instance in instances:
            model.destroy(instance)
        for run in runs:
            run.free()
        if stream:
            hip.hipStreamDestroy(stream)
