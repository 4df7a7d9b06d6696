"""One name and one cost for a step: what --dump-ir=choose_kernels, --report and --profile say, on both targets."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests import onnxc_commands

pytestmark = pytest.mark.usefixtures("commands")

# A part of each kind: a stem, Winograd, a normalisation, pools, products, attention, a normalisation of rows, a class.
CONVOLUTIONS = """
<ir_version: 10, opset_import: ["" : 20]>
volume (float[1, 1, 20, 24, 28] x) => (y) {
  [stem] a = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w)
  [norm] b = InstanceNormalization (a, ones, ones)
  [act] c = LeakyRelu (b)
  [conv] d = Conv <pads = [1, 1, 1, 1, 1, 1]> (c, v)
  [pool] e = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (d)
  [large] f = MaxPool <kernel_shape = [3, 3, 3], pads = [1, 1, 1, 1, 1, 1]> (e)
  [up] g = ConvTranspose <strides = [2, 2, 2], kernel_shape = [2, 2, 2]> (f, u)
  [join] h = Concat <axis = 1> (d, g)
  [mean] i = GlobalAveragePool (h)
  [head] j = Conv (h, t)
  [scaled] y = Mul (j, i)
}
"""
PRODUCTS = """
<ir_version: 10, opset_import: ["" : 20]>
tokens (float[2, 40, 64] x) => (y) {
  [query] q = MatMul (x, w)
  [key] k = MatMul (x, v)
  [turned] kt = Transpose <perm = [0, 2, 1]> (k)
  [scores] s = MatMul (q, kt)
  [weights] p = Softmax <axis = -1> (s)
  [mixed] m = MatMul (p, x)
  [sum] n = Add (m, x)
  [norm] l = LayerNormalization <axis = -1> (n, ones)
  [class] c = LogSoftmax <axis = -1> (l)
  [order] values, places = TopK <axis = -1> (c, three)
  [found] z = NonZero (places)
  [y] y = Cast <to = 1> (z)
}
"""
FUSED = ("attention ", ", normalized", " maximum of ")
# A launch after another costs so much beside its kernel (kernels/hip/wave/launch.h).
LAUNCH_MICROSECONDS = 3
Json = dict[str, Any]


def weights(shapes: dict[str, tuple[int, ...]]) -> list[onnx.TensorProto]:
    random = np.random.default_rng(5)
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    shapes = {
        "volume": {
            "w": (16, 1, 3, 3, 3), "ones": (16,), "v": (16, 16, 3, 3, 3), "u": (16, 16, 2, 2, 2), "t": (32, 32, 1, 1, 1)
        },
        "tokens": {"w": (64, 32), "v": (64, 32), "ones": (64,)},
    }  # fmt: skip
    paths = {}
    for name, text in {"volume": CONVOLUTIONS, "tokens": PRODUCTS}.items():
        model = onnx.parser.parse_model(text)
        model.graph.initializer.extend(weights(shapes[name]))
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([3]), "three"))
        paths[name] = tmp_path_factory.mktemp(name) / "model.onnx"
        onnx.save(model, paths[name])
    return paths


def offers_of(text: str) -> list[Json]:
    """The lines of --dump-ir=choose_kernels, as --report has them; a cost as it is printed."""
    offers = []
    for line in text.splitlines():
        if found := re.match(r"node '(\S+)' \((?:\w+, in its )?(\w+)", line):
            node, operator = found.groups()
        elif found := re.match(r"  (.+?) +(\S+) -> (\S+) +(\S+)  (.+)$", line):
            kernel, reads, gives, cost, choice = found.groups()
            offers.append(
                {
                    "node": node,
                    "op_type": operator,
                    "kernel": kernel,
                    "reads": reads,
                    "gives": gives,
                    "cost": None if cost == "-" else cost,
                    "choice": choice,
                }
            )
    return offers


def printed(cost: float | None) -> str | None:
    """As the dump prints it: three digits, by the rules that C++ and Python share."""
    return None if cost is None else f"{cost:.3g}"


def chosen_kernels(offers: list[Json]) -> dict[str, str | None]:
    """For each node the kernel that was taken; None if its definition is used."""
    taken = {offer["node"]: offer["kernel"] for offer in offers if offer["choice"] == "taken"}
    return {node: None if kernel == "loops" else kernel for node, kernel in taken.items()}


def launches_of(report: Json, step: int) -> list[float | None]:
    """The modelled microseconds of a step's kernels, in their order; None if the one before counts it as well."""
    return [kernel["modelled_us"] for kernel in report["kernels"] if step in kernel["steps"]]


def onnxc(model: Path, *options: str) -> str:
    return onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc"), str(model), *options]).stdout


def profile(model: Path, *options: str) -> Json:
    command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(model), "--random", "0", "--profile", "--json", *options]
    content: Json = json.loads(onnxc_commands.execute(command).stdout)
    return content


