"""The cache of compiled models: what makes another key, what is evicted, and that a second opening compiles nothing."""

import os
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxc
from onnxc import cache

pytestmark = pytest.mark.usefixtures("commands")

X = np.arange(6, dtype=np.float32)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONNXC_MODEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def model(addend: float) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "k"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])],
        [numpy_helper.from_array(np.full(6, addend, np.float32), "k")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def result(source: Path | bytes) -> list[float]:
    with onnxc.InferenceSession(source) as session:
        return list(session.run(None, {"x": X})[0])


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_a_second_opening_compiles_nothing(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(model(1), tmp_path / "model.onnx")
    assert result(tmp_path / "model.onnx") == list(X + 1)
    assert len(list(kept.glob("*.so"))) == 1

    def fail(*_: object) -> None:
        raise AssertionError("it was compiled again")

    monkeypatch.setattr("onnxc.command.execute", fail)
    start = time.process_time()
    assert result(tmp_path / "model.onnx") == list(X + 1)
    assert time.process_time() - start < 0.05
    assert result(model(1).SerializeToString()) == list(X + 1), "bytes and a file of the same content are one model"


def test_another_content_is_another_model(kept: Path, tmp_path: Path) -> None:
    for addend in (1, 2):
        onnx.save(model(addend), tmp_path / "model.onnx")
        assert result(tmp_path / "model.onnx") == list(X + addend)
    assert len(list(kept.glob("*.so"))) == 2


def test_external_data_is_part_of_the_model(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for addend in (1, 2):
        (tmp_path / "data").unlink(missing_ok=True)
        onnx.save(model(addend), path, save_as_external_data=True, location="data", size_threshold=0)
        assert result(path) == list(X + addend)
    (tmp_path / "data").unlink()
    with pytest.raises(onnxc.CompileError, match="data"):
        onnxc.InferenceSession(path)


def test_options_and_the_compiler_are_part_of_the_key(tmp_path: Path) -> None:
    compiler = tmp_path / "onnxc"
    compiler.write_text("a")
    content = model(1).SerializeToString()
    keys = {cache.key(content, tmp_path, compiler, options) for options in ([], ["-O0"], ["--march", "x86-64-v3"])}
    compiler.write_text("another")
    keys.add(cache.key(content, tmp_path, compiler, []))
    assert len(keys) == 4
    assert None not in keys


def test_a_model_whose_parts_cannot_be_told_is_not_kept(tmp_path: Path) -> None:
    assert cache.key(b"\x12\x04data\x0a\x08location", tmp_path, Path(__file__), []) is None


def test_what_was_opened_longest_ago_goes(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.mkdir()
    names = [f"{number:064x}" for number in range(4)]
    for number, name in enumerate(names):
        (kept / f"{name}.so").write_bytes(bytes(100))
        os.utime(kept / f"{name}.so", (number, number))
    assert cache.find(names[0]) == kept / f"{names[0]}.so"
    monkeypatch.setenv("ONNXC_MODEL_CACHE_BYTES", "250")
    cache.make_room(kept)
    assert [file.name for file in files(kept)] == [f"{names[0]}.so", f"{names[3]}.so"]


def test_other_files_of_the_folder_stay(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNXC_MODEL_CACHE names a folder of one's own."""
    kept.mkdir()
    own = [kept / name for name in ("unet.so", "model.onnx", "notes.refused.json", f"{0:063x}.so")]
    for file in own:
        file.write_bytes(bytes(100))
    monkeypatch.setenv("ONNXC_MODEL_CACHE_BYTES", "1")
    cache.make_room(kept)
    assert cache.clear() == 0
    assert all(file.exists() for file in own)


def test_shows_and_clears(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept.mkdir()
    name = f"{11:064x}"
    (kept / f"{name}.so").write_bytes(bytes(2_000_000))
    os.utime(kept / f"{name}.so", (1e9, time.mktime((2026, 11, 27, 12, 30, 0, 0, 0, -1))))
    (kept / f"{12:064x}.refused.json").write_text("{}")
    cache.main([])
    assert capsys.readouterr().out == f"2026-11-27 12:30       2.0 MB  {name}\n1 model, 2.0 MB in {kept}\n"
    cache.describe(kept / f"{name}.so", Path("/models/a net.onnx"), ["--march", "x86-64-v3"])
    cache.main([])
    assert "2.0 MB  '/models/a net.onnx' --march x86-64-v3\n" in capsys.readouterr().out
    cache.main(["--clear"])
    assert capsys.readouterr().out == "removed 1 model\n"
    assert files(kept) == []


def test_an_empty_name_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_MODEL_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert result(model(3).SerializeToString()) == list(X + 3)
    assert not (tmp_path / "home").exists()
