"""The table of a benchmark, and what it comes to."""

import math
import statistics
from collections.abc import Iterable, Sequence

from tools.benchmark.measurement import ModelResults
from tools.benchmark.turns import Result

OURS = "onnxc"
MOST_OTHER_CORES = 0.15  # kept busy by other programs, in a measurement that counts
MOST_DISTANCE = 1.1  # between the ratio of the least times and the median of the rounds' ratios


def ratio(results: ModelResults, threads: int, peer: str, key: str = "minimum_ms") -> float | None:
    """How many times as much of `key` the peer has as onnxc; None if one of them failed."""
    row = results.threads.get(threads, {})
    if key not in row.get(OURS, {}) or key not in row.get(peer, {}):
        return None
    return float(row[peer][key] / row[OURS][key])


def took_part(results: ModelResults, engine: str) -> bool:
    return any(engine in row for row in results.threads.values())


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def largest_error(result: Result) -> float | None:
    return max(result["errors"]) if result.get("errors") else None


def time_cell(results: ModelResults, threads: int, engine: str) -> str:
    result = results.threads[threads].get(engine)
    if result is None:
        return "-"
    if "error" in result:
        return "failed"
    text = f"{result['minimum_ms']:.1f}" if result["minimum_ms"] >= 10 else f"{result['minimum_ms']:.2f}"
    times = ratio(results, threads, engine)
    return text if engine == OURS or times is None else f"{text} ({times:.2f}x)"


def joined(texts: Iterable[str | None]) -> str:
    return " / ".join(text or "-" for text in texts)


def header(engines: Sequence[str]) -> list[str]:
    others = [engine for engine in engines if engine != "pytorch"]
    return [
        "model",
        "threads",
        *(f"{engine} ms" for engine in engines),
        f"peak MiB: {joined(engines)}",
        f"load ms: {joined(others)}",
        f"error, 1e-7: {joined(others)}",
        "compile s",
        ".so MiB",
    ]


def cells(results: ModelResults, threads: int, engines: Sequence[str]) -> list[str]:
    row = results.threads[threads]
    others = [engine for engine in engines if engine != "pytorch"]

    def values(names: Sequence[str], key: str) -> str:
        return joined(f"{row[name][key]:.0f}" if key in row.get(name, {}) else None for name in names)

    errors = (largest_error(row.get(name, {})) for name in others)
    compiled = results.compiled
    return [
        results.model,
        str(threads),
        *(time_cell(results, threads, engine) for engine in engines),
        values(engines, "peak_mib"),
        values(others, "load_ms"),
        joined(None if error is None else f"{error * 1e7:.1f}" for error in errors),
        f"{compiled.compile_ms / 1e3:.1f}" if compiled else "-",
        f"{compiled.bytes / 2**20:.1f}" if compiled else "-",
    ]


def table(all_results: Sequence[ModelResults], engines: Sequence[str]) -> str:
    """In Markdown, with columns that line up."""
    rows = [header(engines)]
    rows += [cells(results, threads, engines) for results in all_results for threads in results.threads]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    )


def failures(all_results: Sequence[ModelResults]) -> list[str]:
    return [
        f"{results.model}, {threads} threads: {engine} failed: {result['error']}"
        for results in all_results
        for threads, row in results.threads.items()
        for engine, result in row.items()
        if "error" in result
    ]


def disturbances(all_results: Sequence[ModelResults]) -> list[str]:
    """Notes that other programs ran beside an engine's best turn: its time is too long."""
    return [
        f"{results.model}, {threads} threads: {result['other_cores']:.1f} cores were busy with other programs "
        f"beside {engine}"
        for results in all_results
        for threads, row in results.threads.items()
        for engine, result in row.items()
        if result.get("other_cores", 0.0) > MOST_OTHER_CORES
    ]


def unsettled(all_results: Sequence[ModelResults], engines: Sequence[str]) -> list[str]:
    """Notes that the least times say otherwise than most rounds: one engine met the machine at a speed the other did
    not."""
    lines = []
    for results in all_results:
        for threads, row in results.threads.items():
            for peer in engines:
                least = ratio(results, threads, peer)
                if peer == OURS or least is None:
                    continue
                rounds = zip(row[peer]["turns_ms"], row[OURS]["turns_ms"], strict=True)
                median = statistics.median(theirs / ours for theirs, ours in rounds)
                if max(least / median, median / least) > MOST_DISTANCE:
                    lines.append(
                        f"{results.model}, {threads} threads: {least:.2f} times as fast as {peer} by the least times, "
                        f"{median:.2f} in the median round"
                    )
    return lines


def summary(all_results: Sequence[ModelResults], engines: Sequence[str], threads: int) -> list[str]:
    """Against each peer: how many times as fast onnxc is over the models that both ran."""
    lines = []
    for peer in engines:
        if peer == OURS:
            continue
        pairs = [(ratio(results, threads, peer), results.model) for results in all_results]
        known = [(value, model) for value, model in pairs if value is not None]
        if not known:
            continue
        least, model = min(known)
        mean = geometric_mean([value for value, _ in known])
        lines.append(
            f"{threads} thread{'s' if threads > 1 else ''}, against {peer}: {mean:.2f} times as fast (geometric mean "
            f"of {len(known)}), least {least:.2f} ({model})"
        )
    return lines


def scaling(all_results: Sequence[ModelResults], engines: Sequence[str], few: int, many: int) -> list[str]:
    """How many times as fast each engine is on `many` threads as on `few`."""
    lines = []
    for results in all_results:
        parts = []
        for engine in engines:
            before, after = (results.threads.get(count, {}).get(engine, {}) for count in (few, many))
            if "minimum_ms" in before and "minimum_ms" in after:
                parts.append(f"{engine} {before['minimum_ms'] / after['minimum_ms']:.2f}")
        lines.append(f"{results.model}: {many} threads over {few}: {', '.join(parts)}")
    return lines
