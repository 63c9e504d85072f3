"""`load_npz`, and `extract_weights` into .npz and .npy, held against NumPy."""

from __future__ import annotations

import errno
import io
import os
import random
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.hostile.other_formats import FORMATS
from support.oracles.tensor_encoder import ELEMENT_TYPES
from support.oracles.tensors import assert_same_array
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, SANITIZED
from support.tensors.examples import example_of

import onnxmap

# The types that NumPy itself has.
NATIVE = [
    name
    for name, kind in ELEMENT_TYPES.items()
    if not kind.is_text and getattr(np, "bool" if kind.numpy == "bool" else kind.numpy, None)
]
ARRAYS: dict[str, np.ndarray] = {
    f"{kind}/{shape}": example_of(ELEMENT_TYPES[kind], shape, "raw").array
    for kind in NATIVE
    for shape in ((), (3,), (0, 2), (2, 3, 4), (1, 70))
}
ARRAYS["ä😀 name"] = np.arange(5.0)


def members(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as archive:
        return dict(archive)


def test_numpy_reads_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    report = onnxmap.from_arrays(ARRAYS).extract_weights(path)
    assert report.files == [str(path)]
    found = members(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert_same_array(found[name], array)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None  # all checksums are right


def test_arrays_are_aligned_views(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    onnxmap.from_arrays(ARRAYS).extract_weights(path)
    model = onnxmap.load_npz(path)
    assert list(model.initializers) == list(ARRAYS)
    for name, array in ARRAYS.items():
        tensor = model.initializers[name]
        assert_same_array(tensor.numpy(), array)
        if array.size:
            assert tensor.external is not None
            assert tensor.external.offset % 64 == 0
            assert tensor.is_view
    model.save(tmp_path / "w.onnx", sync=False)
    assert (tmp_path / "w.onnx").stat().st_size < path.stat().st_size
    assert_same_array(
        onnxmap.load(tmp_path / "w.onnx").arrays()["FLOAT/(3,)"], ARRAYS["FLOAT/(3,)"]
    )


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_numpy(save: Any, tmp_path: Path) -> None:
    others = {
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "big": np.arange(5, dtype=">f4"),
        "text": np.array(["a", "bc"]),
    }
    save(tmp_path / "w.npz", **{"w": np.arange(9000.0), **others})
    model = onnxmap.load_npz(tmp_path / "w.npz")
    assert_same_array(model.initializers["w"].numpy(), np.arange(9000.0))
    assert model.initializers["w"].is_external == (save is np.savez)
    np.testing.assert_array_equal(model.initializers["fortran"].numpy(), others["fortran"])
    np.testing.assert_array_equal(model.initializers["big"].numpy(), others["big"])
    assert model.initializers["text"].numpy().tolist() == ["a", "bc"]
    assert list(model.initializers) == ["w", "fortran", "big", "text"]
    assert not model.edited
    with np.load(tmp_path / "w.npz") as archive:
        same = onnxmap.from_arrays(archive)
    assert onnxmap.diff(same, model).same


def test_other_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(onnxmap.ParseError, match="not a regular file"):
        onnxmap.load_npz(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError) as caught:
        onnxmap.load_npz(tmp_path / "none.npz")
    assert caught.value.filename == str(tmp_path / "none.npz")


def test_a_folder_and_its_archives(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        onnxmap.load_npz(tmp_path)
    assert (caught.value.filename, "there is" in str(caught.value)) == (str(tmp_path), False)
    np.savez(tmp_path / "w.npz", a=np.ones(3))
    with pytest.raises(IsADirectoryError, match=r"there is '.*w\.npz'"):
        onnxmap.load_npz(tmp_path)


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs memory of its own")
@pytest.mark.parametrize("kind", ["C", "Fortran", ">f4"])
def test_decoded_arrays_are_in_memory_once(kind: str, tmp_path: Path) -> None:
    count = 1 << 24
    array = np.zeros((1 << 12, count >> 12), ">f4" if kind == ">f4" else "f4")
    array = np.asfortranarray(array) if kind == "Fortran" else array
    np.savez_compressed(tmp_path / "w.npz", a=array)
    np.savez_compressed(tmp_path / "small.npz", a=array[:2])
    facts = facts_from(
        """
    import onnxmap
    onnxmap.load_npz(sys.argv[1])
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = resident_kib()
    model = onnxmap.load_npz(sys.argv[2])
    report(growth=peak_kib() - before)
    """,
        str(tmp_path / "small.npz"), str(tmp_path / "w.npz"),
    )  # fmt: skip
    assert facts["growth"] < 1.2 * array.nbytes / 1024


def test_arrays_that_are_decoded_in_pieces(tmp_path: Path) -> None:
    """More elements than are decoded at once, in each order and byte order, stored or not."""
    values = np.arange(3 * 5 * 40_009, dtype="f4").reshape(3, 5, -1)
    arrays = {
        f"{order}{byteorder}": np.require(values, f"{byteorder}f4", order)
        for order in "CF"
        for byteorder in "<>"
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "w.npz", **arrays)
        found = onnxmap.load_npz(tmp_path / "w.npz").arrays()
        assert list(found) == list(arrays)
        for array in found.values():
            assert_same_array(array, values)


def test_compressed_arrays_have_a_limit(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "w.npz", a=np.zeros(1000))
    onnxmap.load_npz(tmp_path / "w.npz", limits=onnxmap.Limits(dense_bytes=9000))
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.load_npz(tmp_path / "w.npz", limits=onnxmap.Limits(dense_bytes=8000))
    assert caught.value.code == "limit.dense_bytes"


def test_strings_count_as_objects(tmp_path: Path) -> None:
    """Four bytes in the archive take two hundred in Python, while they are decoded."""
    np.savez_compressed(tmp_path / "w.npz", a=np.full(1000, "a"))
    onnxmap.load_npz(tmp_path / "w.npz", limits=onnxmap.Limits(dense_bytes=300_000))
    with pytest.raises(onnxmap.LimitError):
        onnxmap.load_npz(tmp_path / "w.npz", limits=onnxmap.Limits(dense_bytes=200_000))


def test_one_array(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"a": np.arange(6.0).reshape(2, 3), "b": np.ones(1)})
    model.extract_weights(tmp_path / "a.npy", "a")
    assert_same_array(np.load(tmp_path / "a.npy"), np.arange(6.0).reshape(2, 3))
    with pytest.raises(onnxmap.SaveError, match="holds one tensor, not 2"):
        model.extract_weights(tmp_path / "b.npy")
    with pytest.raises(ValueError, match=r"must end in .*, not '\.bin'"):
        model.extract_weights(tmp_path / "b.bin")
    with pytest.raises(KeyError):
        model.extract_weights(tmp_path / "b.npy", "c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy"]


def test_safetensors_by_extension(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"a": np.ones(3)}, {"k": "v"})
    model.extract_weights(tmp_path / "a.safetensors")
    onnxmap.save_safetensors(model, tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_what_numpy_cannot_hold(tmp_path: Path) -> None:
    arrays = {
        "b": np.ones(2, ml_dtypes.bfloat16), "f": np.ones(2, ml_dtypes.float8_e5m2),
        "i": np.ones(2, ml_dtypes.int4), "s": np.array(["x"], object),
    }  # fmt: skip
    for name in arrays:
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.from_arrays(arrays).extract_weights(tmp_path / "w.npz", [name])
        assert caught.value.code == "save.not_carried"
        assert f"{name!r}, of type" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    for other in arrays["b"], np.array(["2026"], "M8[D]"), np.zeros(1, [("f", "i4")]):
        np.savez(tmp_path / "w.npz", b=other)
        with pytest.raises(TypeError, match=r"w\.npz': the member 'b\.npy' has .* no such type"):
            onnxmap.load_npz(tmp_path / "w.npz")


@pytest.mark.parametrize("count", [65_534, 65_535, 65_536])
def test_many_members(count: int, tmp_path: Path) -> None:
    """From 65 535 on, the directory has another form."""
    array = np.zeros((), np.int8)
    graph = onnxmap.from_arrays({"w": array}).proto.graph
    one = graph.initializer[0].SerializeToString()
    assert one.count(b"w") == 1
    model = onnxmap.loads(many_tensors(count))
    model.extract_weights(tmp_path / "w.npz")
    with zipfile.ZipFile(tmp_path / "w.npz") as archive:
        names = archive.namelist()
        assert (len(names), names[0], names[-1]) == (count, "0.npy", f"{count - 1}.npy")
        with archive.open(names[-1]) as member:
            assert np.lib.format.read_array(member) == 7


def many_tensors(count: int) -> bytes:
    from onnx import GraphProto, ModelProto

    graph = GraphProto(name="g")
    for i in range(count):
        graph.initializer.add(name=str(i), data_type=3, raw_data=b"\7")
    return ModelProto(ir_version=8, graph=graph).SerializeToString()


def archive_with(**changes: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in changes.items():
            archive.writestr(name.replace("_", "."), content)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def damaged(compression: int) -> bytes:
    """An archive whose member has wrong bytes behind the first ones."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("a.npy", npy(np.random.default_rng(0).random(1_000_000)))
    data = bytearray(file.getvalue())
    data[4_000_000:4_000_100] = bytes(100)
    return bytes(data)


def ended_early() -> bytes:
    """An archive whose member says that it has more bytes than come out of it."""
    whole = npy(np.zeros(100_000))
    compressor = zlib.compressobj(wbits=-15)
    short = compressor.compress(whole[:-8000]) + compressor.flush()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", whole)
    data = file.getvalue()
    directory = data[data.index(b"PK\1\2") :]
    crc = struct.pack("<I", zlib.crc32(whole[:-8000]))
    sizes = struct.pack("<II", len(short), len(whole))
    local = data[:14] + crc + sizes + data[26:35] + short
    directory = directory[:16] + crc + sizes + directory[28:]
    return local + directory[:-6] + struct.pack("<I", len(local)) + directory[-2:]


WRONG = {
    "ends early": (ended_early(), "ends too soon"),
    "empty": (b"", "not a zip file"),
    "no archive": (b"PK\3\4" + bytes(100), "not a zip file"),
    "longer": (archive_with(a_npy=npy(np.ones(3)) + b"x"), "another size"),
    "shorter": (archive_with(a_npy=npy(np.ones(3))[:-1]), "another size"),
    "objects": (archive_with(a_npy=npy(np.array([{}], object))), "pickled objects"),
    "elements without bytes": (archive_with(a_npy=npy(np.zeros(3, "V0"))), "without bytes"),
    "negative": (archive_with(a_npy=npy(np.ones(4)).replace(b"(4,)", b"(-4,-1)")), "has the shape"),
    "version": (archive_with(a_npy=npy(np.ones(4)).replace(b"NUMPY\1", b"NUMPY\4")), "version"),
    "long header": (archive_with(a_npy=b"\x93NUMPY\2\0\0\0\1\1" + bytes(9)), "has a header of"),
    "no arrays": (archive_with(a_npy=b"hello", b=b""), "none of its members is an array"),
    "damaged bzip2": (damaged(zipfile.ZIP_BZIP2), "Invalid data stream"),
    "damaged deflate": (damaged(zipfile.ZIP_DEFLATED), "Error -3|Bad CRC"),
    "damaged lzma": (damaged(zipfile.ZIP_LZMA), "Corrupt input data|Bad CRC"),
    "twice": (
        archive_with(a_npy=npy(np.ones(3)), a=npy(np.ones(3))),
        "two arrays have the same name",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_archives(name: str, tmp_path: Path) -> None:
    data, text = WRONG[name]
    (tmp_path / "w.npz").write_bytes(data)
    with pytest.raises(onnxmap.ParseError, match=text) as caught:
        onnxmap.load_npz(tmp_path / "w.npz")
    assert caught.value.code == "model.npz"
    assert "w.npz" in str(caught.value)


@pytest.mark.parametrize("is_large", [False, True])
def test_a_directory_of_gigabytes(is_large: bool, tmp_path: Path) -> None:
    """The file has holes. Nobody reads the directory that its end record declares."""
    nbytes, at = 2_900_000_000, 4
    end = b""
    if is_large:
        end += b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1, 1, nbytes, at)
        end += b"PK\6\7" + struct.pack("<IQI", 0, at + nbytes, 1)
    size = (1 << 32) - 1 if is_large else nbytes
    end += b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, size, at, 0)
    with (tmp_path / "w.npz").open("wb") as file:
        file.write(b"PK\3\4")
        file.seek(at + nbytes)
        file.write(end)
    with pytest.raises(onnxmap.ParseError, match="directory would have 2900000000 bytes"):
        onnxmap.load_npz(tmp_path / "w.npz")


def test_a_name_with_a_slash_at_its_end(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as archive:
        archive.writestr("d/", b"")
    with pytest.raises(onnxmap.ParseError, match="none of its members is an array"):
        onnxmap.load_npz(tmp_path / "w.npz")
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as archive:
        archive.writestr("d/", npy(np.ones(3)))
    assert [*onnxmap.load_npz(tmp_path / "w.npz").arrays()] == ["d/"]


def test_members_that_are_no_arrays_are_named(tmp_path: Path) -> None:
    content = {"a_npy": npy(np.ones(3)), "read_me": b"about", "folder/": b"", "b": npy(np.ones(2))}
    (tmp_path / "w.npz").write_bytes(archive_with(**content))
    with pytest.warns(onnxmap.TensorWarning, match=r"left out 1 member without an .*: 'read\.me'$"):
        model = onnxmap.load_npz(tmp_path / "w.npz")
    with np.load(tmp_path / "w.npz") as archive:
        assert {name: archive[name].tolist() for name in ("a", "b")} == {
            name: array.tolist() for name, array in model.arrays().items()
        }


@pytest.mark.parametrize("name", FORMATS)
def test_other_files_say_what_they_are(name: str, tmp_path: Path) -> None:
    (tmp_path / "w.npz").write_bytes(FORMATS[name])
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load_npz(tmp_path / "w.npz")
    assert "this is not an .npz archive; it looks like" in str(caught.value)
    assert name.lower() in str(caught.value).lower()


@pytest.mark.filterwarnings("ignore:.*left out . member:onnxmap.TensorWarning")
def test_mutants(tmp_path: Path) -> None:
    """Random bytes change. Each file is refused, or its arrays can be read or are refused.

    A member that no longer begins like an array is left out, with a warning.
    """
    arrays = {"a": np.arange(20.0), "b": np.ones((2, 3), np.int8)}
    onnxmap.from_arrays(arrays).extract_weights(tmp_path / "w.npz")
    good = (tmp_path / "w.npz").read_bytes()
    rng = random.Random(5)
    opened = 0
    for _ in range(20_000 if EXHAUSTIVE else 1_000):
        data = bytearray(good)
        for _ in range(rng.choice([1, 1, 3])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / "m.npz").write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        try:
            model = onnxmap.load_npz(tmp_path / "m.npz", io="read")
            model.arrays()
            opened += 1
        except (onnxmap.OnnxMapError, TypeError):
            continue
    assert opened > 20


@pytest.mark.parametrize("name", ["w.npz", "w.npy", "w.safetensors"])
def test_an_interruption_leaves_the_old_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    onnxmap.from_arrays({"w": np.ones(3)}).extract_weights(path)
    old = path.read_bytes()

    def interrupt(done: int, _total: int) -> None:
        if done > 0:
            raise KeyboardInterrupt

    model = onnxmap.from_arrays({"w": np.zeros(3 << 20)})
    with pytest.raises(KeyboardInterrupt):
        model.extract_weights(path, progress=interrupt)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    onnxmap.from_arrays({"w": np.ones(3)}).extract_weights(path)
    facts = facts_from(
        """
    import resource, signal
    import numpy as np, onnxmap
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    model = onnxmap.from_arrays({"w": np.zeros(1 << 20)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    for name in sys.argv[1:]:
        try:
            model.extract_weights(name)
        except OSError as error:
            report(**{name: error.errno})
    """,
        str(path), str(tmp_path / "w.safetensors"),
        fresh=True,
    )  # fmt: skip
    assert facts == {str(tmp_path / "w.safetensors"): errno.EFBIG}
    assert members(path)["w"].tolist() == [1, 1, 1]
    assert list(tmp_path.iterdir()) == [path]
