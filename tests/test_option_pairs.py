"""Every pair of options of each command: taken, or refused by the name of one of the two."""

import itertools
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.docs.test_reference import help_text, option_words
from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")

# A value for each option that takes one.
VALUES = {
    "onnxc": {
        "--output": "out.so", "--target": "hip", "--gpu-arch": "sm_80", "--gpu-code": "cubin",
        "--fp32": "bf16x3", "--precision": "float16", "--weights": "compact",
        "--keep-float32": "a", "--march": "x86-64-v3", "--compiler": "clang++-19", "--glibc": "2.28", "--dim": "N=1",
        "--outputs": "y", "--emit": "ir", "-O": "1", "--skip-pass": "fuse_nests", "--jobs": "1", "--max-memory": "8GB",
        "--max-seconds": "9", "--max-nodes": "9", "--node": "a", "--at": "N=1", "--against": "other.onnx",
        "--run-pass": "fuse_nests", "--state": "x=y",
    },
    "onnxc-run": {
        "--input": "x=x.npy", "--random": "0", "--dim": "N=1", "--shapes": "x:1", "--output": "out",
        "--expect": "y=y.npy",
        "--rtol": "1", "--atol": "1", "--verify": "m.onnx", "--verify-with": "onnxc", "--trace": "trace",
        "--against": "b.json", "--trace-events": "e.json", "--threads": "1", "--device": "cpu", "--volume": "v.npy",
        "--window": "8", "--preset": "nnunet", "--overlap": "0.5", "--step": "0.5", "--blend": "gaussian",
        "--padding": "reflect", "--padding-value": "1", "--windows-per-run": "1", "--mirror": "0", "--clip": "0,1",
        "--normalize": "zscore", "--raw": "8x8x8:int16",
    },
}  # fmt: skip
# An option whose value may be left out is given the one that another option needs.
JOINED = {"--profile": "--profile=page.html"}
# They end a command before anything is looked at.
ENDING = {"--help", "--version"}
NEEDS_TWO = {"--step"}  # --volume and --preset nnunet
REFUSED = re.compile(r"error: (\S+) has (?:an effect only|no effect) with ")


def options_of(command: str) -> list[str]:
    """The options by their long names."""
    words = [words for line in help_text(command).splitlines() if (words := option_words(line))]
    return sorted({each[-1] for each in words} - ENDING)


def run(command: str, options: tuple[str, ...], folder: Path) -> tuple[int, str]:
    words = [str(BINARIES / command)]
    if "--list-operators" not in options:
        words.append("missing.onnx" if command == "onnxc" else "missing.so")
    for option in options:
        words += [JOINED.get(option, option), *([VALUES[command][option]] if option in VALUES[command] else [])]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["onnxc", "onnxc-run"])
def test_all_pairs(command: str, tmp_path: Path) -> None:
    options = options_of(command)
    assert set(VALUES[command]) <= set(options)
    tried = [*((option,) for option in options), *itertools.combinations(options, 2)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda pair: run(command, pair, tmp_path), tried))
    wrong = []
    refused = set()
    for pair, (code, message) in zip(tried, results, strict=True):
        found = REFUSED.search(message)
        if code not in (0, 1, 2) or (found and (code != 2 or found[1] not in pair)):
            wrong.append((pair, code, message))
        if found:
            refused.add(frozenset(pair))
    assert not wrong
    # A pair is refused for everything that one of its options is refused for, unless the other option is what was
    # missing.
    alone = {option for option in options if frozenset([option]) in refused}
    helped = {option: [o for o in options if o != option and frozenset((option, o)) not in refused] for option in alone}
    assert {option for option, others in helped.items() if not others} <= NEEDS_TWO
    assert len(alone) > 5
