"""The files that the pages take for granted: a network, scans, and what an earlier page has made of them."""

import shutil
from pathlib import Path

import nibabel
import numpy as np
import onnx
import torch
from onnx import numpy_helper

from models.networks import unet3d
from tests import onnxc_commands, onnxruntime_sessions
from tests.python.video import networks
from tests.python.volumes import nnunet_folder

# A U-Net of one level.
MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
unet (float[N, 1, D, H, W] x) => (logits) <float[5] scales = {1, 1, 2, 2, 2}> {
  [encoder] a = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w0)
  [encoder_relu] b = Relu(a)
  [down] c = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (b)
  [up] d = Resize <mode = "nearest"> (c, , scales)
  [join] features = Concat <axis = 1> (d, b)
  [head] logits = Conv(features, w1)
}
"""


# A sum of halves, with as many terms as a run asks for.
LOOP = """
<ir_version: 10, opset_import: ["" : 20]>
sums (int64 n, float[N, 2] a) => (float[N, 2] last, float[rounds] sums)
<bool yes = {1}, float half = {0.5}> {
  [last] last, sums = Loop (n, yes, a) <body = round (int64 i, bool keep, float[N, 2] x)
      => (bool yes, float[N, 2] y, float total) {
    [half] y = Mul(x, half)
    [total] total = ReduceSum <keepdims = 0> (y)
  }>
}
"""

# The end of a decoder, as two exporters write it.
DYNAMO = """
<ir_version: 10, opset_import: ["" : 20]>
decoder (float[N, 1, D, H, W] x) => (y) <float[5] scales = {1, 64, 1, 1, 1}> {
  [up] b = Resize <mode = "nearest"> (x, , scales)
  [join] y = Concat <axis = 1> (b, b)
}
"""

# Two frames of a chunk go on to the next.
CHUNK = """
<ir_version: 10, opset_import: ["" : 20]>
chunk (float[1, 4, T, H, W] x, float[1, 4, 2, H, W] cache) => (y, next_cache)
<int64[1] begin = {-2}, int64[1] end = {1000}, int64[1] time = {2}> {
  seen = Concat <axis = 2> (cache, x)
  y = AveragePool <kernel_shape = [3, 1, 1]> (seen)
  next_cache = Slice (seen, begin, end, time)
}
"""


def write(folder: Path) -> None:
    """All of them. Names that mean the same network on several pages are copies of one model."""
    model = onnx.parser.parse_model(MODEL)
    random = np.random.default_rng(0)
    for name, dims in (("w0", (8, 1, 3, 3, 3)), ("w1", (3, 16, 1, 1, 1))):
        weights = random.standard_normal(dims).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    onnx.save(model, folder / "model.onnx")
    for name in ("net", "good", "first", "later"):
        shutil.copy(folder / "model.onnx", folder / f"{name}.onnx")
    onnx.save(onnx.parser.parse_model(CHUNK), folder / "chunk.onnx")
    write_tensors(folder, model)
    model.graph.node[2].attribute[0].ints[:] = [3, 3, 3]
    model.graph.node[2].attribute.append(onnx.helper.make_attribute("pads", [1, 1, 1, 0, 0, 0]))
    onnx.save(model, folder / "other.onnx")
    write_scans(folder, random)
    for name, options in (("model", []), ("fleet", ["--march", "x86-64-v3,x86-64-v4"]), ("gpu", ["--target", "hip"])):
        onnxc_commands.compile_model(folder / "model.onnx", folder / f"{name}.so", *options)
    both = [onnxc_commands.BINARIES / "onnxc", folder / "first.onnx", folder / "later.onnx", "-o", folder / "video.so"]
    onnxc_commands.execute(list(map(str, both)))
    for name in ("net", "seg", "segment"):
        shutil.copy(folder / "model.so", folder / f"{name}.so")


def none(folder: Path) -> None:
    """A page without files of its own."""


def nnunet(folder: Path) -> None:
    """A folder as nnU-Net's training leaves it, at the place that the pages name, and what it preprocessed."""
    results = folder / "nnUNet_results" / "Dataset001" / "nnUNetTrainer__nnUNetPlans__3d_fullres"
    results.parent.mkdir(parents=True)
    nnunet_folder.write_trained_folder(results, folds=1, patch_size=(16, 16, 16))
    np.save(folder / "preprocessed.npy", np.random.default_rng(0).standard_normal((2, 20, 18, 16)).astype(np.float32))


