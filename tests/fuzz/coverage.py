"""How much of the frontend, the IR and the passes the fuzzer's inputs reach: python -m tests.fuzz.coverage.

Each input once through its harness: the seeds, those of make_inputs, and what `make fuzz` kept in build-fuzz/corpus;
then changes of them, the same in each run, and only those reach most of what refuses a model. Ends with status 1 if a
part of the source has less than LEAST percent of its regions reached. A region is what lies between two branches, as
clang's coverage counts it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.make_inputs import write_inputs

LEAST = 85
PARTS = ("frontend", "ir", "passes")
REPOSITORY = Path(__file__).parents[2]
BUILD = REPOSITORY / "build-coverage"
FUZZER = BUILD / "bin" / "onnxc_fuzz"
# For each harness: the folder of its inputs, and how many changes of them it meets.
HARNESSES = {
    "expression": ("expression", 15_000),
    "program": ("program", 15_000),
    "model": ("model", 12_000),
    "source": ("model", 5_000),
}


def meet(harness: str, folders: list[Path], changes: int) -> Path:
    """Returns the profile of the run."""
    profile = BUILD / f"{harness}.profraw"
    inputs = sum(len(list(folder.iterdir())) for folder in folders)
    with TemporaryDirectory() as new_inputs:  # changes are made of these, too
        subprocess.run(
            [FUZZER, f"-runs={inputs + changes}", "-seed=1", "-max_len=65536", "-timeout=120", new_inputs, *folders],
            env={**os.environ, "ONNXC_FUZZ": harness, "LLVM_PROFILE_FILE": str(profile)},
            stdout=subprocess.DEVNULL, stderr=(BUILD / f"{harness}.log").open("w"), cwd=BUILD, check=True,
        )  # fmt: skip
    return profile


def percentages(profile: Path, part: str) -> tuple[float, float, float]:
    """Counts of regions, branches and lines."""
    options = ["-summary-only", f"-instr-profile={profile}"]
    exported = subprocess.run(
        ["llvm-cov-19", "export", *options, FUZZER, REPOSITORY / "src" / part], capture_output=True, check=True
    )
    report = json.loads(exported.stdout)
    totals = report["data"][0]["totals"]
    return totals["regions"]["percent"], totals["branches"]["percent"], totals["lines"]["percent"]


def main() -> int:
    write_inputs(BUILD / "inputs")
    profiles = []
    for harness, (inputs, changes) in HARNESSES.items():
        sources = (REPOSITORY / "tests" / "fuzz" / "corpus", REPOSITORY / "build-fuzz" / "corpus", BUILD / "inputs")
        folders = [source / inputs for source in sources]
        profiles.append(meet(harness, [folder for folder in folders if folder.is_dir()], changes))
    merged = BUILD / "inputs.profdata"
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", *profiles, "-o", merged], check=True)
    print(f"{'src/':10} {'regions':>9} {'branches':>9} {'lines':>9}")
    missed = []
    for part in PARTS:
        regions, branches, lines = percentages(merged, part)
        print(f"{part:10} {regions:8.1f}% {branches:8.1f}% {lines:8.1f}%")
        missed += [part] if regions < LEAST else []
    if missed:
        print(f"less than {LEAST}% of the regions of: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
