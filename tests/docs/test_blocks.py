"""The rules for what counts as a block of a page, and what it shows."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs import blocks, page_runner
from tests.docs.blocks import Block, Command
from tests.docs.page_runner import Shell

PAGE = """# A page

Run `onnxc a.onnx
-o b.so`, not `onnxc -v`, and look at `b.so`:

    onnxc a.onnx -o b.so  # exit code 1: no
    X=1 onnxc-run b.so \\
      --info

<!-- prints -->

    ...
    inputs

<!-- not run: it needs a server -->

```python
serve()
```

    x = f(1)

| `onnxc c.onnx -o d.so` | a cell |

    onnxc.f(a: int = 1) -> str

text

    $ onnxc a.onnx | jq
    [1]

    what is this

text

    what is this
"""


def test_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert blocks.blocks(page) == [
        Block(3, "sentence", "onnxc a.onnx -o b.so"),
        Block(6, "shell", "onnxc a.onnx -o b.so  # exit code 1: no\nX=1 onnxc-run b.so \\\n  --info"),
        Block(12, "prints", "...\ninputs"),
        Block(18, "python", "serve()", "it needs a server"),
        Block(21, "python", "x = f(1)"),
        Block(25, "signature", "onnxc.f(a: int = 1) -> str"),
        Block(29, "shell", "$ onnxc a.onnx | jq\n[1]\n\nwhat is this"),
        Block(36, "unknown", "what is this"),
    ]


def test_of_a_block() -> None:
    text = "onnxc a.onnx  # exit code 1: no\nX=1 onnxc-run b.so \\\n  --info\n# a word\nonnxc c.onnx"
    assert blocks.commands(Block(5, "shell", text)) == [
        Command(5, "onnxc a.onnx  # exit code 1: no", 1),
        Command(6, "X=1 onnxc-run b.so \\\n  --info", 0),
        Command(8, "# a word\nonnxc c.onnx", 0),
    ]
    assert blocks.commands(Block(1, "shell", "$ onnxc a | jq\n[1]\n[2]\n$ onnxc b")) == [
        Command(1, "onnxc a | jq", 0, "[1]\n[2]\n"),
        Command(4, "onnxc b", 0),
    ]


@pytest.mark.parametrize(
    ("expected", "printed", "equal"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\n...\nc", "a\nb\nb\nc", True),
        ("...\nc", "c\n", True),
        ("a\n...", "a\nb\n", True),
        ("a", "a\nb", False),
        ("a\n...\nd", "a\nb\nc", False),
        ("a (b)", "a (c)", False),
    ],
)
def test_what_is_shown(expected: str, printed: str, equal: bool) -> None:
    assert blocks.shown(expected, printed) == equal


def test_a_page_that_is_wrong_has_a_failure_for_each_fault(tmp_path: Path) -> None:
    """The runner itself can fail: an exit code, an exception, another output, and a block that nothing explains."""
    page = tmp_path / "page.md"
    page.write_text(
        "    python -c 'exit(3)'\n\n```python\nx + 1\n```\n\n    python -c 'print(2)'\n\n<!-- prints -->\n\n    1\n\n"
        "text\n\n    what is this\n\n    python -c 'exit(2)'  # exit code 2\n"
    )
    shell = Shell(tmp_path, page_runner.clean_environment([]))
    failures = page_runner.run_page(page, shell, "python3")
    assert [failure.splitlines()[0] for failure in failures] == [
        "page.md:1: python -c 'exit(3)'",
        "page.md:4: Traceback (most recent call last):",
        "page.md:11: shown",
        "page.md:15: neither run nor marked",
    ]
    [failure] = page_runner.run_page(page, replace(shell, seconds=0), "python3")[:1]
    assert failure.endswith("it runs longer than 0 seconds")
    assert page_runner.run_page(page, shell, "python3", "x = 1")[1].startswith("page.md:11: shown")
