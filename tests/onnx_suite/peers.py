"""Counts the suite's tests that onnxruntime and OpenVINO pass, judged as onnxc's are: `make suite-peers`.

Each test has a process of its own: one that crashes or hangs has failed.
"""

import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from models.onnx_suite.suite import GROUPS, SuiteTest, collect
from tests.onnx_suite import runners
from tests.onnx_suite.batches import run_alone

TIME_LIMIT_SECONDS = 120


def _run(test: SuiteTest, runner: runners.Runner) -> None:
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    run_alone(test, runner)


def passes(test: SuiteTest, runner: runners.Runner) -> bool:
    process = multiprocessing.get_context("fork").Process(target=_run, args=(test, runner))
    process.start()
    process.join(TIME_LIMIT_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0


def main(names: Sequence[str]) -> None:
    tests = collect()
    print(f"{'peer':12} {'group':18} {'passed':>7} {'of':>7}")
    for name in names or list(runners.PEERS):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(partial(passes, runner=runners.PEERS[name]), tests))
        passed = Counter(test.group for test, good in zip(tests, results, strict=True) if good)
        total = Counter(test.group for test in tests)
        for group in GROUPS:
            print(f"{name:12} {group:18} {passed[group]:7} {total[group]:7}")
        print(f"{name:12} {'all':18} {passed.total():7} {total.total():7}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
