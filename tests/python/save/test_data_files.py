"""Data files that a save writes: names, shards, alignment, thresholds, checksums, equal values."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from support.models.sample import floats, model_of, write
from support.oracles.tensors import tensors_of
from support.processes.work import takes_minutes
from support.saves.judges import assert_same_model, contents, entries_of, values_of
from support.saves.models import SAVE_MODELS

import onnxmap


def places(path: Path) -> dict[str, tuple[str, int, int]]:
    """Location, offset and length of each external tensor anywhere, by its path."""
    message = ModelProto.FromString(path.read_bytes())
    return {
        where: (entries["location"], int(entries["offset"]), int(entries["length"]))
        for where, tensor in tensors_of(message)
        if tensor.data_location == TensorProto.EXTERNAL
        for entries in [entries_of(tensor)]
    }


def write_sizes(folder: Path, *sizes: int) -> Path:
    """Tensors of so many bytes each, all different."""
    tensors = [floats(f"w{i}", size // 4, start=i) for i, size in enumerate(sizes)]
    return write(model_of(tensors), folder / "model.onnx")


@pytest.mark.parametrize(
    "name",
    ["w.data", "w", ".w", "sub/w.data", "a/b/c.bin", "é ñ.data", "-w", "w.onnx.data", "w" * 255],
)
def test_names(name: str, tmp_path: Path) -> None:
    model = onnxmap.load(write_sizes(tmp_path, 2000, 40))
    report = onnxmap.save(model, tmp_path / "saved.onnx", external_data=name, sync=False)
    assert report.files == [str(tmp_path / name), str(tmp_path / "saved.onnx")]
    assert places(tmp_path / "saved.onnx") == {"graph.initializer[0]": (name, 0, 2000)}
    assert_same_model(tmp_path / "saved.onnx", tmp_path / "model.onnx")


@pytest.mark.parametrize("name", [b"\xff.data", b"a\\b.data", b"sub/\xc3.data"])
def test_names_that_others_cannot_read(name: bytes, tmp_path: Path) -> None:
    """Protobuf refuses texts that are not UTF-8, and a backslash leads elsewhere on Windows."""
    model = onnxmap.load(write_sizes(tmp_path, 2000))
    before = set(tmp_path.iterdir())
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.save(model, tmp_path / "saved.onnx", external_data=name, sync=False)
    assert caught.value.code == "save.data_name"
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.save_all({tmp_path / "saved.onnx": model}, name, sync=False)
    assert caught.value.code == "save.data_name"
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["w.npz", "W.NPY", "W.SAFETENSORS", "w.safetensors.index.json"])
def test_a_data_file_has_no_name_of_another_format(name: str, tmp_path: Path) -> None:
    model = onnxmap.load(write_sizes(tmp_path, 1032))
    with pytest.raises(ValueError, match="the name of another format"):
        model.save(tmp_path / "saved.onnx", external_data=name)


@pytest.mark.parametrize("threshold", [0, 1, 40, 41, 1024, 2000, 2001, 1 << 40])
def test_threshold(threshold: int, tmp_path: Path) -> None:
    sizes = [0, 40, 1024, 2000]
    model = onnxmap.load(write_sizes(tmp_path, *sizes))
    saved = tmp_path / "saved.onnx"
    report = onnxmap.save(
        model, saved, external_data="w", size_threshold_bytes=threshold, sync=False
    )
    moved = [size for size in sizes if size and size >= threshold]
    assert [length for _, _, length in places(saved).values()] == moved
    assert (tmp_path / "w").exists() == bool(moved)
    assert len(report.files) == 1 + bool(moved)


@pytest.mark.parametrize("alignment", [1, 2, 64, 4096, 1 << 16, None])
def test_alignment(alignment: int | None, tmp_path: Path) -> None:
    model = onnxmap.load(write_sizes(tmp_path, 1032, 2004, 1024))
    saved = tmp_path / "saved.onnx"
    report = onnxmap.save(model, saved, external_data="w", alignment=alignment, sync=False)
    step = alignment or 4096
    offsets = [offset for _, offset, _ in places(saved).values()]
    second = -(-1032 // step) * step
    assert offsets == [0, second, -(-(second + 2004) // step) * step]
    assert (tmp_path / "w").stat().st_size == offsets[-1] + 1024
    # Padding between tensors is not waste.
    assert report.unused == onnxmap.load(saved).unused_bytes() == {str(tmp_path / "w"): 0}
    assert all(one.is_aligned for one in onnxmap.load(saved).initializers.all()) or step < 4
    assert_same_model(saved, tmp_path / "model.onnx")


def test_a_large_alignment_leaves_holes(tmp_path: Path) -> None:
    """The zeros between tensors would fill the disk."""
    model = onnxmap.load(write_sizes(tmp_path, 1032, 2004, 1024))
    saved, step = tmp_path / "saved.onnx", 1 << 32
    report = onnxmap.save(model, saved, external_data="w", alignment=step, sync=False)
    assert report.bytes_written + report.bytes_copied == 1032 + 2004 + 1024 + saved.stat().st_size
    assert [offset for _, offset, _ in places(saved).values()] == [0, step, 2 * step]
    status = (tmp_path / "w").stat()
    assert status.st_size == 2 * step + 1024
    assert status.st_blocks * 512 < 1 << 20
    expected, found = model.arrays(), onnxmap.load_arrays(saved)
    assert all((found[name] == array).all() for name, array in expected.items())


def test_shards(tmp_path: Path) -> None:
    """They are filled in order, and none is larger unless one tensor is."""
    model = onnxmap.load(write_sizes(tmp_path, 1000, 1500, 2000, 5000, 1000, 996))
    saved = tmp_path / "saved.onnx"
    report = onnxmap.save(
        model, saved, external_data="sub.d/weights.v1.data", size_threshold_bytes=1,
        max_shard_size_bytes=2500, alignment=4, sync=False,
    )  # fmt: skip
    names = [f"sub.d/weights.v1-0000{i}-of-00004.data" for i in (1, 2, 3, 4)]
    assert report.files == [*(str(tmp_path / name) for name in names), str(saved)]
    assert [(tmp_path / name).stat().st_size for name in names] == [2500, 2000, 5000, 1996]
    assert list(places(saved).values()) == [
        (names[0], 0, 1000), (names[0], 1000, 1500), (names[1], 0, 2000), (names[2], 0, 5000),
        (names[3], 0, 1000), (names[3], 1000, 996),
    ]  # fmt: skip
    assert_same_model(saved, tmp_path / "model.onnx")


def test_shards_without_a_dot(tmp_path: Path) -> None:
    model = onnxmap.load(write_sizes(tmp_path, 2000, 2000))
    for name, expected in (("w", "w-00001-of-00002"), (".w", ".w-00001-of-00002")):
        report = onnxmap.save(
            model, tmp_path / "saved.onnx", external_data=name, max_shard_size_bytes=2000,
            sync=False,
        )  # fmt: skip
        assert report.files[0] == str(tmp_path / expected)


def test_one_shard_has_the_plain_name(tmp_path: Path) -> None:
    model = onnxmap.load(write_sizes(tmp_path, 2000, 2000))
    report = onnxmap.save(
        model, tmp_path / "saved.onnx", external_data="w.data", max_shard_size_bytes=4096 + 2000,
        sync=False,
    )  # fmt: skip
    assert report.files[0] == str(tmp_path / "w.data")
    assert len(report.files) == 2


@pytest.mark.parametrize("attributes", [False, True])
def test_attributes(attributes: bool, tmp_path: Path) -> None:
    """Initializers of subgraphs are moved in any case. Sparse tensors stay."""
    source, saved = SAVE_MODELS["nested"](tmp_path), tmp_path / "saved.onnx"
    model = onnxmap.load(source)
    onnxmap.save(model, saved, external_data="w", attributes=attributes, sync=False)
    moved = set(places(saved))
    initializers = {
        f'graph.node[1].attribute["{name}_branch"].g.initializer[0]' for name in ("then", "else")
    }
    constants = {
        f'graph.node[1].attribute["{name}_branch"].g.node[0].attribute["value"].t'
        for name in ("then", "else")
    } | {'functions[0].node[0].attribute["value"].t'}
    assert moved == initializers | (constants if attributes else set())
    assert_same_model(saved, source)


@pytest.mark.parametrize("shards", [None, 6000])
def test_checksums(shards: int | None, tmp_path: Path) -> None:
    """The key is that of the official package: the SHA-1 of the whole file."""
    source, saved = SAVE_MODELS["chain_outside"](tmp_path), tmp_path / "saved.onnx"
    model = onnxmap.load(source)
    report = onnxmap.save(
        model, saved, external_data="w", checksum=True, max_shard_size_bytes=shards, sync=False
    )
    assert len(report.files) == (2 if shards is None else 3)
    for tensor in onnx.load(saved, load_external_data=False).graph.initializer:
        entries = entries_of(tensor)
        data = (tmp_path / entries["location"]).read_bytes()
        assert entries["checksum"] == hashlib.sha1(data).hexdigest()
    assert_same_model(saved, source)
    onnxmap.load(saved).verify()
    damaged = Path(report.files[0])
    data = damaged.read_bytes()
    damaged.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(onnxmap.ChecksumError):
        onnxmap.load(saved).verify()


def test_old_checksums_do_not_stay(tmp_path: Path) -> None:
    """A tensor that is moved again has the checksum of its new file, or none."""
    source, saved = SAVE_MODELS["chain"](tmp_path), tmp_path / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, external_data="a", checksum=True, sync=False)
    onnxmap.save(onnxmap.load(saved), saved, external_data="b", sync=False)
    for tensor in onnx.load(saved, load_external_data=False).graph.initializer:
        assert set(entries_of(tensor)) == {"location", "offset", "length"}
    onnxmap.load(saved).verify()


@pytest.mark.parametrize("way", ["another data file", "another folder"])
def test_entries_with_other_keys_stay(way: str, tmp_path: Path) -> None:
    """Some programs keep notes there. A place or a checksum of the old file does not stay."""
    path = SAVE_MODELS["chain_outside"](tmp_path)
    made = ModelProto.FromString(path.read_bytes())
    notes = {"checksum": "0" * 40, "basepath": ".", "note": "é", "twice": "1"}
    for tensor in made.graph.initializer:
        for key, value in [*notes.items(), ("twice", "2")]:
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(made.SerializeToString())
    (tmp_path / "new").mkdir()
    saved = tmp_path / "new" / "saved.onnx"
    external = "w.data" if way == "another data file" else None
    onnxmap.save(onnxmap.load(path), saved, external_data=external, sync=False)
    for tensor in ModelProto.FromString(saved.read_bytes()).graph.initializer:
        entries = [(one.key, one.value) for one in tensor.external_data]
        assert entries[3:] == [("note", "é"), ("twice", "1"), ("twice", "2")]
        assert [key for key, _ in entries[:3]] == ["location", "offset", "length"]
    assert values_of(saved) == values_of(path)


@pytest.mark.parametrize("dedupe", [False, True])
def test_equal_values(dedupe: bool, tmp_path: Path) -> None:
    """The same range is always stored once; equal bytes elsewhere only with `dedupe`."""
    source, saved = SAVE_MODELS["shared"](tmp_path), tmp_path / "saved.onnx"
    model = onnxmap.load(source)
    onnxmap.save(model, saved, external_data="out", dedupe=dedupe, alignment=64, sync=False)
    offsets = [offset for _, offset, _ in places(saved).values()]
    assert offsets == ([0, 0, 0, 0] if dedupe else [0, 1600, 3200, 3200])
    assert (tmp_path / "out").stat().st_size == (1600 if dedupe else 4800)
    assert_same_model(saved, source)


def test_nearly_equal_values_are_kept_apart(tmp_path: Path) -> None:
    """They have equal sizes, equal beginnings and ends, and differ in one bit or in their order."""
    base = np.arange(1 << 16, dtype=np.uint64)
    variants = [base, base.copy(), base[::-1].copy(), base.copy()]
    variants[1][-1] ^= 1 << 63
    variants[3][[100, 200]] = variants[3][[200, 100]]
    tensors = [
        TensorProto(name=str(i), dims=[base.size], data_type=13, raw_data=one.tobytes())
        for i, one in enumerate([*variants, *variants])
    ]
    source = write(model_of(tensors), tmp_path / "model.onnx")
    model, saved = onnxmap.load(source), tmp_path / "saved.onnx"
    report = onnxmap.save(model, saved, external_data="w", dedupe=True, sync=False)
    offsets = [offset for _, offset, _ in places(saved).values()]
    assert offsets[:4] == offsets[4:]
    assert len(set(offsets)) == 4
    assert report.unused == {str(tmp_path / "w"): 0}
    assert values_of(saved) == values_of(source)


@pytest.mark.parametrize("options", [{}, {"dedupe": False}, {"max_shard_size_bytes": 2000}])
def test_several_models_on_one_data_file(options: dict[str, object], tmp_path: Path) -> None:
    sources, targets = {}, {}
    for name, kind in (("a", "shared"), ("b", "shared"), ("c", "chain")):
        (tmp_path / name).mkdir()
        sources[name] = SAVE_MODELS[kind](tmp_path / name)
        targets[tmp_path / f"{name}.onnx"] = onnxmap.load(sources[name])
    report = onnxmap.save_all(targets, "all.data", alignment=64, sync=False, **options)
    shared = {"all.data"} if "max_shard_size_bytes" not in options else {
        f"all-0000{i}-of-00004.data" for i in (1, 2, 3, 4)
    }  # fmt: skip
    assert {Path(file).name for file in report.files} == {*shared, "a.onnx", "b.onnx", "c.onnx"}
    for name, source in sources.items():
        assert {place[0] for place in places(tmp_path / f"{name}.onnx").values()} <= shared
        assert_same_model(tmp_path / f"{name}.onnx", source)
    size = sum((tmp_path / name).stat().st_size for name in shared)
    kept_apart = options == {"dedupe": False}
    assert size == (2 * 4800 if kept_apart else 1600) + 3 * 1024


def variant(number: int) -> bytes:
    """1 KiB: all numbers give the same hash if each step only multiplies and shifts."""
    words = np.full(128, 7, np.uint64)
    for bit in range(number.bit_length()):
        if number >> bit & 1:
            words[2 * bit] ^= np.uint64(1 << 63)
            words[2 * bit + 1] ^= np.uint64((1 << 63) | (1 << 34))
    return words.tobytes()


def test_many_values_of_one_size(tmp_path: Path) -> None:
    tensors = [
        TensorProto(name=f"w{i}", dims=[1024], data_type=2, raw_data=variant(i % 4_000))
        for i in range(8_000)
    ]
    source = write(model_of(tensors), tmp_path / "model.onnx")
    save = partial(
        onnxmap.load(source).save,
        tmp_path / "saved.onnx", external_data="w", dedupe=True, alignment=1, sync=False,
    )  # fmt: skip
    assert not takes_minutes(save)
    assert (tmp_path / "w").read_bytes() == b"".join(map(variant, range(4_000)))


def test_wrong_sets_of_models(tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS["chain"](tmp_path))
    (tmp_path / "sub").mkdir()
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="no models"):
        onnxmap.save_all({}, "w")
    for wrong in (None, [model], model):
        with pytest.raises(TypeError, match="models must be a mapping of paths to models, not"):
            onnxmap.save_all(wrong, "w")
    for external in (None, False, "view"):
        with pytest.raises(ValueError, match="must be the name of the data file of the models"):
            onnxmap.save_all({tmp_path / "a": model}, external)
    with pytest.raises(ValueError, match="one folder"):
        onnxmap.save_all({tmp_path / "a": model, tmp_path / "sub" / "b": model}, "w")
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.save_all({tmp_path / "a": model, str(tmp_path / "a"): model}, "w")
    assert caught.value.code == "save.same_path"
    assert contents(tmp_path) == before
