"""The pictures of a benchmark. matplotlib is only needed here."""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.lines import Line2D

from tools.benchmark.layers import Profile
from tools.benchmark.measurement import ModelResults
from tools.benchmark.report import OURS, ratio

pyplot.switch_backend("Agg")  # draws into files, on a machine without a screen

COLORS = {
    "onnxc": "#1b6ca8",
    "onnxruntime": "#e08e45",
    "onnxruntime+onnxc": "#7b6fb0",
    "openvino": "#7a9e7e",
    "openvino-default": "#4f7a55",
    "pytorch": "#b0483a",
}
ENGINE_NAMES = {"openvino": "OpenVINO", "openvino-default": "OpenVINO by default", "pytorch": "PyTorch"}
MODEL_NAMES = {
    "r3d_18": "R3D-18",
    "unet3d": "3D U-Net",
    "c3d": "C3D",
    "x3d_s": "X3D-S",
    "r2plus1d_18": "R(2+1)D-18",
    "seed_convolution": "seed convolution",
    "monai_unet": "MONAI UNet",
    "monai_dynunet": "MONAI DynUNet",
    "monai_segresnet": "MONAI SegResNet",
    "monai_densenet121": "MONAI DenseNet121",
    "monai_swin_unetr": "MONAI SwinUNETR",
    "monai_attention_unet": "MONAI AttentionUnet",
    "monai_basic_unet": "MONAI BasicUNet",
    "monai_segresnet_ds": "MONAI SegResNetDS",
    "monai_highresnet": "MONAI HighResNet",
    "monai_vnet": "MONAI VNet",
    "monai_mednext": "MONAI MedNeXt",
    "monai_unetr": "MONAI UNETR",
    "monai_vit": "MONAI ViT",
    "monai_resnet50": "MONAI ResNet50",
    "monai_se_resnext50": "MONAI SEResNeXt50",
    "monai_efficientnet_b0": "MONAI EfficientNet-B0",
}
KINDS = {  # of steps, by the start of their names
    "conv_winograd": ("Winograd convolution", "#7b3fa0"),
    "conv": ("other convolution", "#1b6ca8"),
    "matmul": ("matrix product", "#e08e45"),
    "attention": ("attention", "#b0483a"),
    "loops": ("loops", "#999999"),
}
OTHER_KIND = ("other kernel", "#3a9188")
LEAST_SHARE = 0.002  # of the time, for a step to be a dot
MODELS_IN_A_ROW = 6


def name_of(model: str) -> str:
    return MODEL_NAMES.get(model, model)


