"""Edited models: what is written anew, what stays byte for byte, and new values of old tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest
from onnx import helper
from support.edits.models import EDIT_MODELS
from support.edits.programs import random_program
from support.edits.runs import OnnxmapSide, Run
from support.models.sample import model_of, write
from support.run_options import EXHAUSTIVE
from support.saves.judges import assert_nothing_left, assert_same_model, contents, values_of
from support.saves.models import SAVE_MODELS, weight

import onnxmap

ROUNDS = 6
PROGRAMS = 200 if EXHAUSTIVE else 40
LEAST = 12  # bytes in a row that are no coincidence


def new_bytes(written: bytes, source: bytes) -> int:
    """How many bytes of a file are not in ranges of the source, in the order of the source."""
    new, at, known = 0, 0, 0
    while at < len(written):
        found = source.find(written[at : at + LEAST], known)
        if found < 0 or len(written) - at < LEAST:
            new, at = new + 1, at + 1
            continue
        length, step = LEAST, 1 << 20
        while step:
            if (
                written[at + length : at + length + step]
                == source[found + length : found + length + step]
            ):
                length = min(length + step, len(written) - at)
                if length == len(written) - at:
                    break
            else:
                step //= 2
        at, known = at + length, found + length
    return new


def test_the_measure_counts() -> None:
    source = np.random.default_rng(0).bytes(1024)
    assert new_bytes(source, source) == 0
    assert new_bytes(source[:100] + b"new" + source[100:], source) == 3
    assert new_bytes(source[:100] + source[300:], source) == 0
    assert new_bytes(source[700:] + bytes(100), source) == 100


def test_one_attribute_among_20_000_nodes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gemm", [f"v{i}", "w"], [f"v{i + 1}"], name=f"node {i}", alpha=i / 7)
        for i in range(20_000)
    ]
    graph = helper.make_graph(nodes, "g", [], [], [weight("w", 100, 100)])
    path = write(helper.make_model(graph), tmp_path / "model.onnx")
    source = path.read_bytes()
    model = onnxmap.load(path)
    model.graph.nodes[12_345].attributes["alpha"] = 0.25
    model.save(path, sync=False)
    written = path.read_bytes()
    assert len(written) == len(source)
    assert new_bytes(written, source) <= 4 + LEAST
    proto = onnx.ModelProto.FromString(source)
    proto.graph.node[12_345].attribute[0].f = 0.25
    assert onnx.ModelProto.FromString(written) == proto


EDITS = {
    "a field of the model": (lambda model: setattr(model, "doc_string", "x" * 100), 103),
    "metadata": (lambda model: model.metadata_props.__setitem__("k", "v"), 20),
    "a new initializer": (
        lambda model: model.initializers.__setitem__("n", np.zeros(3, np.float32)), 100
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ["chain", "nested", "unknown_fields", "small_and_odd"])
@pytest.mark.parametrize("edit", EDITS)
def test_all_else_is_the_source(edit: str, name: str, tmp_path: Path) -> None:
    path = SAVE_MODELS[name](tmp_path)
    source, saved = path.read_bytes(), tmp_path / "saved.onnx"
    model = onnxmap.load(path)
    apply, most = EDITS[edit]
    apply(model)
    report = onnxmap.save(model, saved, sync=False)
    assert 0 < new_bytes(saved.read_bytes(), source) <= most
    assert report.bytes_written <= most
    assert report.bytes_written + report.bytes_copied == saved.stat().st_size
    assert saved.read_bytes() == onnxmap.dumps(model)
    assert model.edited


def test_one_tensor_of_many(tmp_path: Path) -> None:
    """CASES: every other byte range is copied as is."""
    tensors = [weight(f"w{i}", 30, 30, seed=i) for i in range(50)]
    path = write(model_of(tensors), tmp_path / "model.onnx")
    source = path.read_bytes()
    model = onnxmap.load(path)
    model.initializers["w20"] = np.ones((30, 30), np.float32)
    report = model.save(path, sync=False)
    assert new_bytes(path.read_bytes(), source) <= 3600 + 20
    assert report.bytes_written < 3600 + 100
    assert report.bytes_copied > 49 * 3600
    found = onnx.load(path)
    assert onnx.numpy_helper.to_array(found.graph.initializer[20]).mean() == 1
    del found.graph.initializer[20]
    expected = onnx.ModelProto.FromString(source)
    del expected.graph.initializer[20]
    assert found == expected


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    """The file is what `dumps` gives, and protobuf reads it as the edited message."""
    program = random_program(seed, 20)
    side = OnnxmapSide(program)
    run = Run(side, is_oracle=False)
    for edit in program.edits:
        run.execute(edit)
    model, path = side.models[0], tmp_path / "model.onnx"
    model.save(path, sync=False)
    data = onnxmap.dumps(model)
    assert path.read_bytes() == data
    theirs = onnx.ModelProto.FromString(data)
    assert str(theirs) == str(model.proto)
    onnxmap.save(model, tmp_path / "aligned.onnx", alignment=16, sync=False)
    assert str(onnx.load(tmp_path / "aligned.onnx", load_external_data=False)) == str(theirs)


def test_new_values_of_external_tensors_go_to_a_side_file(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain_outside"](tmp_path)
    before = contents(tmp_path)
    model = onnxmap.load(path)
    model.initializers["w1"] = np.full((20, 20), 0.5, np.float32)
    report = model.save(path, sync=False)
    side = tmp_path / "model.onnx.edited.data"
    assert report.files == [str(side), str(path)]
    assert (side.stat().st_size, report.bytes_referenced) == (1600, 3200)
    assert report.bytes_written >= 1600
    assert report.bytes_written + report.bytes_copied == 1600 + path.stat().st_size
    assert report.unused == {
        str(tmp_path / "one.data"): 162, str(side): 0
    }  # fmt: skip
    saved = onnxmap.load(path)
    assert saved.unused_bytes() == {str(tmp_path / "one.data"): 162, str(side): 0}
    assert (saved.initializers["w1"].numpy() == 0.5).all()
    after = contents(tmp_path)
    assert {name: after[name] for name in ("one.data", "two.data")} == {
        name: before[name] for name in ("one.data", "two.data")
    }


def test_the_side_file_does_not_grow(tmp_path: Path) -> None:
    """It has the new values of all rounds, and nothing else."""
    path = SAVE_MODELS["chain_outside"](tmp_path)
    side = tmp_path / "model.onnx.edited.data"
    expected = onnxmap.load_arrays(path)
    for number in range(ROUNDS):
        name = f"w{number % 2}"
        model = onnxmap.load(path)
        expected[name] = np.full((20, 20), number, np.float32)
        model.initializers[name] = expected[name]
        report = model.save(path, sync=False)
        assert side.stat().st_size == (1600 if number == 0 else 4096 + 1600)
        assert report.unused[str(side)] == 0
        found = onnxmap.load_arrays(path)
        assert all((found[one] == expected[one]).all() for one in expected)
    assert_nothing_left(tmp_path)
    model = onnxmap.load(path)
    model.doc_string = "the values stay"
    before = side.stat()
    model.save(path, sync=False)
    assert (side.stat().st_ino, side.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_no_model_loses_values_to_the_side_file_of_another(tmp_path: Path) -> None:
    """A side file is replaced by the model that owns it, so others take copies."""
    path, other = SAVE_MODELS["chain_outside"](tmp_path), tmp_path / "other.onnx"
    model = onnxmap.load(path)
    model.initializers["w0"] = np.ones((20, 20), np.float32)
    model.save(path, sync=False)
    loaded = onnxmap.load(path)
    report = loaded.save(other, sync=False)
    assert report.files == [str(other) + ".edited.data", str(other)]
    expected = values_of(other)
    assert expected == values_of(path)
    loaded.initializers["w0"] = np.zeros((20, 20), np.float32)
    loaded.initializers["w1"] = np.zeros((20, 20), np.float32)
    loaded.save(path, sync=False)
    assert values_of(other) == expected
    (Path(str(path) + ".edited.data")).unlink()
    assert values_of(other) == expected
    onnxmap.load(other).save(other, sync=False)
    assert values_of(other) == expected


def test_small_new_values_of_external_tensors_are_inline(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(path)
    model.initializers["w1"] = np.zeros(10, np.float32)
    report = model.save(path, sync=False)
    assert report.files == [str(path)]
    assert onnxmap.load(path).initializers["w1"].external is None


def test_a_removed_external_tensor(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(path)
    del model.graph.nodes[1]
    del model.initializers["w1"]
    report = model.save(path, sync=False)
    assert str(tmp_path / "two.data") not in onnxmap.load(path).unused_bytes()
    assert report.bytes_referenced == 3200
    assert (tmp_path / "two.data").stat().st_size == 1600


@pytest.mark.parametrize("options", [{}, {"external_data": "w"}, {"external_data": False}])
def test_arrays_are_written_as_they_are_at_the_save(
    options: dict[str, object], tmp_path: Path
) -> None:
    """They are held by reference; also views that are not contiguous, and other byte orders."""
    path, saved = SAVE_MODELS["chain"](tmp_path), tmp_path / "saved.onnx"
    model = onnxmap.load(path)
    array = np.zeros((40, 40), np.float32)
    model.initializers["plain"] = array
    array[3, 4] = 7
    model.initializers["every second"] = np.arange(4000, dtype=np.int32)[::2]
    model.initializers["turned"] = np.arange(900, dtype=np.float64).reshape(30, 30).T
    model.initializers["big endian"] = np.arange(900, dtype=">f4")
    expected = {name: tensor.numpy().copy() for name, tensor in model.initializers.items()}
    onnxmap.save(model, saved, sync=False, **options)
    found = onnxmap.load_arrays(saved)
    assert list(found) == list(expected)
    assert found["plain"][3, 4] == 7
    assert all((found[name] == array).all() for name, array in expected.items())
    proto = onnx.load(saved)
    theirs = {one.name: onnx.numpy_helper.to_array(one) for one in proto.graph.initializer}
    assert all((theirs[name] == array).all() for name, array in expected.items())


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_tensors_of_other_models(io: Literal["auto", "mmap", "read"], tmp_path: Path) -> None:
    """Their values come from the other files: inline, and in several data files."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = (SAVE_MODELS[name](tmp_path / folder) for name, folder in
                (("chain", "a"), ("chain_outside", "b")))  # fmt: skip
    model, other = onnxmap.load(one, io=io), onnxmap.load(two, io=io)
    for name, tensor in other.initializers.items():
        model.initializers[f"other {name}"] = tensor
    for number, options in enumerate(({}, {"external_data": "w.data"})):
        saved = tmp_path / f"{number}.onnx"
        onnxmap.save(model, saved, sync=False, **options)
        found = onnxmap.load_arrays(saved)
        for name, tensor in other.initializers.items():
            assert (found[f"other {name}"] == tensor.numpy()).all()


def test_edited_odd_encodings(tmp_path: Path) -> None:
    for name, data in EDIT_MODELS.items():
        if not name.startswith("rich"):
            continue
        source, saved = tmp_path / "source.onnx", tmp_path / "saved.onnx"
        source.write_bytes(data)
        model = onnxmap.load(source)
        model.initializers["new"] = np.zeros((30, 30), np.float32)
        model.graph.nodes[0].name = "renamed"
        onnxmap.save(model, source, sync=False)
        onnxmap.save(model, saved, external_data="w", size_threshold_bytes=0, sync=False)
        assert_same_model(saved, source)
