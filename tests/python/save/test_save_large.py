"""Saves of large models: memory, and more than 2 GiB. The files are sparse."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.models.sample import external, model_of, write
from support.processes.subprocesses import facts_from
from support.run_options import LONG, SANITIZED

import onnxmap

MIB = 1 << 20
MARK = bytes(range(1, 9))


def write_holes(folder: Path, count: int, nbytes: int) -> Path:
    """A model of `count` tensors in a data file of holes; each ends with MARK and its number."""
    tensors = []
    with (folder / "holes.data").open("wb") as file:
        for i in range(count):
            entries = {"location": "holes.data", "offset": str(i * nbytes), "length": str(nbytes)}
            tensors.append(external(f"w{i}", [nbytes], entries, data_type=2))
            file.seek((i + 1) * nbytes - len(MARK) - 1)
            file.write(MARK + bytes([i]))
    return write(model_of(tensors), folder / "model.onnx")


def has_marks(path: Path) -> bool:
    """Whether all tensors of write_holes() are there, with their ends."""
    weights = onnxmap.load(path).initializers
    found = {name: weights[name][-9:].tobytes() for name in weights if name.startswith("w")}
    return len(found) > 1 and found == {f"w{i}": MARK + bytes([i]) for i in range(len(found))}


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
@pytest.mark.parametrize("io", ["mmap", "read"])
def test_memory(io: str, tmp_path: Path) -> None:
    """Outside, inline, aligned, outside again with a checksum, and into a file object."""
    path = write_holes(tmp_path, 10, 12 * MIB)
    facts = facts_from(
        """
    import os
    import onnxmap
    folder, io = sys.argv[1:]
    saves = [
        ("inline.onnx", {"external_data": False}),
        ("aligned.onnx", {"alignment": 64}),
        ("outside.onnx", {"external_data": "w.data", "checksum": True, "dedupe": True}),
        ("again.onnx", {"external_data": False}),
    ]
    name, peaks = "model.onnx", {}
    for target, options in saves:
        model = onnxmap.load(f"{folder}/{name}", io=io)
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        before = resident_kib()
        onnxmap.save(model, f"{folder}/{target}", sync=False, **options)
        peaks[target] = (peak_kib() - before) / 1024
        name = target
    class Count:
        size = 0
        def write(self, data):
            self.size += len(data)
    count = Count()
    before = resident_kib()
    onnxmap.save(onnxmap.load(f"{folder}/again.onnx", io=io), count)
    peaks["file object"] = (peak_kib() - before) / 1024
    report(peaks=peaks, size=count.size)
    """,
        str(tmp_path),
        io,
    )
    assert facts["size"] > 120 * MIB
    assert max(facts["peaks"].values()) < 40
    assert all(has_marks(tmp_path / name) for name in facts["peaks"] if name.endswith(".onnx"))
    assert path.exists()


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
@pytest.mark.parametrize("external_data", [None, "w.data"])
def test_memory_with_many_large_tensors(external_data: str | None, tmp_path: Path) -> None:
    """One look at a header maps up to 2 MiB, if the page cache has the file in large folios."""
    values = bytes(MIB * 3 // 2)
    graph = b"".join(
        wire.blob(5, wire.scalar(1, len(values)) + wire.scalar(2, 2) + wire.blob(8, name) + data)
        for data in [wire.blob(9, values)]
        for name in (f"w{i}".encode() for i in range(60))
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(wire.scalar(1, 10) + wire.blob(7, graph))
    (tmp_path / "w.data").write_bytes(b"old")
    facts = facts_from(
        """
    import os
    import onnxmap
    path, saved, external_data = sys.argv[1:]
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(1 << 24):
            pass
    onnxmap.loads(bytes([0x3A, 0])).save(saved)
    model = onnxmap.load(path)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = resident_kib()
    model.metadata_props["key"] = "value"
    model.save(saved, external_data=external_data or None, sync=False)
    model.unused_bytes()
    report(growth=(peak_kib() - before) / 1024)
    """,
        str(path),
        str(tmp_path / "saved.onnx"),
        external_data or "",
    )
    assert facts["growth"] < 30


def test_many_bytes_go_into_another_folder(tmp_path: Path) -> None:
    """They are far more than the model, but not more than its files have."""
    path = write_holes(tmp_path, 3, 90 * MIB)
    (tmp_path / "new").mkdir()
    report = onnxmap.load(path).save(tmp_path / "new" / "model.onnx", sync=False)
    assert report.bytes_copied >= 270 * MIB
    assert has_marks(tmp_path / "new" / "model.onnx")


def test_more_than_2_gib_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    model = onnxmap.load(write_holes(tmp_path, 3, 800 * MIB))
    (tmp_path / "saved.onnx").write_bytes(b"old")
    before = {path.name for path in tmp_path.iterdir()}
    for options in ({}, {"alignment": 64}):
        with pytest.raises(onnxmap.SaveError, match="external_data=") as caught:
            onnxmap.save(model, tmp_path / "saved.onnx", external_data=False, **options)
        assert caught.value.code == "save.too_large"
    assert (tmp_path / "saved.onnx").read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == before


def test_the_boundary_of_2_gib(tmp_path: Path) -> None:
    """Protobuf reads 2^31 - 1 bytes and no more. Nothing is written in either case."""

    class Enough(Exception):
        """Raised by the first write."""

    class First:
        def write(self, data: bytes) -> None:
            raise Enough

    model = onnxmap.load(write_holes(tmp_path, 3, 682 * MIB))
    refused = (1 << 31) - 3 * 682 * MIB  # bytes of text
    fitting = 0
    while refused - fitting > 1:
        text = (refused + fitting) // 2
        model.doc_string = "x" * text
        try:
            onnxmap.save(model, First(), external_data=False)
        except Enough:
            fitting = text
        except onnxmap.SaveError as error:
            size = int(re.findall(r"would have (\d+) bytes", str(error))[0])
            refused = text
    assert size - (text - refused) == 1 << 31
    with pytest.raises(Enough):
        onnxmap.save(model, First(), external_data=False, allow_over_2gib=True)


def test_an_untouched_model_of_more_than_2_gib(tmp_path: Path) -> None:
    """It is refused as any other, unless the caller allows it."""
    size = (1 << 31) + 5
    head = wire.scalar(2, 2) + wire.scalar(1, size) + wire.blob(8, b"w") + wire.tag(9, wire.LENGTH)
    tensor = head + wire.varint(size)
    graph = wire.tag(5, wire.LENGTH) + wire.varint(len(tensor) + size) + tensor
    path = tmp_path / "big.onnx"
    with path.open("wb") as file:
        file.write(wire.tag(7, wire.LENGTH) + wire.varint(len(graph) + size) + graph)
        file.truncate(file.tell() + size)
    model = onnxmap.load(path)
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.save(model, tmp_path / "saved.onnx")
    assert caught.value.code == "save.too_large"
    report = onnxmap.save(model, tmp_path / "view.onnx", external_data="view", sync=False)
    assert report.bytes_referenced == size
    view = onnxmap.load(tmp_path / "view.onnx")
    assert view.initializers["w"].nbytes == size
    assert (tmp_path / "view.onnx").stat().st_size < 500


@pytest.mark.skipif(not LONG, reason="writes 5 GB (ONNXMAP_TEST_LONG)")
@pytest.mark.parametrize("alignment", [None, 64])
def test_more_than_2_gib_is_written_and_read_back(alignment: int | None, tmp_path: Path) -> None:
    path = write_holes(tmp_path, 3, 800 * MIB)
    saved, again = tmp_path / "saved.onnx", tmp_path / "again.onnx"
    options = {"external_data": False, "allow_over_2gib": True, "alignment": alignment}
    onnxmap.save(onnxmap.load(path), saved, sync=False, **options)
    assert saved.stat().st_size > 2400 * MIB
    assert has_marks(saved)
    model = onnxmap.load(saved)
    assert alignment is None or all(one.offset % 64 == 0 for one in model.initializers.values())
    model.initializers["new"] = np.arange(5)
    onnxmap.save(model, again, external_data="w.data", sync=False)
    assert has_marks(again)
    assert onnxmap.load(again).initializers["new"].numpy().tolist() == [0, 1, 2, 3, 4]
    saved.unlink()


@pytest.mark.skipif(SANITIZED, reason="ASan touches pages of its own")
def test_structure_is_mapped_once(tmp_path: Path) -> None:
    """A walk that goes back by a few bytes must not release the pages and fault them in again."""
    attribute = wire.blob(1, b"axis") + wire.scalar(3, 1) + wire.scalar(20, 2)
    node = wire.blob(1, b"a") + wire.blob(4, b"Neg") + wire.blob(5, attribute)
    path = tmp_path / "nodes.onnx"
    path.write_bytes(wire.blob(7, wire.blob(1, node) * 100_000))
    facts = facts_from(
        """
    import resource
    import onnxmap
    path, out = sys.argv[1:]
    model = onnxmap.load(path)
    model.save(out, sync=False)  # what is allocated once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    model.save(out, sync=False)
    report(faults=resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """,
        str(path),
        str(tmp_path / "out.onnx"),
    )
    pages = path.stat().st_size // resource.getpagesize()
    assert facts["faults"] < pages + 500
