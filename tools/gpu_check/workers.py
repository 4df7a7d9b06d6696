"""The processes that do the jobs, as the check sees them, and the files that they read."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from enum import Enum
from pathlib import Path

from tools.gpu_check import packing
from tools.gpu_check.jobs import COMPILE_LIMIT_S, Job
from tools.gpu_check.results import FAILED, MEASURED, Result, Results

UNPACKERS = 3
START_LIMIT_S = 120
PACKAGE = Path(__file__).resolve().parents[2]


class Archives:
    """The archives of a bundle, unpacked in the order in which they are asked for, ahead of their use. The code comes
    first: the others append to it."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        self.bundle, self.folder = bundle, folder
        self._pool = ThreadPoolExecutor(UNPACKERS)
        self._futures: dict[str, Future[None]] = {}

    def prepare(self, names: Sequence[str]) -> None:
        for name in (packing.CODE, *names):
            if name not in self._futures:
                self._futures[name] = self._pool.submit(self._unpack, name)

    def _unpack(self, name: str) -> None:
        if name != packing.CODE:
            self.wait(packing.CODE)
        # A process of its own, since Python's threads take turns.
        command = [sys.executable, "-P", packing.__file__, str(self.bundle / name), str(self.folder)]
        subprocess.run(command, check=True, capture_output=True)

    def wait(self, name: str) -> None:
        self._futures[name].result()

    def stop(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class WorkerError(Exception):
    """A process cannot even begin."""


class Ending(Enum):
    """How a job ended: as it should; with its process; not within its limit."""

    DONE = 1
    CRASH = 2
    LATE = 3


class Worker:
    """One process of worker.py. It begins with an empty cache of the driver's compiled code."""

    def __init__(self, bundle: Path, archives: Archives) -> None:
        self.cache = tempfile.TemporaryDirectory(prefix="cache-", dir=archives.folder)
        self.log = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115, since the process writes it
        packages = [str(PACKAGE), str(PACKAGE / "python"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment = {**os.environ, "CUDA_CACHE_PATH": self.cache.name, "PYTHONPATH": os.pathsep.join(packages)}
        command = [sys.executable, "-m", "tools.gpu_check.worker", str(bundle), str(archives.folder)]
        # A group of its own: torch.compile starts processes too.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment,
            start_new_session=True,
        )  # fmt: skip
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def start(self, limit_s: float) -> Ending:
        """Waits until PyTorch is imported and the GPU found, which do not count as a job."""
        return self._until("ready", None, limit_s)

    def do(self, job: Job, out: Results, limit_s: float) -> Ending:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, as its output tells
            self.process.stdin.write(json.dumps(asdict(job)) + "\n")
            self.process.stdin.flush()
        return self._until("done", out, limit_s)

    def _until(self, word: str, out: Results | None, limit_s: float) -> Ending:
        end = time.monotonic() + limit_s
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                return Ending.LATE
            if line is None:
                return Ending.CRASH
            content = json.loads(line)
            if word in content:
                return Ending.DONE
            assert out is not None
            out.add(Result(**content))

    def last_words(self) -> str:
        """The end of the log of a process that has ended."""
        code = self.process.wait()
        self.log.seek(0)
        lines = [line.strip() for line in self.log.read().splitlines() if line.strip()]
        return f"the process ended with code {code}: " + " | ".join(lines[-3:])[-600:]

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def failure(job: Job, text: str) -> Result:
    return Result(job.part, job.name, job.kind, job.what, FAILED, text)


def too_long(job: Job) -> Result:
    """A first call of torch.compile that takes too long is a result, and not a failure of ours."""
    if job.what == "compile":
        text = f"the first call takes more than {COMPILE_LIMIT_S:.0f} s"
        return Result(job.part, job.name, job.kind, "torch.compile", MEASURED, text)
    return failure(job, f"no end after {job.limit_s:.0f} s")


class Crew:
    """Does jobs in their order until the deadline."""

    def __init__(self, bundle: Path, archives: Archives, out: Results, deadline: float) -> None:
        self.bundle, self.archives, self.out, self.deadline = bundle, archives, out, deadline
        self.stopping = threading.Event()
        self.workers: set[Worker] = set()

    def do(self, planned: Sequence[Job], at_once: int) -> list[Job]:
        """Those that were not begun, or that the deadline cut off."""
        waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for job in planned:
            waiting.put(job)
        left: list[Job] = []
        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(self._member, waiting, left) for _ in range(at_once)]
            try:
                for future in futures:
                    future.result()
            finally:
                self.stopping.set()
                for worker in list(self.workers):
                    worker.close()
        self.stopping.clear()
        return left

    def _member(self, waiting: "queue.SimpleQueue[Job]", left: list[Job]) -> None:
        worker: Worker | None = None
        while not self.stopping.is_set():
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                break
            if self.deadline <= time.monotonic():
                left.append(job)
                continue
            if worker is not None and job.is_fresh:
                self._dismiss(worker)
                worker = None
            worker = self._one_job(worker, job, left)
        if worker is not None:
            self._dismiss(worker)

    def _one_job(self, worker: Worker | None, job: Job, left: list[Job]) -> Worker | None:
        """The worker, if it goes on."""
        self.archives.wait(job.archive)
        if worker is None:
            worker = Worker(self.bundle, self.archives)
            self.workers.add(worker)
            if worker.start(START_LIMIT_S) is not Ending.DONE and not self.stopping.is_set():
                worker.close()
                raise WorkerError(f"a process that runs models does not start: {worker.last_words()}")
        seconds = self.deadline - time.monotonic()
        ending = worker.do(job, self.out, min(job.limit_s, max(seconds, 0)))
        if ending is Ending.DONE:
            return worker
        self._dismiss(worker)
        if self.stopping.is_set():
            return None  # what a process tells that was ended to stop is not a result
        if ending is Ending.CRASH:
            self.out.add(failure(job, worker.last_words()))
        elif seconds < job.limit_s:
            left.append(job)
        else:
            self.out.add(too_long(job))
        return None

    def _dismiss(self, worker: Worker) -> None:
        worker.close()
        self.workers.discard(worker)