def monai(folder: Path) -> None:
    """The weights that the page loads, of the network that it makes."""
    from monai.networks.nets import DynUNet  # here, since it takes seconds

    net = DynUNet(3, 1, 14, [3] * 5, [1, 2, 2, 2, 2], [2] * 4, deep_supervision=False)
    torch.save(net.state_dict(), folder / "weights.pt")


def drawing(folder: Path) -> None:
    """vae.so, a model that draws random numbers."""
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[2, 3] x) => (y) { y = RandomNormalLike(x) }'
    onnx.save(onnx.parser.parse_model(text), folder / "vae.onnx")
    onnxc_commands.compile_model(folder / "vae.onnx", folder / "vae.so")


def failing(folder: Path) -> None:
    """An export whose inputs do not fit each other, with the source lines that PyTorch's exporter writes."""
    model = onnx.load(folder / "model.onnx")
    model.graph.input[0].type.tensor_type.shape.dim[4].dim_value = 49
    trace_of(model.graph.node[4], "skip_layers.upsample", "x = torch.cat((up, skip), dim=1)")
    onnx.save(model, folder / "failing.onnx")


def trace_of(node: onnx.NodeProto, module: str, code: str) -> None:
    """Gives a node the place in Python that PyTorch's exporter writes."""
    trace = f'File "networks/unet.py", line 42, in forward\n    {code}'
    node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=f"['', '{module}', '{node.name}']")


def python(folder: Path) -> None:
    """The files that nnunet and failing write, and a decoder of video."""
    nnunet(folder)
    failing(folder)
    networks.compiled(folder, "decoder", networks.FIRST, networks.LATER)


def exports(folder: Path) -> None:
    """A 3D U-Net with free sizes, as PyTorch exports it; a loop; and two exports of one network."""
    onnx.save(onnx.parser.parse_model(LOOP), folder / "loop.onnx")
    for name, text in (("dynamo", DYNAMO), ("script", DYNAMO.replace("{1, 64,", "{1, 32,"))):
        model = onnx.parser.parse_model(text)
        trace_of(model.graph.node[0], "skip_layers.upsample", "x = self.up(x)")
        onnx.save(model, folder / f"{name}.onnx")
    sizes = {0: "N", 2: "D", 3: "H", 4: "W"}
    example = (torch.zeros(2, 1, 32, 32, 32),)
    torch.onnx.export(
        unet3d.unet3d().eval(), example, str(folder / "unet.onnx"),
        input_names=["volume"], dynamo=True, dynamic_shapes=[sizes], verbose=False,
    )  # fmt: skip


def write_tensors(folder: Path, model: onnx.ModelProto) -> None:
    """An input and what onnxruntime makes of it, as .npy and in ONNX's layout of tests."""
    x = np.random.default_rng(1).standard_normal((1, 1, 16, 16, 16)).astype(np.float32)
    [logits] = onnxruntime_sessions.open_session(model).run(None, {"x": x})
    np.save(folder / "x.npy", x)
    for name in ("y", "pytorch"):
        np.save(folder / f"{name}.npy", logits)
    np.save(folder / "wrong.npy", logits + 1)
    (folder / "folder").mkdir()
    for i in range(3):
        np.save(folder / "folder" / f"{i}.npy", x + i)
    tests = folder / "test_data_set_0"
    tests.mkdir()
    for name, array in (("input_0", x), ("output_0", logits)):
        (tests / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def write_scans(folder: Path, random: np.random.Generator) -> None:
    voxels = random.integers(-1000, 1000, (34, 36, 40)).astype(np.int16)
    scan = nibabel.Nifti1Image(voxels, np.eye(4))
    (folder / "cases").mkdir()
    for name in ("ct", "cases/first", "cases/second"):
        nibabel.save(scan, folder / f"{name}.nii.gz")
    voxels.tofile(folder / "ct.raw")
    with (folder / "scan.raw").open("wb") as file:
        file.truncate(192 * 192 * 144 * 2)
    for name in ("a", "b"):
        np.save(folder / f"{name}.npy", voxels[None].astype(np.float32))
