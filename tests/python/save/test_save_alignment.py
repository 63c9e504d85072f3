"""Values in the model file that start at multiples of a number, and stay there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.edits.models import EDIT_MODELS
from support.saves.judges import assert_same_model
from support.saves.models import SAVE_MODELS

import onnxmap

ROUNDS = 20


def positions(path: Path) -> list[int]:
    """Where the raw_data of each tensor starts, found by its content and not by a parser."""
    model, data = onnxmap.load(path), path.read_bytes()
    found = []
    for _, tensor in model.tensors():
        if (
            tensor.proto.raw_data
            and tensor.external is None
            and tensor.name not in ("parts", "segmented")
        ):
            assert tensor.offset is not None
            assert data[tensor.offset :].startswith(tensor.proto.raw_data)
            found.append(tensor.offset)
    return found


@pytest.mark.parametrize("alignment", [2, 16, 64, 4096, 1 << 16])
@pytest.mark.parametrize("name", ["chain", "nested", "every_type", "unknown_fields"])
def test_every_raw_data_is_aligned(name: str, alignment: int, tmp_path: Path) -> None:
    source, saved = SAVE_MODELS[name](tmp_path), tmp_path / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, alignment=alignment, sync=False)
    found = positions(saved)
    assert found
    assert [offset % alignment for offset in found] == [0] * len(found)
    assert_same_model(saved, source)
    # The padding is less than the alignment for each, and what makes lengths longer.
    assert saved.stat().st_size < source.stat().st_size + len(found) * (alignment + 30) + 100


@pytest.mark.parametrize("name", [n for n in EDIT_MODELS if not n.startswith("backend")])
def test_odd_encodings_can_be_aligned(name: str, tmp_path: Path) -> None:
    """Tensors in pieces, twice in a message, with over-long varints and unknown fields."""
    source, saved = tmp_path / "model.onnx", tmp_path / "saved.onnx"
    source.write_bytes(EDIT_MODELS[name])
    onnxmap.save(onnxmap.load(source), saved, alignment=32, sync=False)
    theirs, ours = (onnx.load(one, load_external_data=False) for one in (source, saved))
    assert str(theirs) == str(ours)
    again = tmp_path / "again.onnx"
    onnxmap.save(onnxmap.load(saved), again, alignment=32, sync=False)
    assert again.read_bytes() == saved.read_bytes()


def test_aligned_views(tmp_path: Path) -> None:
    source, saved = SAVE_MODELS["every_type"](tmp_path), tmp_path / "saved.onnx"
    model = onnxmap.load(source)
    assert not all(array.flags.aligned for array in model.views().values())
    onnxmap.save(model, saved, external_data=False, alignment=16, sync=False)
    model = onnxmap.load(saved)
    tensors = [one for one in model.initializers.all() if one.is_view and one.proto.raw_data]
    assert len(tensors) > 50
    assert all(tensor.is_aligned for tensor in tensors)


@pytest.mark.parametrize("alignment", [16, 64, 4096])
@pytest.mark.parametrize("least", [0, 1024])
def test_an_aligned_file_stays_aligned_and_does_not_grow(
    least: int, alignment: int, tmp_path: Path
) -> None:
    """Edits that move everything behind them by other numbers of bytes, in each of many rounds."""
    path = SAVE_MODELS["small_and_odd"](tmp_path)
    onnxmap.save(onnxmap.load(path), path, alignment=alignment, sync=False)
    sizes, expected = [], onnx.load(path)
    for number in range(ROUNDS):
        model = onnxmap.load(path)
        model.producer_name = expected.producer_name = "p" * (number * 7 % 50)
        array = np.full((20, 20), number, np.float32)
        model.initializers["new"] = array
        onnxmap.save(model, path, size_threshold_bytes=least, sync=False)
        assert [offset % alignment for offset in positions(path)] == [0] * len(positions(path))
        sizes.append(path.stat().st_size - len(model.producer_name))
    assert max(sizes[1:]) - min(sizes[1:]) <= 2 * alignment
    del (found := onnx.load(path)).graph.initializer[-1]
    assert found == expected
    assert (onnxmap.load(path).initializers["new"].numpy() == ROUNDS - 1).all()


def test_small_tensors_may_lie_anywhere(tmp_path: Path) -> None:
    """Other tools align large tensors only. These stay aligned, and small ones need not be."""
    source = SAVE_MODELS["chain"](tmp_path)
    proto = onnx.load(source)
    proto.graph.initializer.add(name="tiny", dims=[3], data_type=2, raw_data=b"abc")
    source.write_bytes(proto.SerializeToString())
    saved = tmp_path / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, alignment=64, sync=False)
    unaligned = onnx.load(saved).SerializeToString()
    assert len(unaligned) < saved.stat().st_size
    model = onnxmap.load(saved)
    del model.proto.graph.initializer[3]
    model.proto.graph.initializer.add(name="tiny", dims=[3], data_type=2, raw_data=b"abc")
    onnxmap.save(model, saved, sync=False)
    assert [offset % 64 for offset in positions(saved)] == [0] * 4


def test_what_was_not_aligned_is_not_padded(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain"](tmp_path)
    size = path.stat().st_size
    model = onnxmap.load(path)
    model.doc_string = "12345"
    onnxmap.save(model, path, sync=False)
    assert path.stat().st_size == size + 7
