"""Random networks for as long as one likes, beyond those of the tests.

    python -m tests.random --first 80 --minutes 60
    python -m tests.random --first 80 --minutes 60 --quick
    python -m tests.random --shape-arithmetic --minutes 60 --quick

Each group of 25 networks is one model, compiled by the options that are its turn; a network that fails is reduced and
kept in build/failed-graphs. Groups 0 to 79 are the tests' own. Ends with status 1 if a network failed.

Nearly all of the time is clang's. With --quick it compiles without optimisation: the passes of onnxc and the logic of
its kernels are tried by several times as many networks an hour, and vectorised code is not. With --shape-arithmetic the
graphs are those of tests/random/shape_arithmetic, each with its dims known and free.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.random import test_random_graphs as networks
from tests.random import test_random_shape_arithmetic as sizes
from tests.random.quick import use_unoptimising_compiler
from tests.random.random_graphs import opset_of, random_graph
from tests.random.shape_arithmetic.graphs import random_arithmetic

assert networks.TOGETHER == sizes.TOGETHER
TOGETHER = networks.TOGETHER


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random")
    parser.add_argument(
        "--first", type=int, default=networks.MORE, help="number of the first group (default %(default)s)"
    )
    parser.add_argument("--minutes", type=float, default=60, help="no group begins later (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="without clang's optimisation")
    parser.add_argument("--shape-arithmetic", action="store_true", help="graphs of what is computed of sizes")
    given = parser.parse_args()
    os.environ["ONNXC_MODEL_CACHE"] = ""
    with tempfile.TemporaryDirectory() as folder:
        if given.quick:
            use_unoptimising_compiler(Path(folder))
        return run(given.first, given.minutes, try_arithmetic if given.shape_arithmetic else try_networks)


def outcome(work: Callable[[], object]) -> int:
    """The status of a process of its own: 0, 1 if it found something, or the signal that ended it, negative."""

    def report() -> None:
        try:
            work()
        except AssertionError as error:
            print(error, flush=True)
            sys.exit(1)

    process = get_context("fork").Process(target=report)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def seeds_of(group: int) -> range:
    return range(TOGETHER * group, TOGETHER * (group + 1))


def try_networks(group: int) -> bool:
    """Whether it is right. Each network of a group that ends its process is tried by itself."""
    options, opset = networks.OPTIONS[group % len(networks.OPTIONS)], opset_of(group)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code = outcome(partial(networks.check, group, options, "cpu", folder))
        if code < 0:
            print(f"group {group} ended with signal {-code}", flush=True)
            for seed in seeds_of(group):
                graph = random_graph(seed, opset)
                if outcome(partial(networks.failures, [graph], opset, options, "cpu", folder)) < 0:
                    print(f"network {seed} does: {networks.keep(graph, opset)}", flush=True)
    return code == 0


def try_arithmetic(group: int) -> bool:
    """The same for a group of graphs of sizes; onnxruntime, which draws them, may end the process as well."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code = outcome(partial(sizes.check, group, folder))
        if code >= 0:
            return code == 0
        print(f"group {group} ended with signal {-code}", flush=True)
        wrong = 0
        for seed in seeds_of(group):
            if outcome(partial(random_arithmetic, seed, opset_of(group))) < 0:
                print(f"graph {seed} ends onnxruntime while it is drawn", flush=True)
                continue
            code = outcome(partial(sizes.check_alone, seed, group, folder))
            wrong += code != 0
            if code < 0:
                print(f"graph {seed} does", flush=True)
        return wrong == 0


def run(first: int, minutes: float, try_group: Callable[[int], bool]) -> int:
    begin = time.monotonic()
    group, failed = first, []
    while time.monotonic() - begin < 60 * minutes:
        if not try_group(group):
            failed.append(group)
            print(f"group {group} failed", flush=True)
        group += 1
        if group % 10 == 0:
            print(f"groups {first} to {group - 1} are done", flush=True)
    hours = (time.monotonic() - begin) / 3600
    graphs = TOGETHER * (group - first)
    print(f"{graphs} networks in {hours:.2f} hours; groups that failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
