"""Data files of a terabyte and lengths of a petabyte: only what is asked for costs memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.models.paged import FLOAT, external_entries, model_of, tensor_message
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED

import onnxmap

GIB, TIB, PIB = 1 << 30, 1 << 40, 1 << 50
LAST = np.array([7, 8, 9], np.float32)


def write_sparse(folder: Path, nbytes: int) -> None:
    """A data file that is a hole except for its last three numbers, and a model of it as "t"."""
    with (folder / "w.bin").open("wb") as file:
        file.truncate(nbytes)
        file.seek(nbytes - LAST.nbytes)
        file.write(LAST.tobytes())
    entries = external_entries(b"w.bin", 0, nbytes)
    (folder / "model.onnx").write_bytes(model_of(tensor_message(FLOAT, nbytes // 4, entries)))


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_a_data_file_of_a_terabyte(tmp_path: Path, io: str) -> None:
    write_sparse(tmp_path, TIB)
    assert (tmp_path / "w.bin").stat().st_blocks * 512 < 1 << 20
    facts = facts_from(
        """
        import numpy as np
        import onnxmap
        path, io = sys.argv[1:]
        before = peak_kib()
        model = onnxmap.load(path, io=io)
        tensor = model.initializers["t"]
        steps = tensor[:: 1 << 36].tolist() if io == "mmap" else [0.0] * 4
        facts = dict(
            shape=tensor.shape, nbytes=model.nbytes, last=tensor[-3:].tolist(),
            one=float(tensor[-1]), first=tensor[:3].tolist(), steps=steps,
        )
        if io == "mmap":
            view = model.views()["t"]
            facts["view"] = [view[-1].item(), view[0].item(), view[1 << 37].item()]
        report(**facts, kib=peak_kib() - before)
        """,
        str(tmp_path / "model.onnx"),
        io,
    )
    assert (facts["shape"], facts["nbytes"]) == ([TIB // 4], TIB)
    assert facts["last"] == [7, 8, 9]
    assert (facts["one"], facts["first"]) == (9, [0, 0, 0])
    assert facts["steps"] == [0.0] * 4
    if io == "mmap":
        assert facts["view"] == [9, 0, 0]
    assert facts["kib"] < 16 * 1024 or SANITIZED


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_a_length_of_a_petabyte(tmp_path: Path, io: str) -> None:
    """A file of 1 KB is refused at once by every reading, without memory for the tensor."""
    (tmp_path / "w.bin").write_bytes(bytes(1024))
    paths = []
    for offset, length in ((0, PIB), (PIB, PIB), (0, 0)):
        message = tensor_message(FLOAT, PIB // 4, external_entries(b"w.bin", offset, length))
        paths.append(tmp_path / f"{offset} {length}.onnx")
        paths[-1].write_bytes(model_of(message))
    facts = facts_from(
        """
        import numpy as np
        import onnxmap
        io, *paths = sys.argv[1:]

        def code(read):
            try:
                read()
            except onnxmap.ExternalDataError as error:
                return error.code

        def codes(path):
            tensor = onnxmap.load(path, io=io).initializers["t"]
            reads = [tensor.numpy, lambda: tensor.numpy(copy=True), tensor.tobytes,
                     lambda: tensor.numpy(dtype="f8"), lambda: tensor.numpy(writable=True),
                     lambda: tensor[:3], lambda: onnxmap.load(path, io=io).views()]
            return [code(read) for read in reads]

        codes(paths[0])
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        before = resident_kib()
        report(codes=[codes(path) for path in paths], kib=peak_kib() - before)
        """,
        io,
        *map(str, paths),
    )
    assert facts["codes"] == [["ext.bounds"] * 7] * 3
    assert facts["kib"] < 1024 or SANITIZED


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("offset", [3, 4 * GIB - 5, 4 * GIB + 3, 9 * GIB + 4097])
def test_offsets_in_the_middle_of_a_page(tmp_path: Path, offset: int, io: str) -> None:
    values = np.arange(5_000, dtype=np.float32)
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(offset + values.nbytes + 9)
        file.seek(offset)
        file.write(values.tobytes())
    entries = external_entries(b"w.bin", offset, values.nbytes)
    (tmp_path / "model.onnx").write_bytes(model_of(tensor_message(FLOAT, values.size, entries)))
    tensor = onnxmap.load(tmp_path / "model.onnx", io=io).initializers["t"]
    assert tensor.offset == offset
    expected = values.tobytes()
    assert tensor.numpy().tobytes() == tensor.tobytes() == expected
    assert tensor.numpy(copy=True).tobytes() == tensor.numpy(writable=True).tobytes() == expected
    assert tensor.numpy(dtype=np.float64).tolist() == values.tolist()
    assert tensor[-2:].tolist() == [4998, 4999]
