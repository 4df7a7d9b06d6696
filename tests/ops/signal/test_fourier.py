"""DFT and STFT against numpy's FFT; MelWeightMatrix against onnxruntime; windows against ONNX's formulas."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from tests import onnxc_commands
from tests.ops.case import Case, Constant, case, constant, random, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test

LENGTHS = (1, 2, 5, 8, 12)


def scalar(value: int, dtype: Any = np.int64) -> Constant:
    return constant(value, dtype)


def parts(values: Array, dtype: Any) -> Array:
    return np.stack([values.real, values.imag], -1).astype(dtype)


def as_complex(x: Array) -> Array:
    return x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)


def transformed(x: Array, axis: int, length: int | None, inverse: int, onesided: int) -> Array:
    values = as_complex(x)
    if inverse and onesided:
        return np.fft.irfft(values, length, axis)[..., None].astype(x.dtype)
    result = (np.fft.ifft if inverse else np.fft.fft)(values, length, axis)
    if onesided:
        result = np.take(result, range(result.shape[axis] // 2 + 1), axis)
    return parts(result, x.dtype)


def dft(name: str, x: Array, axis: int, length: int | None = None, opset: int = 20, run_time: bool = False,
        **settings: Any) -> Case:  # fmt: skip
    """axis: of the signals, without the last axis, so that numpy's is the same."""
    flags = {key: settings.get(key, 0) for key in ("inverse", "onesided")}
    expected = [transformed(x, axis, length, **flags)]
    given_length: Array | Constant | None = None if length is None else scalar(length)
    tolerance = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 1e-4}.get(x.dtype, 1e-2)
    if opset < 20:
        settings["axis"] = axis
        return case("DFT", x, given_length, name=name, opset=opset, expected=expected, tolerance=tolerance, **settings)
    given_axis: Array | Constant = np.array(axis) if run_time else scalar(axis)
    if run_time and length is not None:
        given_length = np.array(length)
    return case(
        "DFT", x, given_length, given_axis, name=name, opset=opset, expected=expected, tolerance=tolerance, **settings
    )


