"""A compiled model in Triton's Python backend: net.so in this file's folder, of any network.

The backend imports this file as the module 1.model. A model.so beside it would be taken for that module, so the model
must have another name.
"""

import json
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

import onnxc


class TritonPythonModel:
    """The functions that the backend asks for: initialize once an instance, execute for the requests that wait."""

    def initialize(self, args: dict[str, str]) -> None:
        folder = Path(args["model_repository"]) / args["model_version"]
        parameters = json.loads(args["model_config"]).get("parameters", {})
        threads = int(parameters.get("threads", {}).get("string_value", "0"))  # 0: as many as the process has CPUs
        self.session = onnxc.InferenceSession(folder / "net.so", threads=threads)
        self.inputs = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]

    def execute(self, requests: list[Any]) -> list[Any]:
        """A response for each request; one that cannot be run, such as of illegal sizes, gets the reason."""
        return [self.respond(request) for request in requests]

    def respond(self, request: Any) -> Any:
        feeds = {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in self.inputs}
        try:
            results = self.session.run(None, feeds)
        except onnxc.OnnxcError as error:
            return pb_utils.InferenceResponse(output_tensors=[], error=pb_utils.TritonError(str(error)))
        tensors = [pb_utils.Tensor(name, result) for name, result in zip(self.outputs, results, strict=True)]
        return pb_utils.InferenceResponse(output_tensors=tensors)
