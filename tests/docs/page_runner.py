"""Runs the blocks of a page in order, in one folder and one Python, as a reader would."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs import blocks
from tests.docs.blocks import Block, Command

# Executes what comes as lines of JSON in one namespace, and answers each with what it printed and why it failed.
INTERPRETER = """
import contextlib, io, json, sys, traceback
namespace = {"__name__": "__main__"}
answers, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    name, lines_before, source = json.loads(line)
    printed, failure = io.StringIO(), ""
    try:
        code = compile("\\n" * lines_before + source, name, "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
    except BaseException:
        failure = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failure]), file=answers, flush=True)
"""


@dataclass
class Shell:
    """The surroundings of the commands: the folder, the programs, and what a message may say that the machine lacks."""

    folder: Path
    environment: Mapping[str, str]
    may_lack: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 600

    def run(self, command: Command) -> tuple[str, str]:
        """The output of the command, and why it failed ("" if it did not)."""
        words = ["bash", "-euo", "pipefail", "-c", command.text]
        try:
            done = subprocess.run(
                words, cwd=self.folder, env=dict(self.environment), capture_output=True, text=True,
                timeout=self.seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "", f"it runs longer than {self.seconds:.0f} seconds"
        lacks = any(part in command.text and words in done.stderr for part, words in self.may_lack.items())
        if done.returncode == command.exit_code or lacks:
            return done.stdout, ""
        return done.stdout, f"exit code {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-3000:]}"


class Python:
    """An interpreter that lasts as long as the page."""

    def __init__(self, program: str, shell: Shell) -> None:
        words = [program, "-c", INTERPRETER]
        self.process = subprocess.Popen(
            words, cwd=shell.folder, env=dict(shell.environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def run(self, name: str, line: int, source: str) -> tuple[str, str]:
        """The output of the source, and the traceback with which it failed ("" if it did not)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, line - 1, source]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            return "", f"the interpreter ended with {self.process.wait()}"
        printed, failure = json.loads(answer)
        return printed, failure

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def run_page(page: Path, shell: Shell, python: str, given: str = "") -> list[str]:
    """The failures of a page, each with its line. `given` is Python that stands for what its reader has already."""
    failures: list[str] = []
    interpreter = Python(python, shell)
    printed = ""
    try:
        _, failure = interpreter.run("given", 1, given)
        assert not failure, failure
        for block in blocks.blocks(page):
            if block.not_run or block.kind in ("signature", "c", "cmake"):
                continue
            if block.kind == "prints":
                if not blocks.shown(block.text, printed):
                    failures.append(f"{page.name}:{block.line}: shown\n{block.text}\nprinted\n{printed[-4000:]}")
                continue
            if block.kind == "unknown":
                failures.append(f"{page.name}:{block.line}: neither run nor marked\n{block.text}")
                continue
            output, failed = run_block(page, block, shell, interpreter)
            printed = printed if block.kind == "sentence" else output
            failures += failed
    finally:
        interpreter.close()
    return failures


def run_block(page: Path, block: Block, shell: Shell, interpreter: Python) -> tuple[str, list[str]]:
    """The output of a block, and its failures."""
    if block.kind == "python":
        printed, failure = interpreter.run(str(page), block.line, block.text)
        return printed, [f"{page.name}:{block.line}: {failure}"] if failure else []
    printed, failures = "", []
    for command in blocks.commands(block):
        output, failure = shell.run(command)
        printed += output
        if not failure and command.prints is not None and not blocks.shown(command.prints, output):
            failure = f"shown\n{command.prints}printed\n{output}"
        if failure:
            failures.append(f"{page.name}:{command.line}: {command.text}\n{failure}")
    return printed, failures


def clean_environment(programs: list[Path], **variables: str) -> dict[str, str]:
    """Without the caller's variables that speak to onnxc or to Python."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ONNXC_", "PYTHON"))}
    path = ":".join([*map(str, programs), os.environ["PATH"]])
    return {**kept, "PATH": path, **variables}