def dft_cases() -> list[Case]:
    cases = []
    for length in LENGTHS:
        for count in (1, 2):
            x = random(2, length, 3, count, seed=length)
            cases += [
                dft(f"{length} {count}", x, 1),
                dft(f"{length} {count} inverse", x, 1, inverse=1),
            ]
        real, half = random(2, length, 1), random(2, length // 2 + 1, 2)
        cases += [
            dft(f"{length} onesided", real, 1, onesided=1),
            dft(f"{length} back to real", half, 1, length, inverse=1, onesided=1),
        ]
    x = random(3, 6, 4, 2)
    for length in (3, 6, 9):
        for axis in (0, 1, 2):
            cases += [
                dft(f"axis {axis} length {length}", x, axis, length),
                dft(f"axis {axis} length {length} early", x, axis, length, opset=17),
                dft(f"axis {axis} length {length} onesided", x[..., :1], axis, length, onesided=1),
                dft(f"axis {axis} length {length} run time", x, axis, length, run_time=True),
            ]
    cases += [
        case("DFT", x, None, scalar(-3), name="axis -3", expected=[transformed(x, 1, None, 0, 0)], tolerance=1e-4),
        case("DFT", x, name="default axis", expected=[transformed(x, 2, None, 0, 0)], tolerance=1e-4),
        *[
            dft(
                f"long {length} along {axis}, inverse {inverse}",
                random(*((5, length, 3) if axis else (length, 5, 3)), 1 + inverse),
                axis,
                inverse=inverse,
                onesided=1 - inverse,
            )
            for length, axis in ((512, 1), (513, 0), (1000, 1), (1009, 1))
            for inverse in (0, 1)
        ],
        *[
            dft(
                f"long, {length} of 700, inverse {inverse}, {np.dtype(dtype)}",
                random(700, 2, 2, dtype=dtype),
                0,
                length,
                inverse=inverse,
            )
            for length in (600, 701, 720)
            for dtype in (np.float32, np.float64)
            for inverse in (0, 1)
        ],
        *[
            dft(f"long, back to {length} real numbers", random(3, 361, 2), 1, length, inverse=1, onesided=1)
            for length in (700, 720, 721, 757)
        ],
        dft("long, at run time", random(2, 3, 625, 1), 2, run_time=True),
        dft("long, float16", random(2, 600, 2, dtype=np.float16), 1),
        dft("float64", random(2, 7, 2, dtype=np.float64), 1),
        dft("float16", random(2, 7, 2, dtype=np.float16), 1),
        dft("default length back to real", random(2, 5, 2), 1, inverse=1, onesided=1),
        dft("negative at run time", x, 1, run_time=True, onesided=0, inverse=1),
    ]
    return cases


def stft(name: str, signal: Array, step: int, length: int, window: Array | None, onesided: int = 1,
         run_time: bool = False, gives_length: bool = True, has_parts: bool = True) -> Case:  # fmt: skip
    values = as_complex(signal)
    weights = np.ones(length) if window is None else window.astype(np.float64)
    frames = [
        np.fft.fft(values[:, start : start + length] * weights)
        for start in range(0, signal.shape[1] - length + 1, step)
    ]
    spectra = np.stack(frames, 1)
    if onesided:
        spectra = spectra[..., : length // 2 + 1]

    def given(value: int) -> Array | Constant:
        return np.array(value) if run_time else scalar(value)

    return case(
        "STFT", signal if has_parts else signal[..., 0], given(step), window, given(length) if gives_length else None,
        name=name, tolerance=1e-4, expected=[parts(spectra, signal.dtype)], onesided=onesided,
    )  # fmt: skip


def stft_cases() -> list[Case]:
    real, numbers = random(2, 37, 1), random(2, 37, 2)
    window = np.hanning(8).astype(np.float32)
    return [
        stft("window", real, 3, 8, window),
        stft("window alone", real, 4, 8, window, gives_length=False),
        stft("no window", real, 5, 9, None),
        stft("two-sided", real, 3, 8, window, onesided=0),
        stft("complex", numbers, 2, 8, window, onesided=0),
        stft("at run time", real, 3, 8, window, run_time=True),
        stft("one frame", real, 1, 37, None, gives_length=False),
        # As onnxruntime takes it too: the last axis, of one real number, is left out.
        stft("of rank 2", real, 3, 8, window, has_parts=False),
        stft("of rank 2, two-sided", real, 4, 8, None, onesided=0, has_parts=False),
        stft("of rank 2 at run time", real, 3, 8, window, run_time=True, has_parts=False),
        stft("of rank 2 and two numbers", real[:, :2], 1, 2, None, has_parts=False),
        with_unknown_dims(stft("of rank 2", real, 3, 8, window, has_parts=False)),
        stft("complex at run time", numbers, 2, 8, window, run_time=True),
        stft("two-sided at run time", real, 3, 9, None, run_time=True, onesided=0),
        stft("of float64", random(2, 90, 1, dtype=np.float64), 7, 60, np.hanning(60)),
        stft("of frames that no matrix is for", random(1, 4200, 1), 50, 4099, None),
    ]


def mel(name: str, bins: int, length: int, rate: int, low: float, high: float, run_time: bool = False) -> Case:
    whole = [np.array(value, np.int64) for value in (bins, length, rate)]
    edges = [np.array(value, np.float32) for value in (low, high)]
    given: list[Array] = [*whole, *edges]
    return case("MelWeightMatrix", *(given if run_time else [Constant(value) for value in given]), name=name, opset=17)


MEL = [
    mel("16000", 8, 16, 8192, 0, 4096),
    mel("speech", 20, 512, 16000, 80, 7600),
    mel("at run time", 10, 64, 8192, 20, 4000, run_time=True),
]

WINDOWS = [
    case(f"{kind}Window", size, name=f"periodic {periodic} {how}", periodic=periodic, opset=17)
    for kind in ("Hann", "Hamming", "Blackman")
    for periodic in (0, 1)
    for how, size in (("known", scalar(9)), ("at run time", np.array(9)))
]

CASES = [*dft_cases(), *stft_cases(), *MEL, *WINDOWS]
test_fourier = table_test("fourier", CASES, EVERYWHERE)
test_unknown_dims = table_test("fourier_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])


@pytest.mark.usefixtures("commands")
def test_two_along_one_axis_of_the_run(tmp_path: Path) -> None:
    """The first makes a symbol of the axis, which the second must not take for a number."""
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 20]> g (float[A, B, 2] x, int64 axis) => (float[?, ?, ?] y) '
        '{ t = DFT(x, "", axis) y = DFT<inverse = 1>(t, "", axis) }'
    )
    onnx.save(model, tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    x = random(4, 5, 2)
    for axis in (0, 1):
        results = onnxc_commands.run_arrays(
            shared_object, {"x": x, "axis": np.array(axis)}, ["y"], tmp_path / str(axis)
        )
        np.testing.assert_allclose(results["y"], x, atol=1e-5)
