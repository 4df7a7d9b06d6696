"""Draws docs/images/terminal.svg, the README's picture: onnxc and onnxc-run on a 3D U-Net whose sizes are all free.

    make picture

The text is what the commands print on this machine; lines are left out, and cut at the picture's width.
"""

import io
import re
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.text import Text

from models import weights
from models.networks.unet3d import unet3d

REPOSITORY = Path(__file__).resolve().parents[1]
PICTURE = REPOSITORY / "docs" / "images" / "terminal.svg"
COLUMNS = 106

# Each command, and how the lines begin that are shown of its output.
COMMANDS: tuple[tuple[str, Sequence[str]], ...] = (
    (
        "onnxc unet3d.onnx --dump-shapes",
        ("input", r"Conv '/encoder\.[01]/encoder\.[01]\.0/", r"ConvTranspose '/upsample\.3", "Concat '/Concat_3",
         "output", "sizes"),
    ),
    ("onnxc unet3d.onnx -o unet3d.so", ()),
    (
        "onnxc-run unet3d.so --random 0 --shapes volume:1x1x64x64x64 --profile",
        (" +ms", r" .* /(upsample\.3|decoder\.3/decoder\.3\.0)/", r" .*steps?\)$", r" .*a whole run", "peak", "memory"),
    ),
)  # fmt: skip


STYLES = {
    r"\[[^\]]*\]$": "cyan",  # a shape
    r"(?<=^sizes   ).*?(?= \()": "bold yellow",
    r"^\$ .*": "bold",
    r"^\$": "green",
    r"^ +ms .*": "bold",
    "⋮": "bright_black",
}


def export(path: Path) -> None:
    """As most people export a network: every size free, and nothing said about which ones fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            weights.initialize(unet3d(), seed=1),
            (torch.zeros(1, 1, 32, 32, 32),),
            str(path),
            dynamo=False,
            input_names=["volume"],
            output_names=["scores"],
            dynamic_axes={"volume": {0: "N", 2: "D", 3: "H", 4: "W"}},
        )


def excerpt(text: str, shown: Sequence[str]) -> Iterator[str]:
    """The lines that begin so, each with its "in" and "out" lines; empty ones; dots if others are left out."""
    keeps = leaves_out = False
    for line in text.splitlines():
        if not re.match(" {4}(in|out) ", line):
            keeps = not line or any(re.match(start, line) for start in shown)
        if keeps and leaves_out:
            yield "    ⋮"
        if keeps:
            yield line
        leaves_out = not keeps


def run(command: str, folder: Path) -> str:
    path = {"PATH": f"{REPOSITORY / 'build' / 'bin'}:/usr/bin"}
    return subprocess.run(command.split(), cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=path).stdout


def session(folder: Path) -> Iterator[str]:
    for index, (command, shown) in enumerate(COMMANDS):
        if index > 0:
            yield ""
        yield f"$ {command}"
        yield from excerpt(run(command, folder), shown)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        export(Path(name, "unet3d.onnx"))
        lines = list(session(Path(name)))
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in lines:
        text = Text(line)
        for pattern, style in STYLES.items():
            text.highlight_regex(pattern, style)
        console.print(text, highlight=False, no_wrap=True, overflow="ellipsis")
    # Without the fonts that it would fetch from elsewhere: any monospaced one will do.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title=""), flags=re.DOTALL)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture.replace("Fira Code", "ui-monospace"))


if __name__ == "__main__":
    main()
