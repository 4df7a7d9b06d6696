"""Models whose nodes say where they come from, as PyTorch's exporter writes it."""

from pathlib import Path

import onnx

FILE = "/home/user/venv/lib/python3.11/site-packages/monai/networks/blocks/dynunet_block.py"


def annotate(node: onnx.NodeProto, line: int, code: str, module: str) -> None:
    frames = [
        f'File "{FILE}", line {line}, in forward\n    {code}',
        '  File "/home/user/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py", line 735, in forward\n    y',
    ]
    scopes = ["", *(module.split(".")[0],), module, "op"]
    for key, value in (("stack_trace", "\n".join(frames)), ("name_scopes", repr(scopes))):
        node.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=value)


def save(text: str, path: Path, modules: dict[str, str] | None = None) -> Path:
    """A model of onnx.parser's text; its nodes of these names get a module, and lines from 100 on."""
    model = onnx.parser.parse_model(text)
    for number, node in enumerate(model.graph.node):
        if node.name in (modules or {}):
            annotate(node, 100 + number, f"{node.output[0]} = self.{node.name}(x)", (modules or {})[node.name])
    onnx.save(model, path)
    return path
