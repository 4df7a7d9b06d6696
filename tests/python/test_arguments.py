"""Every parameter of every public function and class of the package, given what it cannot be: ArgumentError, by name.

A row says which of the usual wrong values (None, 0, -1, NaN, a word, ...) a parameter takes. All others must be
refused, by a text that begins with the parameter's name. Arguments that are taken must work.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxc
import onnxc.backend
from onnxc.compatibility import IOBinding
from tests import onnxc_commands

pytestmark = pytest.mark.usefixtures("commands")

MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
halves (float[N, 2, D, H, W] x) => (y) <float half = {0.5}> { y = Mul(x, half) }
"""
CARRYING = """
<ir_version: 10, opset_import: ["" : 20]>
carrying (float[2] x, float[2] a) => (y, next) { next = Identity(x)  y = Identity(a) }
"""
PROBES: dict[str, Any] = {
    "None": None,
    "0": 0,
    "-1": -1,
    "-2": -2,
    "1.5": 1.5,
    "nan": math.nan,
    "True": True,
    "word": "no such word",
    "list": [],
    "dict": {},
    "object": object(),
}
COUNT = {"None", "0", "-1"}


@dataclass(frozen=True)
class Row:
    """call: the function with one argument of this name changed. taken: of each parameter, the probes that it takes.
    unchecked: parameters of any type, or that are refused by a model's or the compiler's own error; each with the
    reason."""

    signature: Callable[..., Any]
    call: Callable[..., Any]
    taken: Mapping[str, set[str]]
    unchecked: Mapping[str, str] = field(default_factory=dict)


FOLDERS: dict[str, Path] = {}
X = np.ones((1, 2, 3, 4, 5), np.float32)


def opened() -> onnxc.InferenceSession:
    return onnxc.InferenceSession(FOLDERS["model"])


def session(**changed: Any) -> object:
    return onnxc.InferenceSession(**{"path_or_bytes": FOLDERS["model"], **changed})


def compiled(**changed: Any) -> object:
    return onnxc.compile(**{"model": FOLDERS["source"], **changed})


def run(**changed: Any) -> object:
    return opened().run(**{"output_names": None, "input_feed": {"x": X}, **changed})


def run_async(**changed: Any) -> None:
    given = {"output_names": None, "input_feed": {"x": X}, "callback": lambda *_: None, "user_data": None, **changed}
    opened().run_async(**given)


def state_read(**changed: Any) -> object:
    return onnxc.InferenceSession(FOLDERS["carrying"]).get_state(**{"name": "a", **changed})


def state_written(**changed: Any) -> None:
    given = {"name": "a", "values": np.ones(2, np.float32), **changed}
    onnxc.InferenceSession(FOLDERS["carrying"]).set_state(**given)


def run_tensors(**changed: Any) -> object:
    return opened().run_tensors(**{"inputs": {"x": X}, **changed})


def window(**changed: Any) -> object:
    made = onnxc.SlidingWindow(**{"model": FOLDERS["model"], "roi_size": 2, **changed})
    return made(X)


def windows_over(**changed: Any) -> object:
    return onnxc.SlidingWindow(FOLDERS["model"], 2)(**{"inputs": X, **changed})


def predictor(**changed: Any) -> object:
    made = onnxc.nnunet.Predictor(**changed)
    made.initialize_from_models([FOLDERS["model"]], (2, 2, 2))
    return made.predict_logits_from_preprocessed_data(X[0])


def models(**changed: Any) -> object:
    made = onnxc.nnunet.Predictor()
    made.initialize_from_models(**{"models": [FOLDERS["model"]], "patch_size": (2, 2, 2), **changed})
    return made.predict_logits_from_preprocessed_data(X[0])


def trained(**changed: Any) -> None:
    given = {"model_training_output_dir": FOLDERS["model"].parent, "use_folds": [0], **changed}
    onnxc.nnunet.Predictor().initialize_from_trained_model_folder(**given)


def volumes(**changed: Any) -> object:
    return onnxc.ray.SegmentVolumes(**{"model": FOLDERS["model"], "roi_size": 2, **changed})


def bound_input(**changed: Any) -> None:
    opened().io_binding().bind_cpu_input(**{"name": "x", "array": X, **changed})


def bound_output(**changed: Any) -> None:
    opened().io_binding().bind_output(**{"name": "y", **changed})


def prepared(**changed: Any) -> object:
    return onnxc.backend.prepare(**{"model": onnx.load(FOLDERS["source"]), **changed})


