"""The pictures of a benchmark. matplotlib is only needed here."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.lines import Line2D

from tools.benchmark.layers import Profile
from tools.benchmark.measurement import ModelResults
from tools.benchmark.report import OURS, ratio

pyplot.switch_backend("Agg")  # draws into files, on a machine without a screen

COLORS = {"onnxc": "#1b6ca8", "onnxruntime": "#e08e45", "openvino": "#7a9e7e", "pytorch": "#b0483a"}
KINDS = {  # of steps, by the start of their names
    "conv_winograd": "#7b3fa0",
    "conv": "#1b6ca8",
    "matmul": "#e08e45",
    "loops": "#999999",
}
OTHER_KIND = "#3a9188"
LEAST_SHARE = 0.002  # of the time, for a step to be a dot


def draw_bars(
    all_results: Sequence[ModelResults], engines: Sequence[str], threads: int, title: str, path: Path
) -> None:
    """Speed of each engine on each model, onnxc's being 1."""
    figure, axes = pyplot.subplots(figsize=(max(7.0, 1.5 * len(all_results) + 2), 4.5), layout="constrained")
    width = 0.8 / len(engines)
    for index, engine in enumerate(engines):
        places = [place + (index - (len(engines) - 1) / 2) * width for place in range(len(all_results))]
        times = [1.0 if engine == OURS else ratio(results, threads, engine) for results in all_results]
        heights = [1 / value if value else math.nan for value in times]
        bars = axes.bar(places, heights, width, label=engine, color=COLORS[engine])
        axes.bar_label(bars, ["failed" if math.isnan(h) else f"{h:.2f}" for h in heights], fontsize=7, padding=1)
    axes.set_xticks(range(len(all_results)), [results.model for results in all_results], fontsize=8)
    axes.set_ylabel("speed, onnxc = 1 (higher is faster)")
    axes.axhline(1, color=COLORS[OURS], linewidth=0.6)
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8, ncols=len(engines))
    axes.margins(y=0.15)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def color_of(step: str) -> str:
    return next((color for start, color in KINDS.items() if step.startswith(start)), OTHER_KIND)


def draw_rooflines(profiles: Mapping[str, Profile], title: str, path: Path) -> None:
    """One panel a model; each step of it a dot, its area growing with its share of the time."""
    columns = min(3, len(profiles))
    rows = math.ceil(len(profiles) / columns)
    size = (4.2 * columns, 3.4 * rows + 0.6)
    figure, grid = pyplot.subplots(
        rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    panels = list(grid.flat)
    for axes in panels[len(profiles) :]:
        axes.set_visible(False)
    for axes, (model, profile) in zip(panels, profiles.items(), strict=False):
        total = sum(layer.milliseconds for layer in profile.layers)
        layers = [layer for layer in profile.layers if layer.milliseconds >= LEAST_SHARE * total]
        low, ridge, high = 0.02, profile.peak_gflops / profile.peak_gigabytes, 2000.0
        axes.loglog(
            [low, ridge, max(high, ridge)], [low * profile.peak_gigabytes, *2 * [profile.peak_gflops]], "k-", lw=1
        )
        axes.scatter(
            [layer.intensity for layer in layers],
            [layer.gflops for layer in layers],
            s=[6 + 600 * layer.milliseconds / total for layer in layers],
            c=[color_of(layer.name) for layer in layers],
            alpha=0.6,
            linewidths=0.4,
            edgecolors="black",
        )
        axes.set_title(f"{model} (roof {profile.peak_gflops:.0f} GFLOP/s)", fontsize=9)
        axes.grid(alpha=0.3)
    for axes in grid[:, 0]:
        axes.set_ylabel("GFLOP/s of the definition")
    for axes in grid[-1]:
        axes.set_xlabel("operations a byte")
    legend = [*KINDS.items(), ("other", OTHER_KIND)]
    marks = [Line2D([], [], marker="o", ls="", color=color, label=kind) for kind, color in legend]
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8)
    figure.suptitle(title, fontsize=9)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
