"""The tensors of a model by onnxruntime, for `onnxc-run --verify-with onnxruntime` and for onnxc.reduce.

    python -m onnxc.reference FOLDER

reads FOLDER/request.json, {"model": FILE, "threads": N, "inputs": {NAME: FILE}, "tensors": [NAME, ...]}; the files of
inputs are .npy, or .pb for a serialized TensorProto. It writes those of the tensors that the model's nodes give as
TensorProtos into the folder, and FOLDER/answer.json, {"engine": "onnxruntime 1.31.1", "tensors": {NAME: FILE}}. Needs
onnx and onnxruntime.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import packages

try:
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ModuleNotFoundError as error:
    raise packages.missing(error, "onnxc.reference", __name__ == "__main__") from None

Array = NDArray[Any]

FATAL = 4


def open_session(model: onnx.ModelProto, folder: Path | None = None, threads: int = 0) -> onnxruntime.InferenceSession:
    """A session on the CPU that computes each node as it stands: none is replaced or fused.

    folder: the folder of the model's external data, if it was loaded without it.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    options.intra_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if folder is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def with_outputs(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """The model with these outputs in place of its own: of the names, those that its nodes give."""
    made = {name for node in model.graph.node for name in node.output if name}
    declared = {output.name: output for output in model.graph.output}
    outputs = [declared.get(name) or onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names) if name in made]
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.output[:]
    result.graph.output.extend(outputs)
    return result


def compute(session: onnxruntime.InferenceSession, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a session by name; without sequences, absent optionals and strings."""
    names = [output.name for output in session.get_outputs()]
    results = zip(names, session.run(names, dict(feeds)), strict=True)
    return {name: each for name, each in results if isinstance(each, np.ndarray) and each.dtype != np.object_}


def read(file: Path) -> Array:
    array: Array = np.load(file) if file.suffix == ".npy" else numpy_helper.to_array(onnx.load_tensor(file))
    return array


def answer(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text())
    file = Path(request["model"])
    model = with_outputs(onnx.load(file, load_external_data=False), request["tensors"])
    feeds = {name: read(Path(each)) for name, each in request["inputs"].items()}
    tensors = compute(open_session(model, file.parent, request["threads"]), feeds) if model.graph.output else {}
    files = {}
    for number, (name, array) in enumerate(tensors.items()):
        files[name] = str(folder / f"{number}.pb")
        onnx.save_tensor(numpy_helper.from_array(array, name), files[name])
    engine = f"onnxruntime {onnxruntime.__version__}"
    (folder / "answer.json").write_text(json.dumps({"engine": engine, "tensors": files}))


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("onnxc.reference: give one folder, with a request.json", file=sys.stderr)
        return 2
    try:
        answer(Path(arguments[0]))
    except Exception as error:  # onnxruntime's have no class in common
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
