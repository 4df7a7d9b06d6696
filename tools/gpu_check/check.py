"""Checks and times the models of a bundle on this machine's GPU, beside PyTorch.

    python -m tools.gpu_check --out DIR
    python -m tools.gpu_check --out DIR --part layers
    python -m tools.gpu_check --out DIR --table

It needs Python, numpy, ml_dtypes and PyTorch with CUDA or ROCm. Start it in the folder of the bundle, or name that with
--bundle. Results come in the order of their worth and are saved in DIR/results.jsonl as they end; what the minutes did
not suffice for, --part measures. DIR/table.md has all results of DIR. Times want a GPU that nobody else uses.

Exit codes: 0 all right; 1 no GPU, or something could not run; 2 a mistake in the command line; 4 a wrong result.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tools.gpu_check import jobs, manifest, results, table
from tools.gpu_check.devices import DeviceError, device_of
from tools.gpu_check.jobs import CORRECTNESS, PARTS, Job
from tools.gpu_check.results import FAILED, MEASURED, WRONG, Result, Results
from tools.gpu_check.target import TARGETS
from tools.gpu_check.workers import Archives, Crew, WorkerError

PACKAGE = Path(__file__).resolve().parents[2]
MACHINE = "machine"
MOST_WORKERS = 8


class Stopped(BaseException):
    """A signal asks the check to end."""


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.gpu_check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the results")
    parser.add_argument("--part", choices=PARTS, help="only this part; default: all, as far as the minutes reach")
    parser.add_argument("--minutes", type=float, default=8, help="when to stop (%(default)s)")
    parser.add_argument("--bundle", type=Path, default=default_bundle(), metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("--table", action="store_true", help="only print the table of the results of DIR")
    return parser.parse_args(words)


def default_bundle() -> Path:
    """The folder that this package was started in, if it is a bundle."""
    return PACKAGE if (PACKAGE / manifest.FILE).exists() else PACKAGE / "build" / "gpu-bundle"


def describe(target: str, out: Results) -> None:
    """Notes the machine. Raises DeviceError if it has no such GPU."""
    facts = device_of(TARGETS[target].torch).describe()
    date = time.strftime("%Y-%m-%d", time.gmtime())
    out.add(Result(MACHINE, MACHINE, "", MACHINE, MEASURED, "", {**facts, "date": date}))


def run(bundle: Path, planned: Sequence[Job], out: Results, minutes: float) -> list[Job]:
    """The jobs that the minutes did not suffice for. Checks run several at a time, since loading takes longest; what
    is timed has the GPU for itself."""
    deadline = time.monotonic() + 60 * minutes
    checks = [job for job in planned if job.part == CORRECTNESS]
    others = [job for job in planned if job.part != CORRECTNESS]
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        archives = Archives(bundle, Path(folder))
        archives.prepare([job.archive for job in planned])
        try:
            crew = Crew(bundle, archives, out, deadline)
            at_once = min(MOST_WORKERS, max(1, (os.cpu_count() or 1) // 2), max(1, len(checks)))
            return crew.do(checks, at_once) + crew.do(others, 1)
        finally:
            archives.stop()


def exit_code(found: Sequence[Result]) -> int:
    statuses = {each.status for each in found}
    return 4 if WRONG in statuses else 1 if FAILED in statuses else 0


def stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


def report(folder: Path, left: Sequence[Job]) -> None:
    text = table.render(results.read(folder))
    (folder / table.FILE).write_text(text)
    print(text)
    for part, count in jobs.by_part(list(left)).items():
        print(f"not reached: {count} of {part}; --part {part} measures them", file=sys.stderr)


def main(words: Sequence[str]) -> int:
    options = parse(words)
    if options.table:
        report(options.out, [])
        return exit_code(results.read(options.out))
    if not (options.bundle / manifest.FILE).exists():
        print(f"error: {options.bundle} is not a bundle: make one with make gpu-bundle, or name it", file=sys.stderr)
        return 1
    content = manifest.read(options.bundle)
    out = Results(options.out)
    try:
        describe(content.target, out)
    except DeviceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    planned = jobs.chosen(content, options.part)
    if not planned:
        print(f"error: {options.bundle} has nothing to check in this part", file=sys.stderr)
        return 1
    left: list[Job] = []
    is_whole = True
    before = signal.signal(signal.SIGTERM, stop)
    try:
        left = run(options.bundle, planned, out, options.minutes)
    except (KeyboardInterrupt, Stopped):
        print("stopped; what ended before is in the table", file=sys.stderr)
        is_whole = False
    except WorkerError as error:
        print(f"error: {error}", file=sys.stderr)
        is_whole = False
    finally:
        signal.signal(signal.SIGTERM, before)
    report(options.out, left)
    return exit_code(results.read(options.out)) or int(not is_whole)
