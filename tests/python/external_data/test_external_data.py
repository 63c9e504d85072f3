"""External data: where the bytes are, how many, and which numbers are refused.

Which paths are refused is in external_data/test_containment.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from support.models.sample import external, floats, model_of, tensors_of_every_type, write
from support.oracles.tensors import assert_same_array
from support.processes.subprocesses import facts_from

import onnxmap

DATA = np.arange(16, dtype=np.float32)  # 64 bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    return tmp_path


def load(folder: Path, *tensors: TensorProto, **options: object) -> onnxmap.Model:
    return onnxmap.load(write(model_of(list(tensors)), folder / "model.onnx"), **options)


GOOD: dict[str, tuple[list[int], dict[str, str], list[float]]] = {
    "location alone": ([16], {}, DATA.tolist()),
    "fewer elements than the file has": ([3], {}, [0, 1, 2]),
    "offset": ([2], {"offset": "8"}, [2, 3]),
    "offset and length": ([2], {"offset": "56", "length": "8"}, [14, 15]),
    "length zero means absent": ([2], {"offset": "4", "length": "0"}, [1, 2]),
    "leading zeros": ([1], {"offset": "0004", "length": "04"}, [1]),
    "no elements at the very end": ([0], {"offset": "64"}, []),
    "checksum is not looked at": ([1], {"checksum": "0" * 40}, [0]),
    "unknown keys are ignored": ([1], {"__class__": "x", "basepath": "/etc"}, [0]),
}


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", GOOD)
def test_good_entries(folder: Path, name: str, io: str) -> None:
    dims, entries, values = GOOD[name]
    model = load(folder, external("w", dims, {"location": "w.bin", **entries}), io=io)
    tensor = model.initializers["w"]
    assert tensor.numpy().tolist() == values
    assert model.views()["w"].tolist() == values
    assert not tensor.numpy().flags.writeable
    assert tensor.is_external
    assert tensor.is_view == (io == "mmap")
    assert Path(tensor.file) == folder / "w.bin"
    assert tensor.offset == int(entries.get("offset", "0"))
    assert tensor.nbytes == 4 * len(values)
    assert tensor.tobytes() == np.float32(values).tobytes()
    assert [Path(file) for file in model.external_files] == [folder / "w.bin"]


def test_the_entries_as_stored(folder: Path) -> None:
    entries = {"location": "w.bin", "offset": "4", "length": "8", "checksum": "ab"}
    found = load(folder, external("w", [2], entries)).initializers["w"].external
    assert (found.location, found.offset, found.length, found.checksum) == ("w.bin", 4, 8, "ab")
    bare = load(folder, external("w", [2], {"location": "w.bin"})).initializers["w"].external
    assert (bare.location, bare.length, bare.checksum) == ("w.bin", None, None)
    assert bare.offset in (0, None)


def test_every_type_equals_the_official_reading(tmp_path: Path) -> None:
    tensors = tensors_of_every_type()
    stored, position = [], 1  # an odd start: most of them unaligned
    with (tmp_path / "w.bin").open("wb") as file:
        for tensor in tensors:
            file.seek(position)
            file.write(tensor.raw_data)
            entries = {
                "location": "w.bin",
                "offset": str(position),
                "length": str(len(tensor.raw_data)),
            }
            stored.append(external(tensor.name, list(tensor.dims), entries, tensor.data_type))
            position += len(tensor.raw_data)
    model = load(tmp_path, *stored)
    views = model.views()
    for tensor in tensors:
        assert_same_array(views[tensor.name], numpy_helper.to_array(tensor))
        assert_same_array(model.initializers[tensor.name].numpy(), numpy_helper.to_array(tensor))


BAD: dict[str, tuple[list[int], dict[str, str], str, str]] = {
    "offset at the end": ([1], {"offset": "64"}, "ext.bounds", "64"),
    "offset past the end": ([1], {"offset": "65"}, "ext.bounds", "64"),
    "too few bytes left": ([2], {"offset": "60"}, "ext.bounds", "64"),
    "more elements than bytes": ([17], {}, "ext.bounds", "68"),
    "huge offset": ([1], {"offset": str((1 << 63) - 1)}, "ext.bounds", ""),
    "offset 2^64": ([1], {"offset": str(1 << 64)}, "ext.bounds", ""),
    "offset 2^64 + 16": ([1], {"offset": str((1 << 64) + 16)}, "ext.bounds", ""),
    "1 PiB": ([1 << 48], {"length": str(1 << 50)}, "ext.bounds", ""),
    "length too short": ([4], {"length": "8"}, "ext.length", "expected 16"),
    "length too long": ([4], {"length": "20"}, "ext.length", "declared 20"),
    "offset empty": ([1], {"offset": ""}, "ext.offset", "decimal"),
    "offset with spaces": ([1], {"offset": " 4 "}, "ext.offset", "decimal"),
    "offset with a sign": ([1], {"offset": "+4"}, "ext.offset", "decimal"),
    "offset negative": ([1], {"offset": "-4"}, "ext.offset", "decimal"),
    "offset hexadecimal": ([1], {"offset": "0x4"}, "ext.offset", "decimal"),
    "offset with a point": ([1], {"offset": "4.0"}, "ext.offset", "decimal"),
    "offset with a tail": ([1], {"offset": "4abc"}, "ext.offset", "decimal"),
    "offset underscored": ([1], {"offset": "1_2"}, "ext.offset", "decimal"),
    "offset of other digits": ([1], {"offset": "٤"}, "ext.offset", "decimal"),
    "offset of 4,301 digits": ([1], {"offset": "1" * 4301}, "ext.offset", "decimal"),
    "length no number": ([1], {"length": "four"}, "ext.length", "decimal"),
}


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", BAD)
def test_bad_numbers(folder: Path, name: str, io: str) -> None:
    dims, entries, code, words = BAD[name]
    tensors = [external("w", dims, {"location": "w.bin", **entries}), floats("good", 1)]
    model = load(folder, *tensors, io=io)
    for read in (model.initializers["w"].numpy, model.views, model.initializers["w"].tobytes):
        with pytest.raises(onnxmap.ExternalDataError) as caught:
            read()
        assert caught.value.code == code
        assert (caught.value.tensor, caught.value.location) == ("w", "w.bin")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1_000
    assert model.initializers["good"].numpy().tolist() == [0.0]


def test_errors_of_bounds_have_all_three_numbers(folder: Path) -> None:
    model = load(folder, external("w", [10], {"location": "w.bin", "offset": "40"}))
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        model.initializers["w"].numpy()
    for number in ("40", "64"):
        assert number in str(caught.value)


def test_missing_file(folder: Path) -> None:
    model = load(folder, external("w", [1], {"location": "sub/none.bin"}), floats("good", 1))
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        model.initializers["w"].numpy()
    error = caught.value
    assert error.code == "ext.missing"
    assert isinstance(error, FileNotFoundError)
    assert isinstance(error, ValueError)
    assert str(folder / "sub/none.bin") in str(error)
    assert error.filename == str(folder / "sub/none.bin")
    assert error.errno == 2
    assert model.initializers["good"].numpy().tolist() == [0.0]


def test_empty_data_file(folder: Path) -> None:
    (folder / "empty.bin").write_bytes(b"")
    tensors = [
        external("none", [0], {"location": "empty.bin"}),
        external("w", [1], {"location": "empty.bin"}),
    ]
    model = load(folder, *tensors)
    assert model.initializers["none"].numpy().shape == (0,)
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        model.initializers["w"].numpy()
    assert caught.value.code == "ext.bounds"


@pytest.mark.parametrize("entries", [{}, {"offset": "0"}, {"location": ""}, {"location": "."}])
def test_no_location(folder: Path, entries: dict[str, str]) -> None:
    model = load(folder, external("w", [1], entries))
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        model.initializers["w"].numpy()
    assert caught.value.code == "ext.location"


@pytest.mark.parametrize("key", ["location", "offset", "length"])
def test_keys_given_twice_are_refused(folder: Path, key: str) -> None:
    tensor = external("w", [1], {"location": "w.bin", "offset": "0", "length": "4"})
    tensor.external_data.add(key=key, value={"location": "w.bin"}.get(key, "4"))
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        load(folder, tensor).initializers["w"].numpy()
    assert caught.value.code == "ext.duplicate_key"


def test_the_current_folder_is_an_ordinary_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "canary.bin").write_bytes(DATA.tobytes())
    (inside / "w.bin").write_bytes(DATA.tobytes())
    tensors = [
        external("out", [1], {"location": "../canary.bin"}),
        external("w", [1], {"location": "w.bin"}),
    ]
    write(model_of(tensors), inside / "model.onnx")
    monkeypatch.chdir(inside)
    model = onnxmap.load("model.onnx")
    monkeypatch.chdir(tmp_path)  # the base was made absolute at load
    assert model.initializers["w"].numpy().tolist() == [0.0]
    with pytest.raises(onnxmap.UnsafePathError):
        model.initializers["out"].numpy()


def test_names_with_dots_and_subfolders(folder: Path) -> None:
    (folder / "sub").mkdir()
    names = [
        "a..b.bin",
        "..w.bin",
        "w..",
        "sub/w.bin",
        "sub/../w.bin",
        "./w.bin",
        "#w.bin",
        "é\n.bin",
    ]
    for name in names:
        (folder / name).write_bytes(DATA.tobytes())
        model = load(folder, external("w", [2], {"location": name, "offset": "4"}))
        assert model.initializers["w"].numpy().tolist() == [1.0, 2.0], name


def test_external_root(tmp_path: Path, folder: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    message = model_of([external("w", [2], {"location": "w.bin"})])
    path = write(message, elsewhere / "model.onnx")
    with pytest.raises(FileNotFoundError):
        onnxmap.load(path).initializers["w"].numpy()
    for root in (folder, str(folder)):
        assert onnxmap.load(path, external_root=root).initializers["w"].numpy().tolist() == [0, 1]
        inside = onnxmap.loads(message.SerializeToString(), external_root=root)
        assert inside.initializers["w"].numpy().tolist() == [0, 1]


def test_loads_without_a_root_has_no_external_data() -> None:
    model = onnxmap.loads(model_of([external("w", [2], {"location": "w.bin"})]).SerializeToString())
    assert model.initializers["w"].is_external
    with pytest.raises(onnxmap.ExternalDataError, match="external_root"):
        model.initializers["w"].numpy()


def test_data_location_decides_if_the_data_are_external(folder: Path) -> None:
    """`external_data` without EXTERNAL: the data in the file counts (default is DEFAULT)."""
    tensor = floats("w", 2, 5.0)
    tensor.external_data.add(key="location", value="w.bin")
    found = load(folder, tensor).initializers["w"]
    assert not found.is_external
    assert found.numpy().tolist() == [5.0, 6.0]


def test_external_and_raw_data_at_once(folder: Path) -> None:
    tensor = external("w", [1], {"location": "w.bin"})
    tensor.raw_data = b"\0\0\0\0"
    with pytest.raises(onnxmap.TensorError) as caught:
        load(folder, tensor).initializers["w"].numpy()
    assert caught.value.code == "tensor.ambiguous_data"


def mappings_of(path: Path) -> int:
    """How many times a file is mapped in this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum(line.endswith(str(path)) for line in lines)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_one_mapping_per_file_and_no_descriptor_per_tensor(tmp_path: Path) -> None:
    count = 500
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(np.arange(count, dtype=np.float32).tobytes())
    tensors = [
        external(f"{file}{i}", [1], {"location": file, "offset": str(4 * i)})
        for file in ("a.bin", "b.bin")
        for i in range(count)
    ]
    before = descriptors()
    model = load(tmp_path, *tensors, io="mmap")
    views = model.views()
    arrays = [tensor.numpy() for tensor in model.initializers.all()]
    assert mappings_of(tmp_path / "a.bin") == mappings_of(tmp_path / "b.bin") == 1
    assert mappings_of(tmp_path / "model.onnx") == 1
    assert descriptors() <= before + 4  # the three files and the folder
    assert [int(view[0]) for view in views.values()] == list(range(count)) * 2
    assert len(arrays) == 2 * count
    assert np.shares_memory(views["a.bin3"], model.initializers["a.bin3"].numpy())


