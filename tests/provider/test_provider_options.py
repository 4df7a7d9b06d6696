"""The provider's options and variables beside a graph: one without a meaning ends the session's creation.

onnxruntime makes an error of a provider's creation a session of the CPU provider, and one of the graph's division a
line of its log; neither may hide a mistake of the program's.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import onnxc
from tests.provider.models import PROVIDER, compare, make, open_with_onnxc, random_array, residual_network

HAS = "it has options, load_native_code"
FAULTY_OPTIONS = {
    "a typing error": ({"optoins": "-O1"}, f"the provider has no option 'optoins'; did you mean 'options'? {HAS}"),
    "an unknown name": ({"threads": "2"}, f"the provider has no option 'threads'; {HAS}"),
    "another value": ({"load_native_code": "yes"}, "the provider's option 'load_native_code' is 'yes'; give it 1 or 0"),
    "an unknown word": (
        {"options": "--marhc native"},
        "the provider's option 'options': onnxc: there is no option '--marhc'; did you mean --march?",
    ),
    "an unknown dim": (
        {"options": "--dim Q=3"},
        "the provider's option 'options': onnxc: --dim Q: the inputs have no dim of this name; they have: D, H, N, W",
    ),
    "no effect": ({"options": "--gpu-arch gfx942"}, "--gpu-arch has an effect only with --target gpu"),
    "no model": (
        {"options": "--help"},
        "the provider's option 'options': with these words the command compiles nothing",
    ),
}


@pytest.mark.parametrize(("options", "message"), FAULTY_OPTIONS.values(), ids=FAULTY_OPTIONS.keys())
def test_an_option_without_a_meaning_is_an_error(options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match="FAIL") as caught:  # onnxruntime's have no public class
        open_with_onnxc(residual_network(), options=options)
    assert message in str(caught.value)


def test_states_are_refused() -> None:
    """onnxruntime gives each input and expects each output; --state takes some away."""
    nodes = [helper.make_node("Add", ["x", "sum"], ["next"]), helper.make_node("Neg", ["next"], ["y"])]
    dims = (TensorProto.FLOAT, [2, 3])
    model = make(nodes, {"x": dims, "sum": dims}, {"next": dims, "y": dims}, {})
    with pytest.raises(Exception, match="FAIL") as caught:
        open_with_onnxc(model, options={"options": "--state sum=next"})
    assert (
        "the provider's option 'options': --state takes inputs and outputs away, which onnxruntime gives and expects; "
        "leave it out, or run a model.so without onnxruntime"
    ) in str(caught.value)


def test_outputs_are_refused() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])]
    dims = (TensorProto.FLOAT, [2, 3])
    model = make(nodes, {"x": dims}, {"y": dims, "z": dims}, {})
    with pytest.raises(Exception, match="FAIL") as caught:
        open_with_onnxc(model, options={"options": "--outputs z"})
    assert (
        "the provider's option 'options': --outputs leaves outputs out, which onnxruntime expects; leave it out, and "
        "name the outputs of a run"
    ) in str(caught.value)


FAULTY_VARIABLES = {
    "ONNXC_BIN": ("/nowhere", "the environment variable ONNXC_BIN is '/nowhere', and this folder has no command onnxc"),
    "ONNXC_CXX": (
        "/nowhere/clang++",
        ": onnxc: the environment variable ONNXC_CXX: there is no command '/nowhere/clang++'",
    ),
    "ONNXC_MODEL_CACHE": (
        "/proc/models",
        "the environment variable ONNXC_MODEL_CACHE: cannot make the folder '/proc/models'",
    ),
    "ONNXC_MODEL_CACHE_BYTES": (
        "4G",
        "the environment variable ONNXC_MODEL_CACHE_BYTES is '4G'; a number of bytes is expected",
    ),
}


@pytest.mark.parametrize("name", FAULTY_VARIABLES)
def test_a_variable_without_a_meaning_is_an_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value, message = FAULTY_VARIABLES[name]
    monkeypatch.setenv("ONNXC_MODEL_CACHE", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(Exception, match="FAIL") as caught:
        open_with_onnxc(residual_network())
    assert message in str(caught.value)


def test_options_that_are_there_work() -> None:
    session = open_with_onnxc(residual_network(), options={"options": "-O1", "load_native_code": "0"}, all_of_it=True)
    compare(session, residual_network(), {"x": random_array(1, 1, 3, 4, 8, 8)})


PROGRAM = """
import sys
import onnxruntime
onnxruntime.register_execution_provider_library("onnxc", sys.argv[1])
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == sys.argv[3]]
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(devices, {})
print(onnxruntime.InferenceSession(sys.argv[2], options).get_inputs()[0].name)
"""


def test_a_missing_command_is_told_and_the_cpu_provider_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation that lost it, and no variable that says where it is."""
    library = tmp_path / "lib" / "libonnxc_ep.so"
    library.parent.mkdir()
    shutil.copy(onnxc.ep_path(), library)
    onnx.save(residual_network(), tmp_path / "model.onnx")
    monkeypatch.delenv("ONNXC_BIN", raising=False)
    words = [sys.executable, "-c", PROGRAM, str(library), str(tmp_path / "model.onnx"), PROVIDER]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "x\n"
    missing = f"the command '{tmp_path}/bin/onnxc' is missing; install onnxc again, or set ONNXC_BIN to its folder"
    assert missing in done.stderr
