"""`__dlpack__`: the versioned form for every type, NumPy as reader, and careless consumers."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from support.models.sample import model_of
from support.oracles.dlpack_reader import (
    CODES,
    IS_COPIED,
    READ_ONLY,
    SUBBYTE_PADDED,
    Exported,
    read,
)
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED
from support.tensors.places import PLACES, file_of, place
from support.tensors.stored import (
    NUMERIC,
    bits_of,
    in_buffer,
    number_of,
    random_codes,
    stored,
    values_of,
)

import onnxmap

SHAPE = (3, 5, 7)
VERSION = (1, 0)
NUMPY_READS = [
    "FLOAT", "DOUBLE", "FLOAT16", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32",
    "UINT64", "COMPLEX64", "COMPLEX128", "BOOL",
]  # fmt: skip


def data_of(type_name: str) -> bytes:
    return stored(type_name, random_codes(type_name, 105))


def tensor_of(type_name: str, where: str, folder: Path) -> onnxmap.Tensor:
    return place(where, type_name, SHAPE, data_of(type_name), folder)


def assert_describes(exported: Exported, type_name: str) -> None:
    assert exported.device == (1, 0)
    assert exported.code == CODES[type_name]
    assert exported.lanes == 1
    assert exported.shape == SHAPE
    assert exported.strides in (None, (35, 7, 1))
    assert not exported.flags & SUBBYTE_PADDED
    assert exported.data(len(data_of(type_name))) == data_of(type_name)


@pytest.mark.parametrize("way", PLACES)
@pytest.mark.parametrize("type_name", NUMERIC)
def test_every_type_is_described(type_name: str, way: str, tmp_path: Path) -> None:
    tensor = tensor_of(type_name, way, tmp_path)
    exported = read(tensor.__dlpack__(max_version=VERSION))
    assert exported.name == b"dltensor_versioned"
    assert exported.version is not None
    assert exported.version[0] == 1
    assert exported.flags & READ_ONLY
    assert not exported.flags & IS_COPIED or way == "read"
    assert_describes(exported, type_name)
    assert tensor.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("way", ["mmap", "external"])
@pytest.mark.parametrize("type_name", ["FLOAT", "BFLOAT16", "INT4", "FLOAT6E2M3"])
def test_a_large_tensor_is_exported_in_place(type_name: str, way: str, tmp_path: Path) -> None:
    data = np.random.default_rng(0).bytes(3 << 19)
    count = 8 * len(data) // bits_of(type_name)
    tensor = place(way, type_name, [count], data, tmp_path)
    exported = read(tensor.__dlpack__(max_version=VERSION))
    file = tmp_path / ("model.onnx" if way == "mmap" else "w.bin")
    assert file_of(exported.address) == file_of(exported.address + len(data) - 1) == str(file)
    assert exported.flags == READ_ONLY
    assert exported.data(len(data)) == data


def test_a_caller_s_buffer_is_exported_in_place() -> None:
    buffer, at = in_buffer("INT4", [9], b"12345", offset=3)
    tensor = onnxmap.loads(buffer).initializers["t"]
    exported = read(tensor.__dlpack__(max_version=VERSION))
    assert exported.address == buffer.ctypes.data + at
    assert exported.flags == READ_ONLY


@pytest.mark.parametrize("version", [(1, 0), (1, 1), (1, 3), (2, 0)])
def test_versions_from_1_on_get_the_versioned_form(
    version: tuple[int, int], tmp_path: Path
) -> None:
    tensor = tensor_of("FLOAT", "mmap", tmp_path)
    exported = read(tensor.__dlpack__(max_version=version))
    assert exported.name == b"dltensor_versioned"
    assert exported.version is not None
    assert exported.version[0] == 1


@pytest.mark.parametrize("arguments", [{}, {"max_version": None}, {"max_version": (0, 8)}])
@pytest.mark.parametrize("way", PLACES)
def test_the_old_form_cannot_say_read_only(
    way: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    tensor = tensor_of("INT16", way, tmp_path)
    exported = read(tensor.__dlpack__(**arguments))
    assert exported.name == b"dltensor"
    assert_describes(exported, "INT16")
    with pytest.raises(BufferError):
        tensor.__dlpack__(copy=False, **arguments)


@pytest.mark.parametrize("way", PLACES)
@pytest.mark.parametrize("type_name", ["FLOAT", "INT4", "BFLOAT16"])
def test_a_copy_is_the_consumer_s_own(type_name: str, way: str, tmp_path: Path) -> None:
    tensor = tensor_of(type_name, way, tmp_path)
    exported = read(tensor.__dlpack__(max_version=VERSION, copy=True))
    assert exported.flags & IS_COPIED
    assert not exported.flags & READ_ONLY
    assert_describes(exported, type_name)
    legacy = read(tensor.__dlpack__(copy=True))
    assert legacy.name == b"dltensor"
    assert_describes(legacy, type_name)
    assert legacy.address != exported.address


class Truth:
    """An object that decides its truth in Python code."""

    def __init__(self, value: bool) -> None:
        self.value = value
        self.asked = 0

    def __bool__(self) -> bool:
        self.asked += 1
        return self.value


def answer(tensor: onnxmap.Tensor, copy: object) -> object:
    """The result of an export with this `copy`."""
    try:
        return read(tensor.__dlpack__(max_version=VERSION, copy=copy)).flags
    except BufferError as error:
        return str(error)


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("way", PLACES)
def test_the_truth_of_copy_is_asked_once(way: str, value: bool, tmp_path: Path) -> None:
    """The question calls Python code, which needs the interpreter lock."""
    tensor = tensor_of("FLOAT", way, tmp_path)
    truth = Truth(value)
    assert answer(tensor, truth) == answer(tensor, value)
    assert truth.asked == 1
    with contextlib.suppress(ValueError):
        tensor.numpy(copy=truth)
    assert truth.asked == 2


def test_a_consumer_that_writes_does_no_harm(tmp_path: Path) -> None:
    """A mapped file is safe even from a consumer that ignores the flag. In a child process."""
    code = """
    from pathlib import Path
    import numpy as np
    from support.oracles.dlpack_reader import READ_ONLY, read
    from support.tensors.places import place
    data = bytes(range(105)) * 4
    arguments = [{"max_version": (1, 0)}, {}, {"max_version": (1, 0), "copy": True}, {"copy": True}]

    def written(where):
        folder = Path(sys.argv[1], where)
        folder.mkdir()
        tensor = place(where, "FLOAT", [105], data, folder)
        view = tensor.numpy()
        files = {path: path.read_bytes() for path in folder.iterdir()}
        exports = [read(tensor.__dlpack__(**given)) for given in arguments for _ in range(2)]
        for first, second in zip(exports[::2], exports[1::2]):
            assert first.data(420) == second.data(420) == data
            if where in ("loads", "read") and first.flags & READ_ONLY:
                continue  # memory that others may share, and is said to be read-only
            first.write(bytes(420))
            assert (first.data(420), second.data(420)) == (bytes(420), data)
            assert view.tobytes() == tensor.numpy().tobytes() == tensor.tobytes() == data
            yield first.name.decode()
        assert {path: path.read_bytes() for path in folder.iterdir()} == files

    report(**{where: list(written(where)) for where in sys.argv[2:]})
    """
    legacy, versioned = "dltensor", "dltensor_versioned"
    own = [legacy, versioned, legacy]
    assert facts_from(code, str(tmp_path), *PLACES) == {
        way: [versioned, *own] if way in ("mmap", "external") else own for way in PLACES
    }


@pytest.mark.parametrize("type_name", NUMPY_READS)
@pytest.mark.parametrize("way", PLACES)
def test_numpy_imports_it(type_name: str, way: str, tmp_path: Path) -> None:
    tensor = tensor_of(type_name, way, tmp_path)
    values = values_of(type_name, random_codes(type_name, 105)).reshape(SHAPE)
    array = np.from_dlpack(tensor)
    assert (array.dtype, array.shape) == (values.dtype, SHAPE)
    assert array.tobytes() == values.tobytes()
    assert not array.flags.writeable
    own = np.from_dlpack(tensor, copy=True)
    assert own.flags.writeable
    own[...] = 0
    if way == "read":  # each access to the buffer makes a copy
        with pytest.raises(BufferError):
            np.from_dlpack(tensor, copy=False)
    else:
        assert np.from_dlpack(tensor, copy=False).tobytes() == values.tobytes()
    assert np.from_dlpack(tensor, device="cpu").tobytes() == values.tobytes()


def test_numpy_refuses_types_that_it_lacks(tmp_path: Path) -> None:
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        np.from_dlpack(tensor_of("BFLOAT16", "mmap", tmp_path))


def typed(type_name: str, **field: list[Any]) -> onnxmap.Tensor:
    message = TensorProto(name="t", dims=[3], data_type=number_of(type_name), **field)
    return onnxmap.loads(model_of([message]).SerializeToString()).initializers["t"]


def test_typed_fields_are_decoded_first() -> None:
    tensor = typed("INT64", int64_data=[1, -2, 3])
    array = np.from_dlpack(tensor)
    assert array.tolist() == [1, -2, 3]
    own = np.from_dlpack(tensor, copy=True)
    own[...] = 0
    assert tensor.numpy().tolist() == [1, -2, 3]
    with pytest.raises(BufferError):
        tensor.__dlpack__(max_version=VERSION, copy=False)
    packed = typed("INT4", int32_data=[0x21, 0x0F])
    exported = read(packed.__dlpack__(max_version=VERSION))
    assert (exported.code, exported.shape) == ((0, 4), (3,))
    assert exported.data(2) == b"\x21\x0f"
    in_place = np.from_dlpack(typed("FLOAT", float_data=[1, 2, 3]), copy=False)
    assert in_place.tolist() == [1, 2, 3]


def test_strings_other_devices_and_bad_tensors_cannot_be_exported() -> None:
    strings = typed("STRING", string_data=[b"a", b"b", b"c"])
    with pytest.raises(BufferError, match=r"(?i)string"):
        strings.__dlpack__(max_version=VERSION)
    tensor = typed("FLOAT", float_data=[1, 2, 3])
    for arguments in ({"stream": 1}, {"stream": -1}, {"dl_device": (2, 0)}, {"dl_device": (1, 1)}):
        with pytest.raises(BufferError):
            tensor.__dlpack__(max_version=VERSION, **arguments)
    assert read(tensor.__dlpack__(max_version=VERSION, dl_device=(1, 0), stream=None)).shape == (3,)
    with pytest.raises(TypeError):
        tensor.__dlpack__(None)  # only keywords are allowed
    with pytest.raises(onnxmap.TensorError):
        typed("FLOAT", float_data=[1]).__dlpack__(max_version=VERSION)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 64])
@pytest.mark.parametrize("type_name", ["FLOAT", "INT4"])
def test_shapes_without_or_with_one_element(type_name: str, shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    data = stored(type_name, random_codes(type_name, count))
    tensor = onnxmap.loads(in_buffer(type_name, shape, data)[0]).initializers["t"]
    exported = read(tensor.__dlpack__(max_version=VERSION))
    assert exported.shape == shape
    assert exported.data(len(data)) == data
    if type_name == "FLOAT":
        assert np.from_dlpack(tensor).shape == shape


@pytest.mark.parametrize("version", [VERSION, None])
def test_the_deleter_lets_the_file_go(version: tuple[int, int] | None, tmp_path: Path) -> None:
    """The export holds what it needs until its end, whether it was consumed or not."""
    data = np.random.default_rng(0).bytes(320_000)  # too large to be copied without need

    def export() -> Exported:
        tensor = place("mmap", "DOUBLE", [40_000], data, tmp_path)
        return read(tensor.__dlpack__(max_version=version))

    def mapped() -> int:
        gc.collect()
        return Path("/proc/self/maps").read_text().count(str(tmp_path))

    unconsumed = export()
    assert unconsumed.data(320_000) == data
    assert mapped() >= 1
    unconsumed.capsule = None
    assert mapped() == 0
    consumed = export()
    consumed.consume()
    consumed.capsule = None
    assert mapped() >= 1
    assert consumed.data(320_000) == data
    consumed.release()
    assert mapped() == 0


def test_an_array_of_the_export_holds_the_file(tmp_path: Path) -> None:
    array = np.from_dlpack(place("mmap", "INT32", [80_000], bytes(320_000), tmp_path))
    part = array[1:]
    del array
    gc.collect()
    assert not part.any()
    assert str(tmp_path) in Path("/proc/self/maps").read_text()
    del part
    gc.collect()
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_ten_thousand_exports_leave_nothing_behind(tmp_path: Path) -> None:
    code = """
    import gc, os
    from pathlib import Path
    import numpy as np
    from support.oracles.dlpack_reader import read
    from support.tensors.places import place

    def turn(tensor):
        tensor.__dlpack__(max_version=(1, 0))
        tensor.__dlpack__()
        tensor.__dlpack__(max_version=(1, 0), copy=True)
        np.from_dlpack(tensor)
        exported = read(tensor.__dlpack__(max_version=(1, 0)))
        exported.consume()
        exported.release()

    def state():
        gc.collect()
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), sum(1 for _ in maps), resident_kib()

    def growth(way):
        folder = Path(sys.argv[1], way)
        folder.mkdir()
        tensor = place(way, "FLOAT", [40_000], bytes(160_000), folder)
        for _ in range(200):
            turn(tensor)
        before = state()
        for _ in range(2000):
            turn(tensor)
        return [after - one for after, one in zip(state(), before)]

    report(**{way: growth(way) for way in sys.argv[2:]})
    """
    found = facts_from(code, str(tmp_path), *PLACES)
    assert list(found) == list(PLACES)
    for way, (descriptors, maps, kib) in found.items():
        assert descriptors == 0, way
        assert maps <= 2 or SANITIZED, way
        assert kib < 1024 or SANITIZED, way  # ASan keeps freed memory in quarantine
