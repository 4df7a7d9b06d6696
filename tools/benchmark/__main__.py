"""Measures onnxc, onnxruntime, OpenVINO and PyTorch side by side: speed, memory, load and compile times, error.

    make bench
    make bench BENCH="r3d_18 unet3d --threads 2 --rounds 4"
    make bench BENCH="--group dynamic"
    make bench BENCH="--group volumes --threads 2 --rounds 1 --seconds 20 --volume 192x192x144"
    make bench BENCH="--group video --threads 2 --rounds 3 --no-pictures"
    make bench BENCH="c3d --keep"
    make bench BENCH="--group networks --precision bfloat16"

The engines take short turns on each model, each in a process of its own, with the same number of threads, and in
float32 unless --precision says otherwise. bfloat16 is onnxc's option of that name beside OpenVINO's default and its
float32. int8 is the model as onnxruntime.quantization makes it of 8 bits, for each engine. A time is the least of all
iterations, since other programs only ever add to one; in brackets, how many times as fast onnxc is. If the median of
the rounds says otherwise, a line below the table says so. Machines differ: only ratios within one run mean anything.
The error is the largest difference from a float64 run of the same model over its largest magnitude. Under build/bench:
results.json, table.md, speed-N.png (bars by model, N threads) and roofline-N.png (each step a dot). A model's rows are
printed and its results saved as soon as it is measured; with --keep, models that an earlier run measured stay in the
results beside those of this run.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from models.export import export
from models.zoo import ALL_ROWS, MORE_MONAI, PUBLISHED_VIDEO
from tools.benchmark import dynamic, record, report, volumes
from tools.benchmark.engine import ENGINES
from tools.benchmark.layers import Profile, profile_model
from tools.benchmark.machine import describe_machine
from tools.benchmark.measurement import ModelResults, measure_model, reference_outputs
from tools.benchmark.record import Record
from tools.benchmark.turns import Plan, last_line

GROUPS = {
    "networks": ("r3d_18", "unet3d", "c3d", "x3d_s", "r2plus1d_18", "seed_convolution"),
    "monai": ("monai_unet", "monai_dynunet", "monai_segresnet", "monai_densenet121", "monai_swin_unetr"),
    "more-monai": tuple(row.name for row in MORE_MONAI),
    "dynamic": tuple(dynamic.NETWORKS),
    "video": tuple(row.name for row in PUBLISHED_VIDEO),
}
USUAL = ("networks", "monai", "more-monai", "dynamic")  # video takes gigabytes

# The engines that take part.
PRECISIONS = {
    "float32": ("onnxc", "onnxruntime", "openvino", "pytorch"),
    "bfloat16": ("onnxc", "openvino-default", "openvino"),
    "float16": ("onnxc", "openvino"),
    "int8": ("onnxc", "onnxruntime", "openvino-default"),
}

VOLUMES = "volumes"  # no group of models: another kind of run


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="names of models/zoo.py; default: those of the groups")
    parser.add_argument("--group", action="append", choices=[*GROUPS, VOLUMES], help=f"default: {', '.join(USUAL)}")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, help="default: those that have the precision")
    parser.add_argument("--precision", choices=PRECISIONS, default="float32", help="see above; default %(default)s")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, help="of each turn (default 0.5; group volumes: 10)")
    parser.add_argument(
        "--rounds", type=int, help="how often all take turns (default 12); group volumes: volumes of each (default 1)"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=300.0,
        help="seconds of a model without a further round, and until an engine answers (default %(default)s)",
    )
    parser.add_argument("--output", type=Path, default=Path("build/bench"))
    parser.add_argument("--keep", action="store_true", help="keep the results of other models in the output folder")
    parser.add_argument("--prepare", action="store_true", help="export models, run them in float64, and stop")
    parser.add_argument("--no-pictures", action="store_true")
    volumes.add_arguments(parser)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.models if name not in ALL_ROWS]
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; models/zoo.py has {', '.join(ALL_ROWS)}")
    if arguments.precision != "float32" and {"dynamic", VOLUMES} & set(arguments.group or ()):
        parser.error("the groups dynamic and volumes are measured in float32")
    return arguments


def profiles_of(results: ModelResults, threads: Sequence[int]) -> dict[int, Profile]:
    compiled = results.compiled
    if compiled is None:
        return {}
    return {count: profile_model(compiled.model, compiled.shared_object, count) for count in threads}


def versions(all_results: list[ModelResults]) -> dict[str, str]:
    rows = [row for results in all_results for row in results.threads.values()]
    return {engine: result["version"] for row in rows for engine, result in row.items() if "version" in result}


def summary_lines(measured: Record) -> list[str]:
    """The whole table, and what it comes to."""
    all_results = measured.models
    lines = [", ".join(f"{name} {version}" for name, version in versions(all_results).items()), ""]
    if all_results:
        engines = [engine for engine in ENGINES if any(report.took_part(results, engine) for results in all_results)]
        threads = sorted({count for results in all_results for count in results.threads})
        lines += [report.table(all_results, engines), "", *report.failures(all_results)]
        lines += [*report.disturbances(all_results), *report.unsettled(all_results, engines)]
        for count in threads:
            lines += report.summary(all_results, engines, count)
        if len(threads) > 1:
            lines += report.scaling(all_results, engines, threads[0], threads[-1])
    if measured.dynamic:
        lines += ["", dynamic.table(measured.dynamic)]
    return lines


def measure(folder: Path, plan: Plan, output: Path, measured: Record) -> str:
    """Adds a model to what has been measured, and returns its table."""
    if folder.name in dynamic.NETWORKS:
        cost = dynamic.measure(folder, plan, output)
        measured.add_dynamic(cost)
        return dynamic.table([cost])
    results = measure_model(folder, plan, output)
    measured.add(results, profiles_of(results, plan.threads))
    doubts = [*report.disturbances([results]), *report.unsettled([results], plan.engines)]
    return "\n".join([report.table([results], plan.engines), *report.failures([results]), *doubts])


def main() -> None:
    arguments = parse_arguments()
    output: Path = arguments.output
    output.mkdir(parents=True, exist_ok=True)
    usual = list(USUAL) if arguments.precision == "float32" else ["networks", "monai"]
    groups = arguments.group or ([] if arguments.models else usual)
    if VOLUMES in groups:
        if len(groups) > 1 or arguments.models:
            sys.exit("make bench: the group volumes is measured alone")
        volumes.main(arguments)
        return
    names = [*arguments.models, *(name for group in groups for name in GROUPS[group])]
    plan = Plan(
        tuple(arguments.engines or PRECISIONS[arguments.precision]),
        tuple(arguments.threads),
        arguments.seconds or 0.5,
        arguments.rounds or 12,
        arguments.limit,
        arguments.precision,
    )
    machine = describe_machine()
    print(", ".join(f"{key}: {value}" for key, value in machine.items()), flush=True)
    measured = (record.load(output) if arguments.keep else None) or Record(machine)
    measured.machine = machine

    for number, name in enumerate(names):
        folder = export(ALL_ROWS[name]).model.parent
        if arguments.prepare:
            reference_outputs(folder, output / "float64")
            continue
        print(f"measuring {name} ({number + 1} of {len(names)})", file=sys.stderr, flush=True)
        try:
            print(measure(folder, plan, output, measured), flush=True)
        except subprocess.CalledProcessError as error:  # one model must not end the others
            print(f"{name}: {last_line(error.stderr or '') or error}", file=sys.stderr, flush=True)
        measured.save(output)
        (output / "table.md").write_text("\n".join(summary_lines(measured)) + "\n")
    if arguments.prepare:
        return

    print("\n" + "\n".join(summary_lines(measured)))
    if measured.models and not arguments.no_pictures:
        draw(measured, plan, output)
    print(f"written: {output}/{record.FILE}, table.md" + ("" if arguments.no_pictures else ", *.png"))


def draw(measured: Record, plan: Plan, output: Path) -> None:
    from tools.benchmark import pictures

    for threads in plan.threads:
        models = [results for results in measured.models if threads in results.threads]
        cpu = measured.machine["cpu"]
        title = f"{cpu}, {threads} thread{'s' if threads > 1 else ''}, {plan.precision}, least of {plan.rounds} rounds"
        pictures.draw_bars(models, plan.engines, threads, title, output / f"speed-{threads}.png")
        if measured.profiles.get(threads):
            pictures.draw_rooflines(measured.profiles[threads], title, output / f"roofline-{threads}.png")


if __name__ == "__main__":
    main()