@pytest.mark.parametrize("target", ["cpu", "hip"])
@pytest.mark.parametrize("name", ["volume", "tokens"])
def test_a_step_has_one_name(models: dict[str, Path], name: str, target: str, tmp_path: Path) -> None:
    model, compiled = models[name], tmp_path / "model.so"
    options = ("--target", target, "--march", "x86-64-v3") if target == "hip" else ("--march", "native")
    offers = offers_of(onnxc(model, *options, "--dump-ir=choose_kernels"))
    chosen = chosen_kernels(offers)
    report = json.loads(onnxc(model, *options, "-o", str(compiled), "--report", "--json"))
    if target == "hip":
        report = report["gpu"]
    # Kernel, layouts, cost and verdict: a cost that is not known is null on both sides, and none is 0.
    assert [{**offer, "cost": printed(offer["cost"])} for offer in report["offers"]] == offers
    assert all(offer["cost"] != 0 for offer in report["offers"])
    assert all(offer["kernel"] != "loops" or offer["cost"] is not None for offer in report["offers"])
    steps = {step["step"]: step["description"] for step in report["steps"]}
    # The profile and the report call the same step the same.
    run = profile(compiled, *(("--device", "hip") if target == "hip" else ()))
    assert [step["step"] for step in run["steps"]] == [steps[i] for i in range(len(steps))]
    assert sum(kernel is not None for kernel in chosen.values()) >= 5
    for node in report["nodes"]:
        titles = [steps[i] for i in node["steps"]]
        # The kernel that was taken is among the node's steps, under the name that the choice has for it.
        kernel = chosen.get(node["name"])
        if kernel is not None:
            # On the GPU with its whole plan: the tile, the parts.
            has_name = (
                kernel in titles if target == "hip" else any(f"{title} ".startswith(f"{kernel} ") for title in titles)
            )
            assert has_name or any(word in f"{title} " for title in titles for word in FUSED), (node, kernel)
            assert node["became"] == "kernel"
        assert all(
            title in node["description"] for title in titles if not title.startswith(("copy", "loops copy", "sizes"))
        )


@pytest.mark.parametrize("name", ["volume", "tokens"])
def test_the_cost_of_an_offer_is_that_of_its_launches(models: dict[str, Path], name: str) -> None:
    """On the GPU both are microseconds; a kernel that a fusion has replaced has other launches."""
    report = json.loads(onnxc(models[name], "--target", "hip", "--report", "--json"))["gpu"]
    taken = {offer["node"]: offer for offer in report["offers"] if offer["choice"] == "taken"}
    compared = 0
    for step in report["steps"]:
        offers = [taken[node] for node in step["nodes"] if node in taken and taken[node]["kernel"] != "loops"]
        if [offer["kernel"] for offer in offers] != [step["description"]]:
            continue
        known = [microseconds for microseconds in launches_of(report, step["step"]) if microseconds is not None]
        expected = sum(known) + LAUNCH_MICROSECONDS * (len(known) - 1)
        assert offers[0]["cost"] == pytest.approx(expected, rel=1e-12), step
        compared += 1
    assert compared >= 2


@pytest.mark.parametrize("target", ["cpu", "hip"])
@pytest.mark.parametrize("name", ["volume", "tokens"])
def test_every_step_belongs_to_a_node_or_says_why_not(models: dict[str, Path], name: str, target: str) -> None:
    report = json.loads(onnxc(models[name], "--target", target, "--report", "--json"))
    report = report["gpu"] if target == "hip" else report
    of_nodes = {i for node in report["nodes"] for i in node["steps"]}
    for step in report["steps"]:
        assert bool(step["nodes"]) == (step["why"] is None) == (step["step"] in of_nodes), step


def test_a_step_that_the_compile_adds_says_so(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[12] x, int64[2] shape) => (y) { y = Reshape (x, shape) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    table = onnxc(tmp_path / "model.onnx", "--report")
    assert "\nstep 0, sizes shape_0, shape_1: for Input 'shape', which is not a node of the file\n" in table, table


def test_what_is_not_estimated_is_unknown_and_not_zero(models: dict[str, Path], tmp_path: Path) -> None:
    """A cost that no offer has, and the time of a kernel over sizes that only a run knows."""
    model = onnx.parser.parse_model(CONVOLUTIONS.replace("[1, 1, 20, 24, 28]", "[N, 1, D, H, W]"))
    shapes = {
        "w": (16, 1, 3, 3, 3),
        "ones": (16,),
        "v": (16, 16, 3, 3, 3),
        "u": (16, 16, 2, 2, 2),
        "t": (32, 32, 1, 1, 1),
    }
    model.graph.initializer.extend(weights(shapes))
    onnx.save(model, tmp_path / "model.onnx")
    report = json.loads(onnxc(tmp_path / "model.onnx", "--target", "hip", "--report", "--json"))
    kernels = report["gpu"]["kernels"]
    assert len(kernels) > 5
    assert {kernel["modelled_us"] for kernel in kernels} == {None}
    assert {kernel["bound"] for kernel in kernels} == {None}
    # Offers are costed at the usual sizes; on the CPU a matrix product is not.
    choices = onnxc(tmp_path / "model.onnx", "--target", "hip", "--dump-ir=choose_kernels")
    assert "in microseconds," in choices
    costs = re.findall(r"^  (?!loops)\S.* -> \S+ +(\S+)  taken$", choices, re.M)
    assert len(costs) == 5
    assert all(float(cost) > 0 for cost in costs)
    choices = onnxc(models["tokens"], "--march", "x86-64-v3", "--dump-ir=choose_kernels")
    assert set(re.findall(r"^  matmul .* -> \S+ +(\S+)  taken$", choices, re.M)) == {"-"}
    assert re.search(r"^  softmax .* -> \S+ +-  taken$", choices, re.M)
    page = tmp_path / "report.html"
    onnxc(tmp_path / "model.onnx", "--target", "hip", f"--report={page}")
    assert "0.000" not in page.read_text()


def test_offers_are_of_the_cpu_whose_steps_are_told(models: dict[str, Path]) -> None:
    """If there are several CPUs, it is the last: 16 channels a block, not 8."""
    both = json.loads(onnxc(models["volume"], "--march", "x86-64-v3,x86-64-v4", "--report", "--json"))
    last = json.loads(onnxc(models["volume"], "--march", "x86-64-v4", "--report", "--json"))
    first = json.loads(onnxc(models["volume"], "--march", "x86-64-v3", "--report", "--json"))
    assert (both["offers"], both["steps"]) == (last["offers"], last["steps"])
    assert both["offers"] != first["offers"]