def test_nothing_is_opened_before_a_tensor_is_read(folder: Path) -> None:
    model = load(folder, external("w", [2], {"location": "w.bin"}))
    assert mappings_of(folder / "w.bin") == 0
    assert model.initializers.shapes() == [(2,)]
    assert model.nbytes == 8
    assert mappings_of(folder / "w.bin") == 0
    assert model.initializers["w"].numpy().tolist() == [0.0, 1.0]


def test_written_by_the_official_package(tmp_path: Path) -> None:
    tensors = [t for t in tensors_of_every_type() if t.name.endswith("matrix")]
    message = onnx.ModelProto()
    message.CopyFrom(model_of(tensors))
    onnx.save_model(
        message,
        tmp_path / "model.onnx",
        save_as_external_data=True,
        location="w.data",
        size_threshold=0,
    )
    model = onnxmap.load(tmp_path / "model.onnx")
    for tensor in tensors:
        assert model.initializers[tensor.name].is_external
        assert_same_array(model.initializers[tensor.name].numpy(), numpy_helper.to_array(tensor))


def test_a_file_per_tensor_needs_no_descriptor_each(tmp_path: Path) -> None:
    tensors = []
    for i in range(300):
        (tmp_path / f"w{i}.bin").write_bytes(np.float32(i).tobytes())
        tensors.append(external(f"w{i}", [1], {"location": f"w{i}.bin"}))
    path = write(model_of(tensors), tmp_path / "model.onnx")
    facts = facts_from(
        """
        import onnxmap
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        views = onnxmap.load(sys.argv[1]).views()
        report(values=[int(view[0]) for view in views.values()])
        """,
        str(path),
    )
    assert facts["values"] == list(range(300))


def test_unsafe_locations_are_not_given_as_paths(folder: Path) -> None:
    model = load(folder, external("w", [1], {"location": "../../etc/passwd"}))
    with pytest.raises(onnxmap.UnsafePathError):
        model.initializers["w"].file  # noqa: B018
    assert model.external_files == []


def test_without_a_root_there_is_no_path() -> None:
    message = model_of([external("w", [1], {"location": "w.bin"})])
    assert onnxmap.loads(message.SerializeToString()).initializers["w"].file is None