def entry(**changed: Any) -> None:
    onnxc.SessionOptions().add_session_config_entry(**{"key": "a", "value": "b", **changed})


def entry_read(**changed: Any) -> object:
    options = onnxc.SessionOptions()
    options.add_session_config_entry("a", "b")
    return options.get_session_config_entry(**{"key": "a", **changed})


def with_binding(**changed: Any) -> None:
    binding = opened().io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    opened().run_with_iobinding(**{"iobinding": binding, **changed})


LIKE_ONNXRUNTIME = "onnxruntime's, without an effect here"
OF_SESSION = {"threads": COUNT, "device": set[str](), "entry": {"None"}, "hip_graph": set[str]()}
ROWS = {
    "InferenceSession": Row(
        onnxc.InferenceSession,
        session,
        {
            "path_or_bytes": set(),
            "sess_options": {"None"},
            "providers": {"None", "list"},
            "provider_options": {"None", "list"},
            "states_of": {"None"},
            **OF_SESSION,
        },
    ),
    "compile": Row(
        onnxc.compile,
        compiled,
        {
            "model": set(),
            "output": {"None", "word"},
            "march": {"None"},
            "dims": {"None", "dict"},
            "outputs": {"None"},
            "state": {"None", "dict"},
            "options": {"list"},
            **OF_SESSION,
        },
    ),
    "run": Row(
        onnxc.InferenceSession.run,
        run,
        {"output_names": {"None", "list"}, "input_feed": set(), "out": {"None", "dict"}},
        {"run_options": LIKE_ONNXRUNTIME},
    ),
    "run_async": Row(
        onnxc.InferenceSession.run_async,
        run_async,
        {"callback": set()},
        {
            "output_names": "refused by run, whose error the callback gets",
            "input_feed": "the same",
            "user_data": "handed on as it is",
            "run_options": LIKE_ONNXRUNTIME,
        },
    ),
    "run_tensors": Row(
        onnxc.InferenceSession.run_tensors,
        run_tensors,
        {"inputs": set(), "outputs": {"None", "dict"}, "wait": {"True"}, "stream": {"None"}},
    ),
    "get_state": Row(onnxc.InferenceSession.get_state, state_read, {"name": set()}),
    "set_state": Row(onnxc.InferenceSession.set_state, state_written, {"name": set(), "values": set()}),
    "run_with_iobinding": Row(
        onnxc.InferenceSession.run_with_iobinding, with_binding, {"iobinding": set()}, {"run_options": LIKE_ONNXRUNTIME}
    ),
    "bind_cpu_input": Row(
        IOBinding.bind_cpu_input, bound_input, {"name": set()}, {"array": "refused by the run, as by InferenceSession"}
    ),
    "bind_output": Row(IOBinding.bind_output, bound_output, {"name": set(), "device_type": set(), "device_id": {"0"}}),
    "add_session_config_entry": Row(
        onnxc.SessionOptions.add_session_config_entry, entry, {"key": {"word"}, "value": {"word"}}
    ),
    "get_session_config_entry": Row(onnxc.SessionOptions.get_session_config_entry, entry_read, {"key": set()}),
    "SlidingWindow": Row(
        onnxc.SlidingWindow,
        window,
        {
            "model": set(),
            "roi_size": COUNT,
            "overlap": {"0"},
            "mode": set(),
            "sigma_scale": {"1.5"},
            "padding_mode": set(),
            "sw_batch_size": COUNT,
            "cval": {"0", "-1", "-2", "1.5"},
            "output": set(),
            "mirror_axes": {"list"},
            "fixed": {"None", "dict"},
            "slab_axis": COUNT,
            "progress": {"None", "True"},
            "threads": COUNT,
            "sw_device": {"None"},
            "device": {"None"},
            "cache_roi_weight_map": {"True"},
            "cpu_thresh": COUNT,
            "buffer_steps": COUNT,
            "buffer_dim": {"0", "-1"},
            "with_coord": set(),
        },
    ),
    "SlidingWindow()": Row(
        onnxc.SlidingWindow.__call__,
        windows_over,
        {"inputs": set()},
        {"network": "MONAI's evaluators give one, and the compiled model runs in its place"},
    ),
    "Predictor": Row(
        onnxc.nnunet.Predictor,
        predictor,
        {
            "tile_step_size": set(),
            "use_gaussian": {"True"},
            "use_mirroring": {"True"},
            "progress": {"None"},
            "threads": COUNT,
        },
    ),
    "initialize_from_models": Row(
        onnxc.nnunet.Predictor.initialize_from_models,
        models,
        {"models": set(), "patch_size": set(), "allowed_mirroring_axes": {"None", "list"}},
    ),
    "initialize_from_trained_model_folder": Row(
        onnxc.nnunet.Predictor.initialize_from_trained_model_folder,
        trained,
        {"model_training_output_dir": set(), "use_folds": set(), "checkpoint_name": set()},
    ),
    "predict_logits_from_preprocessed_data": Row(
        onnxc.nnunet.Predictor.predict_logits_from_preprocessed_data,
        lambda **changed: predictor_of_data("predict_logits_from_preprocessed_data", **changed),
        {"data": set()},
    ),
    "predict_labels_from_preprocessed_data": Row(
        onnxc.nnunet.Predictor.predict_labels_from_preprocessed_data,
        lambda **changed: predictor_of_data("predict_labels_from_preprocessed_data", **changed),
        {"data": set()},
    ),
    "SegmentVolumes": Row(
        onnxc.ray.SegmentVolumes,
        volumes,
        {"model": set(), "roi_size": COUNT, "folder": {"None", "word"}, "prepare": {"None"}},
    ),
    "prepare": Row(onnxc.backend.prepare, prepared, {"model": set(), "device": set()}),
}
# Arguments of the right type whose fault is an OnnxcError of its own: what a file or a folder must hold, and what the
# compiler says.
LATER = {
    ("initialize_from_trained_model_folder", "model_training_output_dir", "word"),
    ("initialize_from_trained_model_folder", "use_folds", "None"),
    ("initialize_from_trained_model_folder", "use_folds", "word"),
    ("initialize_from_trained_model_folder", "checkpoint_name", "word"),
    ("InferenceSession", "path_or_bytes", "word"),
    ("compile", "model", "word"),
    ("compile", "march", "word"),
    ("SlidingWindow", "model", "word"),
    ("SegmentVolumes", "model", "word"),
}


