"""The results as one page of tables."""

from collections.abc import Callable, Sequence

from tools.gpu_check.jobs import COMPILE, CORRECTNESS, LOAD, SANITIZER, SCAN, SHAPES
from tools.gpu_check.kinds import KINDS
from tools.gpu_check.networks.table import NETWORKS
from tools.gpu_check.results import FAILED, MEASURED, RIGHT, WRONG, Result
from tools.gpu_check.shapes import GOAL_MS

FILE = "table.md"
MOST_PROBLEMS = 40
OURS = ("onnxc graph", "onnxc")
PEERS = ("torch eager ncdhw", "torch eager ndhwc", "torch graph ncdhw", "torch graph ndhwc")


def render(results: Sequence[Result]) -> str:
    sections = [machine(results), problems(results), correctness(results), times(results), scans(results)]
    sections += [loads(results), shapes(results), sanitizers(results)]
    return "\n\n".join(section for section in sections if section) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def machine(results: Sequence[Result]) -> str:
    found = [each for each in results if each.part == "machine"]
    return "; ".join(f"{key} {value}" for key, value in found[-1].values.items()) if found else ""


def problems(results: Sequence[Result]) -> str:
    bad = [each for status in (WRONG, FAILED) for each in results if each.status == status]
    lines = [f"- {each.status.upper()}: {each.name} {each.kind}, {each.what}: {each.text}" for each in bad]
    more = [f"- and {len(lines) - MOST_PROBLEMS} more"] if len(lines) > MOST_PROBLEMS else []
    return "\n".join(lines[:MOST_PROBLEMS] + more)


def correctness(results: Sequence[Result]) -> str:
    """A row for each product kind: how many models are right in each way, and the largest error as a part of what is
    allowed."""
    # A process that ended says so in a result of its job, not of one of the ways.
    found = [each for each in results if each.part == CORRECTNESS and each.what != "check"]
    if not found:
        return ""
    ways = list(dict.fromkeys(each.what for each in found))
    rows = []
    for kind in KINDS:
        its = [each for each in found if each.kind == kind]
        if its:
            worst = max(each.values.get("error", 0) / each.values.get("tolerance", 1) for each in its)
            cells = [count([each for each in its if each.what == way]) for way in ways]
            rows.append([kind, *cells, f"{worst:.2f}"])
    return table(["models right", *ways, "largest error of allowed"], rows)


def count(results: Sequence[Result]) -> str:
    right = sum(each.status == RIGHT for each in results)
    refused = sum(each.status == MEASURED for each in results)
    return f"{right} of {len(results)}" + (f", {refused} refused as they must be" if refused else "")


Key = tuple[str, str]


def times(results: Sequence[Result]) -> str:
    """The best of each side: launches or a graph; for PyTorch eager or a graph, in either layout."""
    timed: dict[Key, dict[str, Result]] = {}
    for each in results:
        if "best" in each.values or (each.part == COMPILE and each.status == MEASURED):
            timed.setdefault((each.name, each.kind), {})[each.what] = each
    order = {name: place for place, name in enumerate(NETWORKS)}
    rows = []
    for name, kind in sorted(timed, key=lambda key: (order[key[0]], list(KINDS).index(key[1]))):
        found, row = timed[name, kind], NETWORKS[name]
        ours, eager = (least(found, ways) for ways in (OURS, PEERS))
        compiled = found.get("torch.compile")
        theirs = [each for each in (eager, compiled) if each is not None and "best" in each.values]
        ratio = ""
        if ours is not None and theirs:
            ratio = f"{min(each.values['best'] for each in theirs) / ours.values['best']:.2f}"
        goal = row.goal_float16_ms if kind == "float16" else None
        cells = [milliseconds(each, row.divisor) for each in (ours, eager, compiled)]
        rows.append([name, kind, *cells, ratio, f"{goal:g}" if goal else ""])
    header = ["ms", "kind", "onnxc", "PyTorch", "torch.compile (first call)", "times as fast", "goal on an H100"]
    return table(header, rows) if rows else ""


def least(found: dict[str, Result], ways: Sequence[str]) -> Result | None:
    known = [found[way] for way in ways if way in found and "best" in found[way].values]
    return min(known, key=lambda each: float(each.values["best"])) if known else None


def milliseconds(result: Result | None, divisor: int) -> str:
    """With the spread of the repeats, and how it ran."""
    if result is None:
        return ""
    if "best" not in result.values:
        return result.text
    text = f"{result.values['best'] / divisor:.4g} (+{100 * result.values['spread']:.0f}%"
    if "first_call_s" in result.values:
        return f"{text}; {result.values['first_call_s']:.0f} s)"
    return f"{text}, {result.what.removeprefix('torch ')})"


def scans(results: Sequence[Result]) -> str:
    def cells(each: Result) -> list[str]:
        values = each.values
        if each.what == "labels":
            return [each.name, each.kind, "labels as in float32", f"{100 * values['equal']:.3f}%", ""]
        notes = [f"{values['peak_bytes'] / 1e9:.1f} GB"] if values.get("peak_bytes") else []
        if "outside_network" in values:
            notes.append(f"{100 * values['outside_network']:.0f}% outside the network")
        seconds = f"{values['best_s']:.3f} to {values['most_s']:.3f}"
        return [each.name, each.kind, each.what, seconds, ", ".join(notes)]

    return of_part(results, SCAN, ["a whole scan, s", "kind", "by", "seconds", ""], cells)


def loads(results: Sequence[Result]) -> str:
    def cells(each: Result) -> list[str]:
        values = each.values
        numbers = [f"{1e3 * values[key]:.1f}" for key in ("open_s", "first_run_s", "second_run_s")]
        return [each.name, each.kind, each.what, *numbers]

    header = ["from the file to a result, ms", "kind", "", "open", "first run", "second run"]
    return of_part(results, LOAD, header, cells)


def shapes(results: Sequence[Result]) -> str:
    def cells(each: Result) -> list[str]:
        numbers = [f"{each.values[key]:.1f}" for key in ("first_ms", "second_ms", "beyond_ms")]
        return [each.name, each.kind, each.what.removeprefix("shape "), *numbers]

    header = ["a new shape, ms", "kind", "", "first run", "second run", f"beyond it (goal: under {GOAL_MS})"]
    return of_part(results, SHAPES, header, cells)


def sanitizers(results: Sequence[Result]) -> str:
    def cells(each: Result) -> list[str]:
        return [each.name, each.kind, each.what, "nothing found" if each.status == RIGHT else each.text]

    return of_part(results, SANITIZER, ["compute-sanitizer", "kind", "tool", "finding"], cells)


def of_part(results: Sequence[Result], part: str, header: Sequence[str], cells: Callable[[Result], list[str]]) -> str:
    """Failures are told above."""
    found = [each for each in results if each.part == part and each.status != FAILED]
    return table(header, [cells(each) for each in found]) if found else ""
