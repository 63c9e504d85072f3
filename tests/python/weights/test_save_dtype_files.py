"""The files of a save with `dtype=`: where values go, values that are lost, memory, failures."""

from __future__ import annotations

import errno
import re
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from safetensors.numpy import load_file
from support.models.new_types import as_model, built, cast, mlp, names_and_types
from support.models.sample import external, model_of, write
from support.oracles.tensors import assert_same_array
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE
from support.saves.judges import assert_nothing_left, contents, values_of, with_values
from support.saves.models import SAVE_MODELS

import onnxmap

REFUSED = {"every_type": "imports none", "small_and_odd": "'twice'", "hidden": "stands twice"}
PLACES: dict[str, dict[str, Any]] = {
    "kept": {}, "copied": {}, "inline": {"external_data": False},
    "shards": {"external_data": "n.data", "size_threshold_bytes": 1, "max_shard_size_bytes": 3000,
               "attributes": True, "dedupe": True, "checksum": True},
    "safetensors": {"external_data": "n.safetensors", "size_threshold_bytes": 1},
}  # fmt: skip


TYPES = ["float16", "float8_e4m3fn", "float64"]
# In an ordinary run, each model is saved once in each place, and each place gets each type.
CASES = [
    (name, place, to)
    for n, name in enumerate(SAVE_MODELS)
    for i, place in enumerate(PLACES)
    for to in (TYPES if EXHAUSTIVE else [TYPES[(i + n) % len(TYPES)]])
]


@pytest.mark.parametrize(("name", "place", "to"), CASES)
def test_any_model(name: str, place: str, to: str, tmp_path: Path) -> None:
    """Another reader finds each initializer, in its new type or as it was."""
    source = SAVE_MODELS[name](tmp_path)
    for io in ("auto", "read"):
        (tmp_path / io).mkdir()
        path = tmp_path / (f"{io}/n.onnx" if place == "copied" else "n.onnx")
        save = partial(onnxmap.load(source, io=io).save, path, dtype=to, allow_loss=True)
        if name in REFUSED:
            with pytest.raises(onnxmap.SaveError, match=REFUSED[name]):
                save(**PLACES[place], sync=False)
            continue
        save(**PLACES[place], sync=False)
        old, new = (with_values(ModelProto.FromString(each.read_bytes()), each.parent).graph
                    for each in (source, path))  # fmt: skip
        before = {each.name: each for each in old.initializer}
        casts = {each.input[0]: each.output[0] for each in new.node if each.op_type == "Cast"}
        for each in new.initializer:
            was = before.pop(casts.get(each.name, each.name))
            expected = numpy_helper.to_array(was)
            if each.name in casts:
                expected = cast(expected, to)[0]
            assert_same_array(numpy_helper.to_array(each), expected)
        assert before == {}


def test_values_that_do_not_fit(tmp_path: Path) -> None:
    """The error has names and counts, and the old files stay."""
    arrays = {
        f"w{i}": np.array([1, 70000, -1e30, np.inf, np.nan, 1e-30][: 2 + i], np.float32)
        for i in range(14)
    }
    model = onnxmap.load(write(as_model(arrays), tmp_path / "m.onnx"))
    (tmp_path / "out").mkdir()
    path = tmp_path / "out/s.onnx"
    for options in ({}, {"external_data": "w.data", "size_threshold_bytes": 0}):
        model.save(path, sync=False, **options)
        before = contents(path.parent)
        with pytest.raises(onnxmap.SaveError) as caught:
            model.save(path, dtype="float16", sync=False, **options)
        assert caught.value.code == "save.loss"
        assert "1 of 2 in 'w0' as float16, 2 of 3 in 'w1' as float16" in str(caught.value)
        assert "and some in 4 more tensors" in str(caught.value)
        assert "allow_loss=True" in str(caught.value)
        assert contents(path.parent) == before
        assert_nothing_left(path.parent)
        model.save(path, dtype="float16", allow_loss=True, sync=False, **options)
        found = onnxmap.load(path).initializers["w13.float16"].numpy()
        assert np.array_equal(found, [1, np.inf, -np.inf, np.inf, np.nan, 0], equal_nan=True)
    with (tmp_path / "object").open("wb") as file:
        with pytest.raises(onnxmap.SaveError, match="do not fit"):
            model.save(file, dtype="float16")
        assert file.tell() == 0


def test_lost_values_count_once(tmp_path: Path) -> None:
    """Also if they are read several times: for checksums, and to find equal tensors."""
    values = np.full(2_000_003, 1e6, np.float32)
    arrays = {"a": values, "b": values.copy(), "c": values + 1}
    model = onnxmap.load(write(as_model(arrays), tmp_path / "m.onnx"))
    options: dict[str, Any] = {"dtype": "float8_e5m2", "dedupe": True, "checksum": True}
    with pytest.raises(onnxmap.SaveError) as caught:
        model.save(tmp_path / "s.onnx", "w.data", **options, sync=False)
    text = str(caught.value)
    assert re.findall(r"(\d+) of 2000003 in '(\w)'", text) == [("2000003", name) for name in "abc"]
    report = model.save(tmp_path / "s.onnx", "w.data", **options, allow_loss=True, sync=False)
    assert Path(report.files[0]).stat().st_size < 2_100_000  # they are equal now
    assert onnxmap.load(tmp_path / "s.onnx").verify() is not None


