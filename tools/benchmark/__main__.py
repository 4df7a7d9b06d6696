"""Measures onnxc, onnxruntime, OpenVINO and PyTorch side by side: speed, memory, load and compile times, error.

    make bench
    make bench BENCH="r3d_18 unet3d --threads 2 --rounds 1 --seconds 1"
    make bench BENCH="--group dynamic"

The engines take turns on each model, each time in a new process, with the same number of threads and in float32. A time
is the least of all iterations, since other programs only ever add to one; in brackets, how many times as fast onnxc is.
Machines differ: only ratios within one run mean anything. The error is the largest difference from a float64 run of the
same model over its largest magnitude. Under build/bench: results.json, table.md, speed-N.png (bars by model, N threads)
and roofline-N.png (each step a dot).
"""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from tests.models.export import export
from tests.models.zoo import ROWS
from tools.benchmark import dynamic, report
from tools.benchmark.engine import ENGINES
from tools.benchmark.layers import Profile, profile_model
from tools.benchmark.machine import describe_machine
from tools.benchmark.measurement import ModelResults, Plan, measure_model

GROUPS = {
    "networks": ("seed_convolution", "c3d", "r3d_18", "r2plus1d_18", "unet3d", "x3d_s"),
    "monai": ("monai_unet", "monai_dynunet", "monai_segresnet", "monai_swin_unetr", "monai_densenet121"),
    "dynamic": ("unet3d_dynamic", "r3d_18_dynamic", "x3d_s_dynamic"),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="names of tests/models/zoo.py; default: those of the groups")
    parser.add_argument("--group", action="append", choices=GROUPS, help="default: all")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often all take turns (default %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("build/bench"))
    parser.add_argument("--no-pictures", action="store_true")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.models if name not in ROWS]
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; tests/models/zoo.py has {', '.join(ROWS)}")
    return arguments


def profile_all(all_results: list[ModelResults], threads: int) -> dict[str, Profile]:
    return {
        results.model: profile_model(results.compiled.model, results.compiled.shared_object, threads)
        for results in all_results
        if results.compiled
    }


def versions(all_results: list[ModelResults]) -> dict[str, str]:
    rows = [row for results in all_results for row in results.threads.values()]
    return {engine: result["version"] for row in rows for engine, result in row.items() if "version" in result}


def to_json(value: object) -> object:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else str(value)


def main() -> None:
    arguments = parse_arguments()
    output: Path = arguments.output
    groups = arguments.group or ([] if arguments.models else list(GROUPS))
    names = [*arguments.models, *(name for group in groups for name in GROUPS[group])]
    folders = [export(ROWS[name]).model.parent for name in names]
    plan = Plan(tuple(arguments.engines), tuple(arguments.threads), arguments.seconds, arguments.rounds)
    machine = describe_machine()
    print(", ".join(f"{key}: {value}" for key, value in machine.items()))

    all_results: list[ModelResults] = []
    dynamic_results: list[dynamic.Cost] = []
    for folder in folders:
        print(f"measuring {folder.name}", file=sys.stderr, flush=True)
        if folder.name in GROUPS["dynamic"]:
            dynamic_results.append(dynamic.measure(folder, plan, output))
        else:
            all_results.append(measure_model(folder, plan, output))

    lines = [", ".join(f"{name} {version}" for name, version in versions(all_results).items()), ""]
    if all_results:
        lines += [report.table(all_results, plan.engines), "", *report.failures(all_results)]
        for threads in plan.threads:
            lines += report.summary(all_results, plan.engines, threads)
        if len(plan.threads) > 1:
            lines += report.scaling(all_results, plan.engines, min(plan.threads), max(plan.threads))
    if dynamic_results:
        lines += ["", dynamic.table(dynamic_results)]
    print("\n".join(lines))

    profiles = {threads: profile_all(all_results, threads) for threads in plan.threads}
    content = {"machine": machine, "models": all_results, "dynamic": dynamic_results, "profiles": profiles}
    (output / "results.json").write_text(json.dumps(content, indent=1, default=to_json))
    (output / "table.md").write_text("\n".join(lines) + "\n")
    if all_results and not arguments.no_pictures:
        draw(all_results, plan, profiles, machine["cpu"], output)
    print(f"written: {output}/results.json, table.md" + ("" if arguments.no_pictures else ", *.png"))


def draw(
    all_results: list[ModelResults], plan: Plan, profiles: dict[int, dict[str, Profile]], cpu: str, output: Path
) -> None:
    from tools.benchmark import pictures

    for threads in plan.threads:
        title = f"{cpu}, {threads} thread{'s' if threads > 1 else ''}, float32, least of {plan.rounds} rounds"
        pictures.draw_bars(all_results, plan.engines, threads, title, output / f"speed-{threads}.png")
        if profiles[threads]:
            pictures.draw_rooflines(profiles[threads], title, output / f"roofline-{threads}.png")


if __name__ == "__main__":
    main()
