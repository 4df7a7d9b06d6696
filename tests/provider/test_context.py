"""Saved models: compiled parts as EPContext nodes, in the model's file or beside it."""

import os
import time
from pathlib import Path

import onnx
import onnxruntime
import pytest

from tests.provider.models import PROVIDER, compare, open_with_onnxc, random_array, residual_network
from tests.provider.test_provider import split_model

TRUSTED = {"load_native_code": "1"}


def save(model: onnx.ModelProto, folder: Path, *, embed: bool) -> Path:
    """The file of the saved model, which needs no compiler."""
    onnx.save(model, folder / "model.onnx")
    saved = folder / "saved.onnx"
    entries = {
        "ep.context_enable": "1",
        "ep.context_embed_mode": str(int(embed)),
        "ep.context_file_path": str(saved),
    }
    open_with_onnxc(folder / "model.onnx", entries=entries)
    return saved


def load(saved: Path, monkeypatch: pytest.MonkeyPatch, **options: str) -> onnxruntime.InferenceSession:
    """In a process whose command is missing."""
    monkeypatch.setenv("ONNXC_BIN", "/nowhere")
    return open_with_onnxc(saved, options={**TRUSTED, **options})


@pytest.mark.parametrize("embed", [False, True], ids=["file", "embedded"])
def test_a_saved_network_loads_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embed: bool) -> None:
    model = residual_network()
    saved = save(model, tmp_path, embed=embed)
    [node] = onnx.load(saved).graph.node
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert (node.op_type, node.domain, attributes["source"]) == ("EPContext", "com.microsoft", PROVIDER.encode())
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"model.onnx", "saved.onnx"} | (set() if embed else {"saved_onnxc_0.so"})
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in files - {"model.onnx"}:
        os.rename(tmp_path / name, moved / name)
    session = load(moved / "saved.onnx", monkeypatch)
    for n, d, h, w in ((1, 4, 16, 16), (2, 5, 17, 12)):
        compare(session, model, {"x": random_array(n, n, 3, d, h, w)})


@pytest.mark.parametrize("name", ["saved.onnx", "./saved.onnx", "../{folder}/saved.onnx", "{path}"])
@pytest.mark.parametrize("embed", [False, True], ids=["file", "embedded"])
def test_a_saved_network_loads_by_every_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, embed: bool
) -> None:
    model = residual_network()
    saved = save(model, tmp_path, embed=embed)
    monkeypatch.chdir(tmp_path)
    session = load(Path(name.format(folder=tmp_path.name, path=saved)), monkeypatch)
    compare(session, model, {"x": random_array(1, 1, 3, 4, 8, 8)})


def test_a_saved_network_loads_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parts are in the current folder, or in the folder of the file that the session names."""
    model = residual_network()
    saved = save(model, tmp_path, embed=False)
    content = onnx.load(saved)
    monkeypatch.setenv("ONNXC_BIN", "/nowhere")
    x = {"x": random_array(1, 1, 3, 4, 8, 8)}
    compare(open_with_onnxc(content, options=TRUSTED, entries={"ep.context_file_path": str(saved)}), model, x)
    with pytest.raises(Exception, match=r"cannot open 'saved_onnxc_0\.so' in the folder"):
        open_with_onnxc(content, options=TRUSTED)
    monkeypatch.chdir(tmp_path)
    compare(open_with_onnxc(content, options=TRUSTED), model, x)


def test_a_compiled_part_does_not_replace_the_model(tmp_path: Path) -> None:
    file = tmp_path / "saved_onnxc_0.so"
    onnx.save(residual_network(), file)
    before = file.read_bytes()
    entries = {"ep.context_enable": "1", "ep.context_file_path": str(tmp_path / "saved.onnx")}
    with pytest.raises(Exception, match=r"the compiled part '\S+' is the same file as the model '\S+'"):
        open_with_onnxc(file, entries=entries)
    assert file.read_bytes() == before


def test_what_onnxc_lacks_is_saved_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = split_model()
    saved = save(model, tmp_path, embed=False)
    assert sorted(node.op_type for node in onnx.load(saved).graph.node) == ["CDist", "EPContext", "EPContext"]
    compare(load(saved, monkeypatch), model, {"x": random_array(1, 6, 5)})


def test_native_code_is_loaded_where_it_is_trusted_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = save(residual_network(), tmp_path, embed=True)
    with pytest.raises(Exception, match=r"the model holds native code.*load_native_code"):
        load(saved, monkeypatch, load_native_code="0")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../other.so", r"other\.so.* is refused"),
        ("{folder}/other.so", r"other\.so.* is refused"),
        ("link.so", r"cannot open.*link\.so.* in the folder"),
    ],
)
def test_a_file_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    saved = save(residual_network(), folder, embed=False)
    os.rename(folder / "saved_onnxc_0.so", tmp_path / "other.so")
    (folder / "link.so").symlink_to(tmp_path / "other.so")
    model = onnx.load(saved)
    [content] = [each for each in model.graph.node[0].attribute if each.name == "ep_cache_context"]
    content.s = name.format(folder=tmp_path).encode()
    onnx.save(model, saved)
    with pytest.raises(Exception, match=reason):
        load(saved, monkeypatch)


def test_a_saved_network_loads_in_a_tenth_of_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = save(residual_network(), tmp_path, embed=False)
    load(saved, monkeypatch)
    start = time.process_time()
    load(saved, monkeypatch)
    assert time.process_time() - start < 0.1
