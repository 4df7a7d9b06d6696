"""The HTML pages at two widths, with the long paths and module names of MONAI's networks: nothing is cut, and nothing
lies over something else."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import onnxc_commands
from tests.report import annotated_model
from tests.report.page_geometry import Geometry
from tests.report.pages import read_page, section

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

WIDTHS = (1400, 760)
LEVELS = 5


def nested_network() -> onnx.ModelProto:
    """Convolutions, normalisations and activations within each other, as DynUNet's layers are."""
    lines, tensor = [], "x"
    for level in range(2 * LEVELS):
        for kind, text in (("conv", "Conv <pads = [1, 1, 1, 1, 1, 1]> ({0}, w)"), ("lrelu", "LeakyRelu({0})")):
            name = f"node_{kind}_of_level_{level}"
            lines.append(f"[{name}] {name}_output = {text.format(tensor)}")
            tensor = f"{name}_output"
    head = f'<ir_version: 10, opset_import: ["" : 20]> nested (float[N, 16, D, H, W] x) => ({tensor}) {{'
    model = onnx.parser.parse_model(head + "\n".join(lines) + "}")
    weights = np.random.default_rng(0).standard_normal((16, 16, 3, 3, 3)).astype(np.float32) / 30
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    for number, node in enumerate(model.graph.node):
        depth = LEVELS - abs(LEVELS - number // 2)
        module = "skip_layers." + "next_layer." * depth + f"upsample.conv_block.conv{number}.conv"
        annotated_model.annotate(node, 100 + number, f"out = self.conv{number}(torch.cat((out, skip), dim=1))", module)
    return model


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("geometry")
    source, model = folder / "model_with_quite_a_long_name_of_its_own.onnx", folder / "model.so"
    onnx.save(nested_network(), source)
    onnxc_commands.compile_model(source, model)
    compiler, runner = (str(onnxc_commands.BINARIES / name) for name in ("onnxc", "onnxc-run"))
    onnxc_commands.execute([compiler, str(source), "--target", "cpu,hip", f"--report={folder / 'report.html'}"])
    command = [runner, str(model), "--random", "0", "--dim", "D=24"]
    before = folder / "before.json"
    before.write_text(onnxc_commands.execute([*command, "--profile", "--json"]).stdout)
    onnxc_commands.execute([*command, f"--profile={folder / 'profile.html'}", "--against", str(before)])
    return {name: folder / f"{name}.html" for name in ("report", "profile")}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["report", "profile"])
def test_nothing_is_cut_and_nothing_lies_over_something_else(pages: dict[str, Path], name: str, width: int) -> None:
    geometry = Geometry(pages[name], width)
    assert geometry.faults == []
    assert geometry.texts > 100


@pytest.mark.parametrize("width", WIDTHS)
def test_the_tree_of_modules_keeps_its_indentation(pages: dict[str, Path], width: int) -> None:
    rows = section(read_page(pages["profile"]), "Time by module")["content"]["rows"]
    names = [row[4] for row in rows]
    depths = {name.strip(): (len(name) - len(name.lstrip())) // 4 for name in names}
    assert max(depths.values()) >= LEVELS
    indents = Geometry(pages["profile"], width).indents
    for name, depth in depths.items():
        assert indents[name] == pytest.approx(indents[names[0]] + 10 * depth, abs=5 * depth), name
        assert depth == 0 or indents[name] > indents[names[0]]


PAGE = """<!DOCTYPE html><html><body>
<div style="width: 50px; overflow: hidden; white-space: nowrap">cut at the edge</div>
<div style="position: relative; height: 40px">
<b>below</b><b style="position: absolute; left: 5px; top: 5px">above</b>
</div>
<svg width="200" height="60"><text x="20" y="30">hidden</text><circle cx="30" cy="25" r="5"></circle></svg>
<svg width="200" height="60"><path class="roof" d="M0 30 H200"></path><text x="20" y="34">crossed</text></svg>
</body></html>
"""


def test_the_check_finds_faults(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    assert Geometry(tmp_path / "page.html", 760).faults == [
        "cut by DIV: 'cut at the edge'",
        "'below' and 'above' lie over each other",
        "'hidden' was drawn before what may lie over it",
        "'hidden' lies on a circle",
        "'crossed' lies on a roof",
    ]
