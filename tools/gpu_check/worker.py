"""A process that does jobs: a line of JSON each on its input, its results as lines on its output.

A fault of a GPU's kernel ends every further call of the process that launched it, so that no job runs in the parent.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tools.gpu_check import correctness, manifest, sanitizer, scan, shapes, times
from tools.gpu_check.correctness import Checked
from tools.gpu_check.devices import Device, device_of
from tools.gpu_check.jobs import TOOLS, Job
from tools.gpu_check.manifest import Manifest
from tools.gpu_check.results import FAILED, Result
from tools.gpu_check.scan import ScanCheck
from tools.gpu_check.target import TARGETS, Target
from tools.gpu_check.times import Timed

READY, DONE = {"ready": True}, {"done": True}


def results_of(job: Job, content: Manifest, unpacked: Path, target: Target, device: Device) -> Iterator[Result]:
    folder = unpacked / job.folder
    if job.what == "check":
        yield from correctness.check(Checked(content.model(job.name), job.kind, folder, target, device))
    elif job.what == "shape":
        yield from shapes.check(Checked(content.model(job.name), job.kind, folder, target, device))
    elif job.what in TOOLS:
        yield sanitizer.check(job.what, content.model(job.name), job.kind, folder, target)
    elif job.what == "scan":
        assert content.scan is not None
        yield from scan.check(ScanCheck(content.scan, content.network(job.name), job.kind, folder, target, device))
    else:
        timed = Timed(job.part, content.network(job.name), job.kind, folder, target, device)
        yield from {"time": times.check, "compile": times.compiled, "load": times.first_load}[job.what](timed)


def failure_of(job: Job, error: Exception) -> Result:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return Result(job.part, job.name, job.kind, job.what, FAILED, text[:600])


def main() -> None:
    # Only results go to the parent; libraries print to the log.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    bundle, unpacked = map(Path, sys.argv[1:3])
    content = manifest.read(bundle)
    target = TARGETS[content.target]
    device = device_of(target.torch)
    print(json.dumps(READY), file=answers)
    for line in sys.stdin:
        job = Job(**json.loads(line))
        try:
            for result in results_of(job, content, unpacked, target, device):
                print(json.dumps(asdict(result)), file=answers)
        except Exception as error:
            print(json.dumps(asdict(failure_of(job, error))), file=answers)
        print(json.dumps(DONE), file=answers)


if __name__ == "__main__":
    main()
