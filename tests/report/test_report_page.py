"""--report=FILE.html: what the page shows, that names stay text, and how large it is."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import onnxc_commands
from tests.report import annotated_model
from tests.report.pages import chain, drawn_by_a_browser, read_page, section

pytestmark = pytest.mark.usefixtures("commands")

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "<!-- &amp; -->",
    "\\u003c\n\u2028",
]
MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
small (float[N, 20, D, D] x) => (y) <float[20] s, float[20] b> {
  [down] a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
  [conv] c = Conv <pads = [1, 1, 1, 1]> (a, w)
  [skip] y = Concat <axis = 1> (c, a)
}
"""


def write_report(model: Path, page: Path, *options: str) -> None:
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(model), f"--report={page}", *options]
    assert onnxc_commands.execute(command).stdout == ""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    text = MODEL.replace(" <float[20] s, float[20] b>", "")
    parsed = onnx.parser.parse_model(text)
    weights = np.random.default_rng(0).standard_normal((20, 20, 3, 3)).astype(np.float32)
    parsed.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    for number, node in enumerate(parsed.graph.node):
        annotated_model.annotate(node, 100 + number, f"x = self.{node.name}(x)", f"encoder.{node.name}")
        node.name = HOSTILE[number]
    parsed.graph.name = parsed.producer_name = HOSTILE[0]
    onnx.save(parsed, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_what_it_shows(model: Path, tmp_path: Path) -> None:
    write_report(model, tmp_path / "report.html", "--march", "x86-64-v3")
    sections = read_page(tmp_path / "report.html")
    facts = section(sections, "Model")["content"]
    assert ["input", "x float32[N, 20, D, x_dim3]"] in facts or ["input", "x float32[N, 20, D, D]"] in facts
    nodes = section(sections, "Graph")["content"]
    assert [node["title"] for node in nodes] == [
        f"{kind}  {name}" for kind, name in zip(["MaxPool", "Conv", "Concat"], HOSTILE, strict=False)
    ]
    assert [node["inputs"] for node in nodes] == [[], [0], [1, 0]]
    assert nodes[2]["lines"][0] == "y float32[N, 40, D//2, D//2]"
    assert nodes[1]["lines"][1].endswith("dynunet_block.py:101 in encoder.conv: x = self.conv(x)")
    offers = section(sections, "Kernels that offer, on the CPU")["content"]["rows"]
    assert {row[0] for row in offers} >= {HOSTILE[1]}
    assert [row[5] for row in offers if row[0] == HOSTILE[1]].count("taken") == 1
    became = section(sections, "Steps of each node, on the CPU")["content"]["rows"]
    assert [row[1] for row in became] == HOSTILE[:3]
    assert became[1][6:] == ["encoder.conv", "monai/networks/blocks/dynunet_block.py:101"]


def test_a_file_and_a_gpu(model: Path, tmp_path: Path) -> None:
    write_report(model, tmp_path / "report.html", "--target", "cpu,hip", "--dim", "N=1", "--dim", "D=8")
    sections = read_page(tmp_path / "report.html")
    kernels = section(sections, "Kernels of the GPU")["content"]["rows"]
    assert any(row[3] for row in kernels), "the cost model's microseconds"
    assert section(sections, "Kernels that offer, on the GPU")["content"]["rows"]


def test_two_hundred_steps_take_less_than_a_megabyte(tmp_path: Path) -> None:
    onnx.save(chain(400), tmp_path / "model.onnx")  # an activation is fused into the convolution before it
    write_report(tmp_path / "model.onnx", tmp_path / "report.html")
    rows = section(read_page(tmp_path / "report.html"), "Steps of each node, on the CPU")["content"]["rows"]
    assert len({row[3] for row in rows}) >= 200
    assert (tmp_path / "report.html").stat().st_size < 1e6


@pytest.mark.slow
def test_a_browser_draws_it(model: Path, tmp_path: Path) -> None:
    """In Chromium without a window: the script runs to its end, and names are text there too."""
    write_report(model, tmp_path / "report.html")
    drawn = drawn_by_a_browser(tmp_path / "report.html").replace("<wbr>", "")
    assert drawn.count("<section>") == len(read_page(tmp_path / "report.html"))
    assert "<img" not in drawn
    assert "<script" not in drawn
    assert "&lt;img src=x onerror=alert(1)&gt;" in drawn
    assert drawn.count("<circle") == 3
