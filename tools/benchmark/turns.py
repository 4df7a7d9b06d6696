"""Engines take turns on one model: processes that all stay alive and run one at a time.

A machine may change its speed within seconds. Turns of half a second, many times round, let every engine see each
speed; a process for each measurement would spend more time on starting than on running.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Result = dict[str, Any]  # of one engine: the keys of engine.py and turns_ms, the least of each turn; or only "error"


@dataclass(frozen=True)
class Plan:
    """threads: how many each engine may use. seconds: of each turn. rounds: how often all engines take turns.

    limit: seconds of a model after which no further round begins, and after which an engine that does not answer is
    ended. precision: of onnxc's compile, or int8, for which all engines get the quantised model.
    """

    engines: tuple[str, ...]
    threads: tuple[int, ...]
    seconds: float
    rounds: int
    limit: float = 300.0
    precision: str = "float32"


@dataclass(frozen=True)
class Contestant:
    """name: of its results. engine, arguments: those of engine.py."""

    name: str
    engine: str
    arguments: Sequence[str]


class EngineError(Exception):
    """An engine failed or took too long; its message is the last line that it wrote."""


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


class EngineProcess:
    """A program of turns, such as engine.py, in a process of its own. Each method raises EngineError."""

    def __init__(self, module: str, words: Sequence[str], threads: int, limit: float) -> None:
        command = [sys.executable, "-m", module, *words, "--threads", str(threads)]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        self.limit = limit
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (read when the process has failed)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment
        )

    def answer(self) -> Result:
        """Its next line."""
        assert self.process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self.process.kill()

        timer = threading.Timer(self.limit, end)
        timer.start()
        try:
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
        if late.is_set():
            raise EngineError(f"not done after {self.limit:.0f} s")
        if not line:
            code = self.process.wait()
            self.errors.seek(0)
            raise EngineError(last_line(self.errors.read()) or f"exit code {code}")
        result: Result = json.loads(line)
        return result

    def take_turn(self, seconds: float) -> Result:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, and the answer says why
            self.process.stdin.write(f"turn {seconds}\n")
            self.process.stdin.flush()
        return self.answer()

    def finish(self) -> Result:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.answer()

    def close(self) -> None:
        self.process.kill()
        with contextlib.suppress(BrokenPipeError), self.errors, self.process:  # waits for it and closes its pipes
            pass


def summarized(turns: Sequence[Result]) -> Result:
    """The turn with the least time, since other programs only ever add to one, and the least time of each turn."""
    least = min(turns, key=lambda turn: float(turn["minimum_ms"]))
    return {
        "minimum_ms": least["minimum_ms"],
        "other_cores": least["other_cores"],
        "latency_ms": statistics.median(turn["latency_ms"] for turn in turns),
        "iterations": sum(turn["iterations"] for turn in turns),
        "turns_ms": [turn["minimum_ms"] for turn in turns],
    }


class Participant:
    """A contestant with a number of threads: its process, and what that has measured so far.

    Once it has failed, it takes no further part.
    """

    def __init__(self, folder: Path, contestant: Contestant, threads: int, limit: float) -> None:
        words = [contestant.engine, str(folder), *contestant.arguments]
        self.process = EngineProcess("tools.benchmark.engine", words, threads, limit)
        self.loaded: Result = {}
        self.turns: list[Result] = []
        self.error = ""
        try:
            self.loaded = self.process.answer()
        except EngineError as error:
            self.error = str(error)

    def take_turn(self, seconds: float) -> None:
        if self.error:
            return
        try:
            self.turns.append(self.process.take_turn(seconds))
        except EngineError as error:
            self.error = str(error)

    def result(self) -> Result:
        try:
            if not self.error:
                return self.loaded | summarized(self.turns) | self.process.finish()
        except EngineError as error:
            self.error = str(error)
        finally:
            self.process.close()
        return {"error": self.error}


def take_turns(folder: Path, contestants: Sequence[Contestant], plan: Plan) -> dict[int, dict[str, Result]]:
    """The result of each contestant by number of threads. A round has every contestant with every number of threads."""
    participants = {
        (threads, contestant.name): Participant(folder, contestant, threads, plan.limit)
        for threads in plan.threads
        for contestant in contestants
    }
    end = time.perf_counter() + plan.limit
    for number in range(plan.rounds):
        if number > 0 and time.perf_counter() > end:
            break
        for participant in participants.values():
            participant.take_turn(plan.seconds)
    results: dict[int, dict[str, Result]] = {threads: {} for threads in plan.threads}
    for (threads, name), participant in participants.items():
        results[threads][name] = participant.result()
    return results