def predictor_of_data(method: str, **changed: Any) -> object:
    made = onnxc.nnunet.Predictor()
    made.initialize_from_models([FOLDERS["model"]], (2, 2, 2))
    return getattr(made, method)(**{"data": X[0], **changed})


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("arguments")
    onnx.save(onnx.parser.parse_model(MODEL), folder / "model.onnx")
    FOLDERS["source"] = folder / "model.onnx"
    FOLDERS["model"] = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "-O0")
    onnx.save(onnx.parser.parse_model(CARRYING), folder / "carrying.onnx")
    FOLDERS["carrying"] = onnxc_commands.compile_model(
        folder / "carrying.onnx", folder / "carrying.so", "-O0", "--state", "a=next"
    )


def parameters(row: Row) -> list[str]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = inspect.signature(row.signature).parameters.values()
    return [each.name for each in named if each.kind not in kinds and each.name != "self"]


def test_the_table_has_every_parameter() -> None:
    for name, row in ROWS.items():
        assert set(parameters(row)) == {*row.taken, *row.unchecked}, name


def test_the_table_has_every_public_function_with_parameters() -> None:
    values = {"SessionOptions", "RunOptions", "ValueInfo"}  # of data, which sessions read
    tables = {"ExecutionMode", "GraphOptimizationLevel"}
    made_by_runs = {"Tensor"}
    errors = {name for name in onnxc.__all__ if name.endswith("Error")}
    others = {"__version__", "nnunet", "ray", "video", "ep_path", "get_available_providers", "get_device"}
    assert set(onnxc.__all__) - values - tables - made_by_runs - errors - others <= set(ROWS)
    for kind in (onnxc.InferenceSession, onnxc.SlidingWindow, onnxc.nnunet.Predictor, IOBinding):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") and len(inspect.signature(method).parameters) > 1:
                assert name in {*ROWS, "call_run"}, f"{kind.__name__}.{name}"


CASES = [(name, parameter) for name, row in ROWS.items() for parameter in row.taken]


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_each_argument_is_taken_or_refused_by_its_name(
    name: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = ROWS[name]
    for probe, value in PROBES.items():
        if (name, parameter, probe) in LATER:
            with pytest.raises(onnxc.OnnxcError):
                row.call(**{parameter: value})
        elif probe in row.taken[parameter]:
            row.call(**{parameter: value})
        else:
            with pytest.raises(onnxc.ArgumentError) as caught:
                row.call(**{parameter: value})
            assert str(caught.value).startswith(parameter), f"{probe}: {caught.value}"