def test_where_values_go(tmp_path: Path) -> None:
    """Inline ones stay inline; those of a data file go where edited ones go, or are copied."""
    array = np.arange(3000, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(array.tobytes() * 2)
    tensors = [
        external("a", [3000], {"location": "w.bin", "length": "12000"}),
        external("b", [3000], {"location": "w.bin", "offset": "12000", "length": "12000"}),
        external("n", [1500], {"location": "w.bin", "offset": "12000"}, TensorProto.INT64),
        numpy_helper.from_array(array, "inline"),
        TensorProto(name="typed", dims=[2], data_type=1, float_data=[1, 2]),
        TensorProto(name="half", dims=[2], data_type=10, int32_data=[0x3C00, 0x4000]),
        TensorProto(name="empty", dims=[0, 4], data_type=1),
    ]
    source = write(model_of(tensors), tmp_path / "m.onnx")
    dtypes = {"a": "float16", "inline": "bfloat16", "typed": "float16", "half": "float8_e5m2",
              "empty": "float16"}  # fmt: skip
    (tmp_path / "other").mkdir()
    for path in (tmp_path / "s.onnx", tmp_path / "other/s.onnx"):
        onnxmap.load(source).save(path, dtype=dtypes, sync=False)
        found = onnxmap.load(path)
        tensors_found = dict(found.initializers.items())
        places = {
            name: each.external.location if each.external else None
            for name, each in tensors_found.items()
        }
        side = "w.bin" if path.parent != tmp_path else "s.onnx.edited.data"
        assert places == {
            "a.float16": side, "b": "w.bin", "n": "w.bin", "inline.bfloat16": None,
            "typed.float16": None, "half.float8_e5m2": None, "empty.float16": None,
        }  # fmt: skip
        assert np.array_equal(tensors_found["a.float16"].numpy(), array.astype(np.float16))
        assert np.array_equal(tensors_found["b"].numpy(), array)
        assert np.array_equal(tensors_found["typed.float16"].numpy(), np.float16([1, 2]))
        assert tensors_found["half.float8_e5m2"].numpy().astype(int).tolist() == [1, 2]
        assert tensors_found["empty.float16"].shape == (0, 4)
        values_of(path)  # another reader finds all of them
    onnxmap.load(source).save(source, dtype="float16", sync=False)  # over itself
    found = onnxmap.load(source)
    assert np.array_equal(found.initializers["b.float16"].numpy(), array.astype(np.float16))
    onnxmap.load(source).save(tmp_path / "back.onnx", False, dtype="float32", sync=False)
    assert np.array_equal(
        onnxmap.load(tmp_path / "back.onnx").initializers["b"].numpy(),
        array.astype(np.float16).astype(np.float32),
    )


def test_safetensors(tmp_path: Path) -> None:
    arrays = {"w": np.linspace(-2, 2, 5000, dtype=np.float32), "i": np.arange(20_000)}
    model = onnxmap.load(write(as_model(arrays), tmp_path / "m.onnx"))
    onnxmap.save_safetensors(model, tmp_path / "c.safetensors", dtype="float16", sync=False)
    found = load_file(tmp_path / "c.safetensors")
    assert np.array_equal(found["w"], arrays["w"].astype(np.float16))
    assert np.array_equal(found["i"], arrays["i"])
    model.save(tmp_path / "s.onnx", "w.safetensors", dtype="float16", sync=False)
    assert found["w"].dtype == load_file(tmp_path / "w.safetensors")["w"].dtype == np.float16
    saved = onnxmap.load(tmp_path / "s.onnx")
    assert np.array_equal(saved.initializers["w.float16"].numpy(), found["w"])
    with pytest.raises(onnxmap.UnknownNameError):
        onnxmap.save_safetensors(
            model, tmp_path / "d.safetensors", "i", dtype={"w": "float16"}, sync=False
        )
    with pytest.raises(onnxmap.SaveError, match="do not fit"):
        onnxmap.save_safetensors(
            onnxmap.from_arrays({"w": np.float32([1e9])}), tmp_path / "d.safetensors",
            dtype="float16",
        )  # fmt: skip
    assert not (tmp_path / "d.safetensors").exists()


def test_save_all(tmp_path: Path) -> None:
    models = {
        tmp_path / f"{name}.onnx": onnxmap.loads(
            as_model({"w": np.arange(4000, dtype=np.float32), name: np.ones(2, np.float32)})
            .SerializeToString()
        )
        for name in ("encoder", "decoder")
    }  # fmt: skip
    onnxmap.save_all(models, "w.data", dtype={"w": "float16", "decoder": "float16"}, sync=False)
    assert (tmp_path / "w.data").stat().st_size == 8000
    assert list(names_and_types(tmp_path / "encoder.onnx")) == ["w.float16", "encoder"]
    assert list(names_and_types(tmp_path / "decoder.onnx")) == ["w.float16", "decoder.float16"]


@pytest.mark.parametrize("format", ["json", "textproto"])
def test_texts(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"s.{format}"
    onnxmap.save(built(mlp), path, dtype="float16", sync=False)
    assert list(names_and_types(path)) == [f"{name}.float16" for name in ("w1", "b1", "w2", "b2")]


@pytest.mark.parametrize("options", [{}, {"external_data": "out.data"}, {"external_data": False}])
def test_bounded_memory(options: dict[str, Any], tmp_path: Path) -> None:
    """300 MB of weights grow the process by less than 64 MB."""
    count = 75_000_000 // 3
    with (tmp_path / "w.data").open("wb") as file:
        file.truncate(3 * 4 * count)
    tensors = [
        external(f"w{i}", [count], {"location": "w.data", "offset": str(4 * count * i)}
                 | {"length": str(4 * count)}) for i in range(3)
    ]  # fmt: skip
    write(model_of(tensors), tmp_path / "m.onnx")
    facts = facts_from(
        """
    import onnxmap
    folder, options = sys.argv[1], eval(sys.argv[2])
    onnxmap.load(folder + "/m.onnx").save(folder + "/warm.onnx", sync=False)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = resident_kib()
    model = onnxmap.load(folder + "/m.onnx")
    model.save(folder + "/s.onnx", dtype="float16", sync=False, **options)
    report(growth=peak_kib() - before)
        """,
        str(tmp_path), repr(options),
    )  # fmt: skip
    assert facts["growth"] < 64 << 10
    saved = onnxmap.load(tmp_path / "s.onnx")
    assert sum(each.nbytes for each in saved.initializers.values()) == 2 * 3 * count


def test_writes_that_fail(tmp_path: Path) -> None:
    """The old files stay whole, and nothing is left."""
    model = as_model({"w": np.ones(1_000_000, np.float32)})
    write(model, tmp_path / "m.onnx")
    before = {}
    for limit in (1, 70_000, 1_200_000):
        for name, options in (("inline", {}), ("external", {"external_data": "w.data"})):
            folder = tmp_path / f"{limit} {name}"
            folder.mkdir()
            onnxmap.save(model, folder / "s.onnx", sync=False, **options)
            before[folder] = contents(folder)
    facts = facts_from(
        """
        import resource, signal
        from pathlib import Path
        import onnxmap
        source, *folders = sys.argv[1:]
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        model = onnxmap.load(source)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        errors = []
        for folder in map(Path, folders):
            limit, place = folder.name.split()
            options = {"external_data": "w.data"} if place == "external" else {}
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), old[1]))
            try:
                model.save(folder / "s.onnx", dtype="float16", sync=False, **options)
            except OSError as error:
                errors.append(error.errno)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, old)
        report(errors=errors)
        """,
        str(tmp_path / "m.onnx"),
        *map(str, before),
    )
    assert facts["errors"] == [errno.EFBIG] * 6
    for folder, files in before.items():
        assert contents(folder) == files
        assert_nothing_left(folder)


def test_values_that_become_zero(tmp_path: Path) -> None:
    """In a small tensor they are lost; in a large one the report counts them."""
    arrays = {
        "eps": np.float32([1e-9]), "bound": np.float32([2.0**-25, -(2.0**-24), 0.0, -0.0]),
        "small": np.full(1024, 1e-8, np.float32), "large": np.full(1025, -1e-8, np.float32),
        "wide": np.full(2000, 5e-324), "kept": np.full(1024, 1.0, np.float32),
    }  # fmt: skip
    model = onnxmap.load(write(as_model(arrays), tmp_path / "m.onnx"))
    path = tmp_path / "s.onnx"
    for options in ({}, {"external_data": "w.data", "size_threshold_bytes": 0}):
        with pytest.raises(onnxmap.SaveError) as caught:
            model.save(path, dtype="float16", sync=False, **options)
        assert caught.value.code == "save.loss"
        said = str(caught.value).partition(": ")[2].partition(";")[0].split(", ")
        assert said == [
            "1 of 1 in 'eps' as float16 (1 would become 0)",
            "1 of 4 in 'bound' as float16 (1 would become 0)",
            "1024 of 1024 in 'small' as float16 (1024 would become 0)",
        ]
        assert not path.exists()
    large = {"large": 1025, "wide": 2000}
    kept = {"eps": "float32", "bound": "float32", "small": "float32"}
    for target in (path, BytesIO()):
        report = onnxmap.save(model, target, dtype=kept | {"*": "float16"}, sync=False)
        assert report.vanished == large
    report = model.save(path, dtype="float16", allow_loss=True, sync=False)
    assert report.vanished == large | {"eps": 1, "bound": 1, "small": 1024}
    report = onnxmap.save_safetensors(model, tmp_path / "w.safetensors", "wide", dtype="float32")
    assert report.vanished == {"wide": 2000}
    assert model.save(path, dtype="float64", sync=False).vanished == {}
    assert model.save(path, sync=False).vanished == {}
