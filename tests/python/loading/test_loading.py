"""What can be loaded: paths, buffers, other messages; the arguments `io`, `check`, `limits`."""

from __future__ import annotations

import array
import io
import mmap
import os
from pathlib import Path
from typing import get_args

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from support import wire_bytes as wire
from support.models.sample import floats, model_of, tensors_of_every_type, write
from support.models.small import SMALL_MODELS
from support.oracles.canonical import canonical
from support.oracles.tensors import assert_same_array

import onnxmap
from onnxmap import _core
from onnxmap._base import options as _options

MODEL = model_of([floats("w", 6), floats("b", 2, 10.0)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(MODEL, tmp_path / "model.onnx")


def test_str_bytes_and_pathlike(path: Path) -> None:
    class Like:
        def __fspath__(self) -> str:
            return str(path)

    for form in (str(path), os.fsencode(path), path, Like()):
        model = onnxmap.load(form)
        assert model.initializers.names() == ["w", "b"]
        assert Path(os.fsdecode(model.path)) == path


def test_a_path_with_any_bytes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/m\xff\xe9.onnx"
    Path(os.fsdecode(path)).write_bytes(MODEL.SerializeToString())
    assert onnxmap.load(path).initializers.names() == ["w", "b"]
    assert onnxmap.load(os.fsdecode(path)).initializers["w"].numpy()[5] == 5.0


def test_a_relative_path(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    assert onnxmap.load(path.name).initializers["b"].numpy().tolist() == [10.0, 11.0]


def test_a_file_object_is_pointed_to_loads(path: Path) -> None:
    with path.open("rb") as file, pytest.raises(TypeError, match="loads"):
        onnxmap.load(file)
    with pytest.raises(TypeError, match="loads"):
        onnxmap.load(io.BytesIO(MODEL.SerializeToString()))


@pytest.mark.parametrize("nothing", [None, 3, 1.5, [], object()])
def test_other_objects_are_not_a_path(nothing: object) -> None:
    with pytest.raises(TypeError):
        onnxmap.load(nothing)


@pytest.mark.parametrize("mode", ["mmap", "read", "auto"])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_io_modes_read_the_same(tmp_path: Path, name: str, mode: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(SMALL_MODELS[name])
    message = onnx.ModelProto.FromString(SMALL_MODELS[name])
    model = onnxmap.load(path, io=mode)
    assert canonical(model.proto, "ModelProto") == canonical(message, "ModelProto")


@pytest.mark.parametrize("mode", ["mmap", "read", "auto"])
def test_io_modes_read_the_same_tensors(tmp_path: Path, mode: str) -> None:
    tensors = tensors_of_every_type()
    model = onnxmap.load(write(model_of(tensors), tmp_path / "model.onnx"), io=mode)
    views = model.views()
    for tensor in tensors:
        assert_same_array(views[tensor.name], numpy_helper.to_array(tensor))
        assert_same_array(model.initializers[tensor.name].numpy(), numpy_helper.to_array(tensor))


def mappings_of(path: Path) -> int:
    return Path("/proc/self/maps").read_text().count(str(path))


def test_read_mode_maps_nothing_and_is_immune_to_truncation(path: Path) -> None:
    model = onnxmap.load(path, io="read")
    array = model.initializers["w"].numpy()
    assert mappings_of(path) == 0
    os.truncate(path, 0)
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
    mapped = onnxmap.load(write(MODEL, path), io="mmap")
    assert mappings_of(path) == 1
    assert mapped.initializers["w"].numpy()[1] == 1.0


def test_bad_arguments(path: Path) -> None:
    for bad in ("MMAP", "", "copy"):
        with pytest.raises(ValueError, match="io"):
            onnxmap.load(path, io=bad)
    for bad in ("none", ""):
        with pytest.raises(ValueError, match="check"):
            onnxmap.load(path, check=bad)
    with pytest.raises(TypeError):
        onnxmap.load(path, limits=5)
    with pytest.raises(TypeError):
        onnxmap.load(path, no_such_argument=1)


def test_full_check_judges_typed_payloads_and_lazy_leaves_them(tmp_path: Path) -> None:
    cut_run = wire.blob(7, b"\x80\x80")  # int64_data: the end of the run cuts a varint
    tensors = [
        floats("w", 2).SerializeToString(),
        wire.blob(8, b"bad") + wire.scalar(2, 7) + cut_run,
    ]
    message = wire.blob(7, b"".join(wire.blob(5, tensor) for tensor in tensors))
    path = tmp_path / "bad.onnx"
    path.write_bytes(message)
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load(path)
    assert caught.value.code == "wire.truncated"
    assert caught.value.path == "graph.initializer[1].int64_data"
    model = onnxmap.load(path, check="lazy")
    assert model.initializers["w"].numpy().tolist() == [0.0, 1.0]
    with pytest.raises(onnxmap.OnnxMapError):
        model.initializers["bad"].numpy()


BUFFERS = {
    "bytes": lambda data: data,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "memoryview of shorts": lambda data: memoryview(array.array("H", data)),
    "ndarray": lambda data: np.frombuffer(data, dtype=np.uint8),
    "ndarray of two dimensions": lambda data: np.frombuffer(data, np.uint8).reshape(2, -1),
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_buffers_are_not_copied(kind: str) -> None:
    data = MODEL.SerializeToString()
    data += b"\xb8\x3e\x05" if len(data) % 2 else b""
    buffer = BUFFERS[kind](data)
    model = onnxmap.loads(buffer)
    view = model.initializers["w"].numpy()
    assert view.tolist() == [0, 1, 2, 3, 4, 5]
    start = np.frombuffer(buffer, dtype=np.uint8).ctypes.data
    assert start <= view.ctypes.data < start + len(data)
    assert model.path is None
    assert model.initializers["w"].file is None


def test_loads_an_mmap(path: Path) -> None:
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    model = onnxmap.loads(mapped)
    view = model.initializers["b"].numpy()
    del model
    with pytest.raises(BufferError):  # the view holds the caller's buffer
        mapped.close()
    assert view.tolist() == [10.0, 11.0]
    del view
    mapped.close()


def test_a_buffer_that_is_not_contiguous_is_refused() -> None:
    data = np.frombuffer(MODEL.SerializeToString(), dtype=np.uint8)
    wide = np.repeat(data, 2)[::2]
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        onnxmap.loads(wide)
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        onnxmap.loads(memoryview(bytes(wide))[::-1])


@pytest.mark.parametrize("nothing", ["text", None, 3, [1, 2]])
def test_loads_wants_a_buffer(nothing: object) -> None:
    with pytest.raises(TypeError):
        onnxmap.loads(nothing)


def test_load_proto_of_an_unknown_message(path: Path) -> None:
    with pytest.raises((KeyError, ValueError), match="NoSuchProto"):
        onnxmap.load_proto(path, "NoSuchProto")


def test_operating_system_errors_are_plain(tmp_path: Path) -> None:
    missing = tmp_path / "missing.onnx"
    for read in (onnxmap.load, onnxmap.load_tensor, onnxmap.load_operator_set):
        with pytest.raises(FileNotFoundError) as caught:
            read(missing)
        assert os.fspath(caught.value.filename) == str(missing)
        assert not isinstance(caught.value, onnxmap.OnnxMapError)
    with pytest.raises(IsADirectoryError):
        onnxmap.load(tmp_path)
    with pytest.raises(NotADirectoryError):
        onnxmap.load(write(MODEL, tmp_path / "m.onnx") / "inner.onnx")
    with pytest.raises(ValueError, match="null"):
        onnxmap.load("a\0b")


def test_close_and_the_context_manager(path: Path) -> None:
    with onnxmap.load(path) as model:
        view = model.initializers["w"].numpy()
        assert mappings_of(path) == 1
    for use in (
        lambda: model.graph,
        lambda: model.initializers,
        lambda: model.proto,
        lambda: model.views(),
        lambda: model.nbytes,
    ):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert view.tolist() == [0, 1, 2, 3, 4, 5]
    model.close()  # closing twice does nothing
    del view
    assert mappings_of(path) == 0
    assert "closed" in repr(model)


@pytest.mark.parametrize("check", ["full", "lazy"])
@pytest.mark.parametrize("io", ["mmap", "read"])
def test_packed_dims_across_the_end_of_the_window(tmp_path: Path, io: str, check: str) -> None:
    """Shapes are structure. The window that reads them may end within a shape."""
    dims = list(range(1, 25))
    tensor = wire.blob(1, bytes(dims)) + wire.scalar(2, 1) + wire.blob(8, b"w")
    path = tmp_path / "model.onnx"
    for padding in range(960, 1060):
        text = wire.blob(10, bytes(padding))
        path.write_bytes(wire.blob(7, text + wire.blob(5, tensor) + wire.blob(2, b"g")))
        model = onnxmap.load(path, io=io, check=check)
        assert model.initializers.shapes() == [tuple(dims)]


class EqualsAll(str):
    """A str that claims to be equal to any other."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("name", ["link_policy", "io", "check"])
@pytest.mark.parametrize(
    "value", [EqualsAll("other"), np.array([1, 2]), b"auto", None, 3, "\ud800"]
)
def test_an_option_is_one_of_the_texts(name: str, value: object) -> None:
    options: dict[str, object] = {name: value}
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        onnxmap.loads(SMALL_MODELS["plain_nodes"], **options)  # type: ignore[arg-type]


def test_type_checkers_know_the_options_of_the_core() -> None:
    types = {"link_policy": _options.LinkPolicy, "io": _options.Io, "check": _options.Check}
    assert {name: get_args(choices) for name, choices in types.items()} == _core.option_names()


@pytest.mark.parametrize("message", [b"ModelProto", b"\xff", None, 3])
def test_the_name_of_a_message_is_text(message: object) -> None:
    with pytest.raises(TypeError, match="message must be a str"):
        onnxmap.loads_proto(b"", message)  # type: ignore[arg-type]
