"""`Model.arrays` and `load_arrays`: each tensor by name, as a new array of the right values."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models.many_tensors import (
    PLACES,
    Folder,
    is_float_run,
    spans,
    threads_left,
    threads_of_process,
    write_floats,
)
from support.models.sample import external, floats, model_of, write
from support.oracles.tensors import assert_same_array
from support.tensors.stored import (
    NUMERIC,
    dtype_of,
    in_buffer,
    number_of,
    random_codes,
    stored,
    values_of,
)

import onnxmap

MIB = 1 << 20


@pytest.mark.parametrize("place", PLACES)
def test_every_type_in_every_storage(every_type: Folder, place: str) -> None:
    model = every_type.open(place)
    arrays = model.arrays()
    assert list(arrays) == list(every_type.expected)
    for name, expected in every_type.expected.items():
        assert_same_array(arrays[name], expected)
        assert_same_array(model.initializers[name].numpy(), expected)


@pytest.mark.parametrize("place", PLACES)
def test_arrays_belong_to_the_caller_alone(every_type: Folder, place: str) -> None:
    model = every_type.open(place)
    arrays = model.arrays()
    used = []
    for array in arrays.values():
        assert array.flags.writeable
        assert array.flags.c_contiguous
        if array.dtype == object:
            continue
        assert array.flags.aligned
        assert array.ctypes.data % 64 == 0 or array.size == 0
        used.append((array.ctypes.data, array.ctypes.data + array.nbytes))
        array.reshape(-1).view(np.uint8)[:] ^= 0xFF
    used.sort()
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(used))
    for name, expected in every_type.expected.items():
        assert_same_array(model.initializers[name].numpy(), expected)


@pytest.mark.parametrize("type_name", NUMERIC)
def test_large_tensors_in_pieces(type_name: str) -> None:
    """The odd count makes pieces of 2 MiB and of 256 KiB end within groups of packed elements."""
    count = 9 * MIB // 2 // dtype_of(type_name).itemsize + 3
    codes = random_codes(type_name, count)
    buffer, _ = in_buffer(type_name, [count], stored(type_name, codes), offset=1)
    expected = values_of(type_name, codes)
    before = threads_of_process()
    for threads in (None, 1, 2, 7):
        array = onnxmap.loads(buffer).arrays(threads=threads)["t"]
        assert not threads_left(before)
        assert_same_array(array, expected)


def test_many_small_neighbours(tmp_path: Path) -> None:
    """Arrays of up to 256 KiB are read together, in slabs of 16 MiB. Both limits are crossed."""
    counts = [(i * 7919) % 3000 for i in range(4000)]
    for data_files in (0, 3):
        write_floats(tmp_path / "model.onnx", counts, data_files)
        arrays = onnxmap.load_arrays(tmp_path / "model.onnx")
        assert list(arrays) == [str(i) for i in range(len(counts))]
        for (name, array), count in zip(arrays.items(), counts, strict=True):
            assert array.shape == (count,)
            assert is_float_run(name, array)
            assert array.ctypes.data % 64 == 0 or not count


def test_ranges_that_overlap_touch_or_leave_gaps(tmp_path: Path) -> None:
    data = np.random.default_rng(0).bytes(700_000)
    (tmp_path / "w.bin").write_bytes(data)
    ranges = [
        ("last", 600_000, 100_000), ("all", 0, 700_000), ("again", 0, 700_000), ("first", 0, 10),
        ("within", 3, 4), ("touching", 10, 20), ("gap of 4096", 4126, 9), ("gap of 4097", 8232, 9),
        ("empty", 5, 0), ("empty at the end", 700_000, 0), ("across", 250_000, 100_001),
    ]  # fmt: skip
    path = write(model_of(list(spans(ranges, "w.bin"))), tmp_path / "model.onnx")
    for io in ("mmap", "read"):
        arrays = onnxmap.load_arrays(path, io=io)
        assert list(arrays) == [name for name, _, _ in ranges]
        for name, offset, length in ranges:
            assert arrays[name].tobytes() == data[offset : offset + length], name
    some = onnxmap.load(path).arrays(["within", "gap of 4097", "empty"])
    assert [array.tobytes() for array in some.values()] == [data[3:7], data[8232:8241], b""]


class TestNames:
    @pytest.fixture
    def model(self) -> onnxmap.Model:
        names = ["b", "a.weight", "c.weight", "[ab]", "", "a", "*"]
        tensors = [floats(name, i + 1) for i, name in enumerate(names)]
        return onnxmap.loads(model_of(tensors).SerializeToString())

    def test_all_named_tensors_come_in_file_order(self, model: onnxmap.Model) -> None:
        assert list(model.arrays()) == ["b", "a.weight", "c.weight", "[ab]", "a", "*"]

    def test_a_list_of_names_keeps_its_order(self, model: onnxmap.Model) -> None:
        arrays = model.arrays(["c.weight", "b", "a.weight", "b"])
        assert {name: array.size for name, array in arrays.items()} == {
            "c.weight": 3, "b": 1, "a.weight": 2,
        }  # fmt: skip
        assert list(arrays) == ["c.weight", "b", "a.weight"]
        assert model.arrays([]) == {}
        assert list(model.arrays(("a", "b"))) == ["a", "b"]

    @pytest.mark.parametrize(
        ("names", "found"),
        [
            ("b", ["b"]),
            ("*.weight", ["a.weight", "c.weight"]),
            ("?", ["b", "a", "*"]),
            ("[ab]", ["[ab]"]),  # the name itself
            ("*", ["*"]),
            ("[bc]*", ["b", "c.weight"]),
            ("nothing*", []),
        ],
    )
    def test_a_string_is_a_name_or_a_pattern(
        self, model: onnxmap.Model, names: str, found: list[str]
    ) -> None:
        assert list(model.arrays(names)) == found
        assert [name for name, _ in model.stream(names)] == found

    def test_missing_names_are_key_errors(self, model: onnxmap.Model) -> None:
        for read in (model.arrays, model.stream):
            with pytest.raises(KeyError, match="nothing"):
                read(["b", "nothing"])
            with pytest.raises(KeyError, match="nothing"):
                read("nothing")
            with pytest.raises(KeyError):
                read([""])

    def test_repeated_names_are_refused(self) -> None:
        tensors = [floats("x", 1), floats("y", 1), floats("x", 2)]
        model = onnxmap.loads(model_of(tensors).SerializeToString())
        for read in (model.arrays, model.stream):
            for names in (None, ["y", "x"], "*"):
                with pytest.raises(onnxmap.ParseError, match="'x'") as caught:
                    read(names)
                assert caught.value.code == "model.duplicate_name"
        assert list(model.arrays(["y"])) == ["y"]


def test_sparse_initializers_are_left_out() -> None:
    values = numpy_helper.from_array(np.float32([1, 2]), "s")
    indices = numpy_helper.from_array(np.int64([0, 3]), "i")
    graph = helper.make_graph([], "g", [], [], [floats("w", 3)])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    assert list(model.arrays()) == ["w"]
    assert [name for name, _ in model.stream()] == ["w"]


def test_a_model_without_initializers() -> None:
    model = onnxmap.loads(model_of([]).SerializeToString())
    assert model.arrays() == {}
    assert list(model.stream()) == []


def test_nothing_stays_open(tmp_path: Path) -> None:
    write_floats(tmp_path / "model.onnx", [1000] * 5, data_files=2)
    arrays = onnxmap.load_arrays(tmp_path / "model.onnx", "[12]")
    assert list(arrays) == ["1", "2"]
    assert all(is_float_run(*one) for one in arrays.items())
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_options_of_load(tmp_path: Path) -> None:
    write_floats(tmp_path / "model.onnx", [1000] * 5, data_files=1)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "0.bin").rename(tmp_path / "elsewhere" / "0.bin")
    with pytest.raises(onnxmap.ExternalDataError):
        onnxmap.load_arrays(tmp_path / "model.onnx")
    arrays = onnxmap.load_arrays(tmp_path / "model.onnx", external_root=tmp_path / "elsewhere")
    assert len(arrays) == 5


def test_pieces_of_tensors_count_as_overlapping(tmp_path: Path) -> None:
    half = 8 << 20
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(2 * half)
    tensors = []
    for i in range(20):
        for begin in (0, half):
            piece = external(
                f"t{i}", [2 * half], {"location": "w.bin", "offset": str(begin)}, TensorProto.UINT8
            )
            piece.segment.begin, piece.segment.end = begin, begin + half
            tensors.append(piece)
    path = write(model_of(tensors), tmp_path / "model.onnx")
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.load_arrays(path)
    assert caught.value.code == "limit.overlap"
    assert len(onnxmap.load_arrays(path, ["t0", "t1"])) == 2


def test_float6_tensors_count_as_overlapping(tmp_path: Path) -> None:
    """Their values are decoded, but the bytes that they name still count for the overlap."""
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(3 * MIB)
    for number in (2, number_of("FLOAT6E2M3")):
        count = 3 * MIB if number == 2 else 4 * MIB
        tensors = list(spans([(str(i), 0, 3 * MIB) for i in range(100)], "w.bin"))
        for tensor in tensors:
            tensor.data_type = number
            tensor.dims[:] = [count]
        path = write(model_of(tensors), tmp_path / "model.onnx")
        with pytest.raises(onnxmap.LimitError) as caught:
            onnxmap.load_arrays(path)
        assert caught.value.code == "limit.overlap"
        few = onnxmap.load_arrays(path, [str(i) for i in range(40)])
        assert len({array.ctypes.data for array in few.values()}) == 40
        assert all(array.shape == (count,) for array in few.values())
        limits = onnxmap.Limits(overlap=100)
        if number == 2:
            assert len(onnxmap.load_arrays(path, limits=limits)) == 100


def test_float6_in_a_file_that_is_larger_than_the_model(tmp_path: Path) -> None:
    """Nothing overlaps here, so nothing is refused."""
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(300 * MIB)
    (tensor,) = spans([("t", 0, 300 * MIB)], "w.bin")
    tensor.data_type = number_of("FLOAT6E2M3")
    tensor.dims[:] = [400 * MIB]
    path = write(model_of([tensor]), tmp_path / "model.onnx")
    onnxmap.load(path).stream(copy=True).close()