def draw_bars(
    all_results: Sequence[ModelResults], engines: Sequence[str], threads: int, title: str, path: Path
) -> None:
    """Speed of each engine on each model, onnxc's being 1; on top of a peer's bar how many times as fast onnxc is."""
    rows = math.ceil(len(all_results) / MODELS_IN_A_ROW)
    in_a_row = math.ceil(len(all_results) / rows)
    size = (max(6.0, 1.6 * in_a_row + 1), 2.5 * rows + 0.8)
    figure, panels = pyplot.subplots(rows, 1, figsize=size, sharey=True, squeeze=False, layout="constrained")
    width = 0.84 / len(engines)
    for row, axes in enumerate(panels[:, 0]):
        models = all_results[row * in_a_row : (row + 1) * in_a_row]
        for index, engine in enumerate(engines):
            places = [place + (index - (len(engines) - 1) / 2) * width for place in range(len(models))]
            times = [1.0 if engine == OURS else ratio(results, threads, engine) for results in models]
            heights = [1 / value if value else 0.0 for value in times]
            bars = axes.bar(places, heights, width * 0.94, color=COLORS[engine], label=ENGINE_NAMES.get(engine, engine))
            if engine != OURS:
                labels = ["failed" if value is None else f"{value:.1f}\u00d7" for value in times]
                axes.bar_label(bars, labels, fontsize=8, padding=2)
        axes.set_xlim(-0.55, in_a_row - 0.45)  # a last row may have fewer
        axes.set_xticks(range(len(models)), [name_of(results.model) for results in models], fontsize=9)
        axes.tick_params(length=0)
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.margins(y=0.14)
    figure.supylabel("speed, onnxc = 1", fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(engines), fontsize=9, frameon=False)
    figure.suptitle(f"{title}\non top of a bar: how many times as fast onnxc is", fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_volumes(results: Mapping[str, Mapping[str, Any]], title: str, path: Path) -> None:
    """For each engine the seconds of a volume, in the network and outside of it, and the memory above the weights.

    results: by engine, as tools.benchmark.volumes.measure gives them; those that failed are left out.
    """
    done = {engine: result for engine, result in results.items() if "error" not in result}
    engines = list(done)
    peers = {engine: engine.removeprefix("monai+") for engine in engines}
    names = [peer if peer == engine else f"MONAI +\n{ENGINE_NAMES.get(peer, peer)}" for engine, peer in peers.items()]
    colors = [COLORS[peer] for peer in peers.values()]
    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(8.4, 2.9), layout="constrained", width_ratios=(3, 2))
    volumes = [done[engine]["volumes"] for engine in engines]
    seconds = [statistics.mean(volume["seconds"] for volume in each) for each in volumes]
    network = [statistics.mean(volume["network_seconds"] for volume in each) for each in volumes]
    outside = [whole - inside for whole, inside in zip(seconds, network, strict=True)]
    time.bar(names, network, 0.62, color=colors)
    bars = time.bar(names, outside, 0.62, bottom=network, color="#555555", label="outside the network")
    ours = seconds[engines.index(OURS)] if OURS in engines else None
    ratios = [
        "" if ours is None or engine == OURS else f"\n{whole / ours:.2f}\u00d7"
        for engine, whole in zip(engines, seconds, strict=True)
    ]
    time.bar_label(
        bars, [f"{whole:.0f} s{more}" for whole, more in zip(seconds, ratios, strict=True)], fontsize=8, padding=2
    )
    time.set_ylabel("seconds a volume", fontsize=9)
    time.legend(fontsize=8, frameon=False, loc="upper left")
    gibibytes = [done[engine]["added_mib"] / 1024 for engine in engines]
    memory.bar_label(memory.bar(names, gibibytes, 0.62, color=colors), fmt="%.2f", fontsize=8, padding=2)
    memory.set_ylabel("GiB above the weights", fontsize=9)
    for axes in (time, memory):
        axes.tick_params(length=0, labelsize=9)
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.margins(y=0.22)
    figure.suptitle(f"{title}\n\u00d7: how many times as fast onnxc is", fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def color_of(step: str) -> str:
    return next((color for start, (_, color) in KINDS.items() if step.startswith(start)), OTHER_KIND[1])


def draw_rooflines(profiles: Mapping[str, Profile], title: str, path: Path) -> None:
    """One panel a model; each step of it a dot, its area growing with its share of the time."""
    columns = min(3, len(profiles))
    rows = math.ceil(len(profiles) / columns)
    size = (3.6 * columns + 0.4, 2.6 * rows + 1)
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
        axes.set_title(name_of(model), fontsize=10)
        axes.annotate(
            f"{profile.peak_gflops:.0f} GFLOP/s",
            (1, profile.peak_gflops),
            (-4, 4),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            fontsize=7,
        )
        axes.annotate(
            f"{profile.peak_gigabytes:.0f} GB/s",
            (low, low * profile.peak_gigabytes),
            (16, 2),
            textcoords="offset points",
            fontsize=7,
        )
        axes.grid(alpha=0.25)
    for axes in grid[:, 0]:
        axes.set_ylabel("GFLOP/s of the definition", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("operations a byte", fontsize=8)
    legend = [*KINDS.values(), OTHER_KIND]
    marks = [Line2D([], [], marker="o", ls="", color=color, label=kind) for kind, color in legend]
    figure.legend(
        handles=marks, loc="outside lower center", ncols=min(len(marks), 2 * columns), fontsize=9, frameon=False
    )
    figure.suptitle(f"{title}\na dot is a step, its area the step's share of the time", fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
