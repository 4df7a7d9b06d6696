"""Random networks for as long as one likes, beyond those of the tests.

    python -m tests.random --first 80 --minutes 60

Each group of 25 networks is one model, compiled by the options that are its turn; a network that fails is reduced and
kept in build/failed-graphs. Groups 0 to 79 are the tests' own. Ends with status 1 where a network failed.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.random.test_random_graphs import MORE, OPTIONS, TOGETHER, check


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random")
    parser.add_argument("--first", type=int, default=MORE, help="number of the first group (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=60, help="no group begins later (default %(default)s)")
    given = parser.parse_args()
    begin = time.monotonic()
    group, failed = given.first, []
    while time.monotonic() - begin < 60 * given.minutes:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(group, OPTIONS[group % len(OPTIONS)], "cpu", Path(folder))
            except AssertionError as error:
                failed.append(group)
                print(f"group {group}: {error}", flush=True)
        group += 1
        if group % 10 == 0:
            print(f"groups {given.first} to {group - 1} are done", flush=True)
    hours = (time.monotonic() - begin) / 3600
    graphs = TOGETHER * (group - given.first)
    print(f"{graphs} networks in {hours:.2f} hours; groups that failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
