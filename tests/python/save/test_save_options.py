"""Every option of a save, for models of every kind: all readers find the same model afterwards."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest
from support.edits.models import EDIT_MODELS
from support.run_options import EXHAUSTIVE
from support.saves.judges import assert_nothing_left, assert_same_model, contents
from support.saves.models import SAVE_MODELS

import onnxmap

OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "inline": {"external_data": False},
    "all outside": {"external_data": "w.out", "size_threshold_bytes": 0},
    "large ones outside": {"external_data": b"w.out"},
    "everything outside": {
        "external_data": "sub/w.out", "attributes": True, "dedupe": True, "checksum": True,
        "alignment": 64, "size_threshold_bytes": 1,
    },
    "shards": {"external_data": "w.out", "max_shard_size_bytes": 4000, "size_threshold_bytes": 10},
    "view": {"external_data": "view"},
    "aligned": {"alignment": 64},
    "aligned inline": {"external_data": False, "alignment": 16},
    "aligned to pages": {"alignment": 4096},
}  # fmt: skip
# They have tensors whose location names nothing.
WITHOUT_THEIR_DATA = ("external_data", "unknown_fields", "overlong_varints")
PLACES = ["same folder", "other folder", "from a buffer", "by reads"]


def open_model(place: str, path: Path) -> onnxmap.Model:
    if place == "from a buffer":
        return onnxmap.loads(path.read_bytes(), external_root=path.parent)
    return onnxmap.load(path, io="read" if place == "by reads" else "auto")


def ir_value(tensor: Any) -> bytes | None:
    try:
        return tensor.tobytes()
    except (AssertionError, ValueError, TypeError):
        return None  # it refuses the tensor


def assert_same_for_onnx_ir(saved: Path, source: Path) -> int:
    """Returns how many initializers of the main graph it has compared."""
    try:
        expected = ir.load(source).graph.initializers
    except ir.serde.SerdeError:
        return 0  # it refuses the source: sparse tensors, texts that are not UTF-8
    message = onnx.load(source, load_external_data=False)
    plain = {one.name for one in message.graph.initializer if one.raw_data or one.external_data}
    found = ir.load(saved).graph.initializers
    assert list(found) == list(expected)
    values = {name: ir_value(expected[name].const_value) for name in plain & set(expected)}
    for name, value in values.items():
        if value is not None:
            assert ir_value(found[name].const_value) == value, name
    return sum(value is not None for value in values.values())


# Of each pair of two parameters, one case; EXHAUSTIVE has all cases of three.
CASES = [
    (name, options, place)
    for i, name in enumerate(SAVE_MODELS)
    for j, options in enumerate(OPTIONS)
    for k, place in enumerate(PLACES)
    if EXHAUSTIVE or (i + j + k) % 2 == 0
]


@pytest.mark.parametrize(("name", "options", "place"), CASES)
def test_each_model_with_each_option(name: str, options: str, place: str, tmp_path: Path) -> None:
    source = SAVE_MODELS[name](tmp_path)
    before = contents(tmp_path)
    model = open_model(place, source)
    saved = tmp_path / "saved.onnx"
    if place == "other folder":
        saved = tmp_path / "folder" / "model.onnx"
        saved.parent.mkdir()
    if options == "view" and place in ("other folder", "from a buffer"):
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.save(model, saved, **OPTIONS[options], sync=False)
        assert caught.value.code == "save.view"
        assert contents(tmp_path) == before
        return
    report = onnxmap.save(model, saved, **OPTIONS[options], sync=False)
    assert_same_model(saved, source, structure=options != "view")
    compared = assert_same_for_onnx_ir(saved, source)
    assert compared >= {"chain": 3, "chain_outside": 3, "every_type": 100, "shared": 4}.get(name, 0)
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    new = {str(tmp_path / name) for name in set(after) - set(before)}
    assert set(report.files) == new
    sizes = sum(Path(file).stat().st_size for file in report.files)
    assert report.bytes_written + report.bytes_copied == sizes
    assert_nothing_left(saved.parent)
    assert not model.edited
    assert onnxmap.dumps(model) == before["model.onnx"]


@pytest.mark.parametrize("options", ["all outside", "everything outside", "aligned", "inline"])
@pytest.mark.parametrize(
    "name", [n for n in EDIT_MODELS if EXHAUSTIVE or not n.startswith("backend")]
)
def test_odd_encodings_with_each_option(name: str, options: str, tmp_path: Path) -> None:
    """The same message for protobuf, except for the fields that say where values are."""
    source, saved = tmp_path / "model.onnx", tmp_path / "saved.onnx"
    source.write_bytes(EDIT_MODELS[name])
    if name in WITHOUT_THEIR_DATA and options != "aligned":
        with pytest.raises(onnxmap.OnnxMapError):
            onnxmap.save(onnxmap.load(source), saved, **OPTIONS[options], sync=False)
        assert not saved.exists()
        return
    onnxmap.save(onnxmap.load(source), saved, **OPTIONS[options], sync=False)
    if name in WITHOUT_THEIR_DATA:
        theirs, ours = (onnx.load(one, load_external_data=False) for one in (source, saved))
        assert str(theirs) == str(ours)
        return
    least = OPTIONS[options].get("size_threshold_bytes", 1024)
    assert_same_model(saved, source, small_ones_outside=least < 1024)


@pytest.mark.parametrize("options", ["inline", "all outside"])
def test_missing_data_are_an_error(options: str, tmp_path: Path) -> None:
    """Values that must be moved must be readable; without a move, they need not be."""
    source = tmp_path / "model.onnx"
    source.write_bytes(EDIT_MODELS["external_data"])
    model = onnxmap.load(source)
    with pytest.raises(onnxmap.ExternalDataError) as caught:
        onnxmap.save(model, tmp_path / "saved.onnx", **OPTIONS[options])
    assert caught.value.code == "ext.missing"
    assert set(contents(tmp_path)) == {"model.onnx"}
    onnxmap.save(model, tmp_path / "saved.onnx", sync=False)
    assert (tmp_path / "saved.onnx").read_bytes() == EDIT_MODELS["external_data"]


@pytest.mark.parametrize("first", ["inline", "all outside", "shards", "aligned", "view"])
@pytest.mark.parametrize("second", ["inline", "all outside", "shards", "aligned"])
@pytest.mark.parametrize("name", ["nested", "every_type", "shared", "unknown_fields"])
def test_one_save_after_another(name: str, first: str, second: str, tmp_path: Path) -> None:
    source = SAVE_MODELS[name](tmp_path)
    middle = tmp_path / "middle.onnx"
    saved = middle if first == second else tmp_path / "saved.onnx"  # data of `middle` are replaced
    onnxmap.save(onnxmap.load(source), middle, **OPTIONS[first], sync=False)
    onnxmap.save(onnxmap.load(middle), saved, **OPTIONS[second], sync=False)
    assert_same_model(saved, source, structure=first != "view" or second != "aligned")


@pytest.mark.parametrize("options", OPTIONS)
def test_the_same_bytes_each_time(options: str, tmp_path: Path) -> None:
    source = SAVE_MODELS["nested"](tmp_path)
    model = onnxmap.load(source)
    onnxmap.save(model, tmp_path / "saved.onnx", **OPTIONS[options], sync=False)
    first = contents(tmp_path)
    onnxmap.save(model, tmp_path / "saved.onnx", **OPTIONS[options], sync=False)
    onnxmap.save(onnxmap.load(source), tmp_path / "saved.onnx", **OPTIONS[options], sync=False)
    assert contents(tmp_path) == first


@pytest.mark.parametrize("kind", ["proto", "ProtoView", "onnx_ir"])
def test_models_of_other_libraries(kind: str, tmp_path: Path) -> None:
    source = SAVE_MODELS["chain"](tmp_path)
    model: Any = onnx.load(source)
    if kind == "ProtoView":
        model = onnxmap.load(source).proto
    elif kind == "onnx_ir":
        model = ir.load(source)
    saved = tmp_path / "saved.onnx"
    onnxmap.save(model, saved, external_data="w.out", sync=False)
    assert_same_model(saved, source, structure=kind != "onnx_ir")


@pytest.mark.parametrize("options", ["as it is", "inline", "all outside"])
@pytest.mark.parametrize("kind", ["ProtoView", "onnx_ir"])
def test_external_data_in_another_folder(kind: str, options: str, tmp_path: Path) -> None:
    """They are found in the folder that the model was loaded from, wherever the new one goes."""
    source = SAVE_MODELS["chain_outside"](tmp_path)
    saved = tmp_path / "folder" / "saved.onnx"
    saved.parent.mkdir()
    model: Any = onnxmap.load(source).proto if kind == "ProtoView" else ir.load(source)
    onnxmap.save(model, saved, **OPTIONS[options], sync=False)
    assert_same_model(saved, source, structure=False)


def test_a_path_may_name_the_data_file(tmp_path: Path) -> None:
    """The file may have a name that means something else as a text."""
    source = SAVE_MODELS["chain"](tmp_path)
    onnxmap.save(onnxmap.load(source), tmp_path / "saved.onnx", Path("view"), sync=False)
    assert_same_model(tmp_path / "saved.onnx", source)
    assert (tmp_path / "view").stat().st_size > 1024


def test_dumps(tmp_path: Path) -> None:
    source = SAVE_MODELS["chain"](tmp_path)
    model = onnxmap.load(source)
    assert onnxmap.dumps(model) == onnxmap.dumps(model.proto) == source.read_bytes()
    node = model.graph.nodes[0]
    assert onnxmap.dumps(node) == node.proto.SerializeToString() != b""
    (tmp_path / "saved.onnx").write_bytes(onnxmap.dumps(ir.load(source)))
    assert_same_model(tmp_path / "saved.onnx", source, structure=False)
    for wrong in (None, b"bytes", source, model.initializers):
        with pytest.raises(TypeError, match="expected a Model or a message, not "):
            onnxmap.dumps(wrong)


def test_external_data_of_onnx_ir_in_two_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        SAVE_MODELS["chain_outside"](tmp_path / name)
    one, two = (ir.load(tmp_path / name / "model.onnx") for name in ("a", "b"))
    one.graph.initializers["w1"].const_value = two.graph.initializers["w1"].const_value
    with pytest.raises(ValueError, match="different folders"):
        onnxmap.save(one, tmp_path / "saved.onnx")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


OTHER_MESSAGES: list[Any] = [
    onnxmap.make_node("Relu", ["x"], ["y"]), onnx.GraphProto(name="g"),
    onnx.FunctionProto(name="f"), onnxmap.new("GraphProto", name="g"),
]  # fmt: skip


@pytest.mark.parametrize("wrong", [b"bytes", "model.onnx", None, *OTHER_MESSAGES])
def test_what_is_no_model(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected a Model, not ") as caught:
        onnxmap.save(wrong, tmp_path / "saved.onnx")
    assert ("onnxmap.load('model.onnx')" in str(caught.value)) == (wrong == "model.onnx")
    assert list(tmp_path.iterdir()) == []


WRONG_OPTIONS: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "external data True": (TypeError, {"external_data": True}),
    "external data 0": (TypeError, {"external_data": 0}),
    "an empty name": (ValueError, {"external_data": ""}),
    "threshold below 0": (ValueError, {"size_threshold_bytes": -1}),
    "threshold None": (TypeError, {"size_threshold_bytes": None}),
    "threshold True": (TypeError, {"size_threshold_bytes": True}),
    "threshold 2**64": (ValueError, {"size_threshold_bytes": 1 << 64}),
    "alignment 0": (ValueError, {"alignment": 0}),
    "alignment 48": (ValueError, {"alignment": 48}),
    "alignment 1.0": (TypeError, {"alignment": 1.0}),
    "alignment 128 KiB in the model": (ValueError, {"alignment": 1 << 17}),
    "alignment 2**62 in a file": (ValueError, {"external_data": "w", "alignment": 1 << 62}),
    "alignment 2**63 in a file": (ValueError, {"external_data": "w", "alignment": 1 << 63}),
    "shards of nothing": (ValueError, {"external_data": "w", "max_shard_size_bytes": 0}),
    "shards of 2**64": (ValueError, {"external_data": "w", "max_shard_size_bytes": 1 << 64}),
    "shards of the model": (ValueError, {"max_shard_size_bytes": 100}),
    "dedupe in the model": (ValueError, {"dedupe": True, "external_data": False}),
    "checksum in the model": (ValueError, {"checksum": True}),
    "attributes where they are": (ValueError, {"attributes": True}),
    "attributes in the model": (ValueError, {"attributes": True, "external_data": False}),
    "alignment of a view": (ValueError, {"alignment": 64, "external_data": "view"}),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
def test_wrong_options(case: str, tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS["chain_outside"](tmp_path))
    before = contents(tmp_path)
    error, options = WRONG_OPTIONS[case]
    with pytest.raises(error, match="^" + "|^".join((*options, ".*2.63"))):
        onnxmap.save(model, tmp_path / "saved.onnx", **options)
    assert contents(tmp_path) == before


def test_a_threshold_may_be_0(tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS["chain"](tmp_path))
    with pytest.raises(ValueError, match="size_threshold_bytes must not be negative, not -1"):
        model.save(tmp_path / "saved.onnx", size_threshold_bytes=-1)
    model.save(tmp_path / "saved.onnx", "w.data", size_threshold_bytes=0, sync=False)


@pytest.mark.parametrize("options", [{}, {"external_data": False}, {"external_data": "w"}])
def test_a_model_without_any_field(options: dict[str, Any], tmp_path: Path) -> None:
    """No program loads an empty file as a model."""
    for empty in (onnxmap.new("ModelProto"), onnx.ModelProto()):
        for target in (tmp_path / "saved.onnx", io.BytesIO()):
            if options.get("external_data") and isinstance(target, io.BytesIO):
                continue
            with pytest.raises(onnxmap.SaveError, match="has no field that is set") as caught:
                onnxmap.save(empty, target, **options)
            assert caught.value.code == "save.empty"
        assert onnxmap.dumps(empty) == b""
    assert list(tmp_path.iterdir()) == []
    onnxmap.save_value([], tmp_path / "value.pb", "sequence", sync=False)


def test_all_saves_have_the_same_options() -> None:
    """All but the first are passed by name, so that a new one can come between them."""
    save, method, save_all = (
        inspect.signature(one).parameters
        for one in (onnxmap.save, onnxmap.Model.save, onnxmap.save_all)
    )
    positional = [
        [one.name for one in parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        for parameters in (save, method, save_all)
    ]
    assert positional == [
        ["model", "path", "external_data"],
        ["self", "path", "external_data"],
        ["models", "external_data"],
    ]
    options, of_method, of_all = (
        {one.name: one for one in parameters.values() if one.kind is one.KEYWORD_ONLY}
        for parameters in (save, method, save_all)
    )
    assert len(options) > 10
    assert options.pop("external_root") == of_all.pop("external_root")  # a Model has its own
    assert list(of_method.values()) == list(options.values())
    assert of_all.pop("dedupe").default is None  # yes, unless the file is safetensors
    assert options.pop("dedupe").default is False
    assert of_all == options


class Asked:
    """An option that tells its own name to whoever looks at it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, looked_for: str) -> Any:
        raise RuntimeError(self.name)

    def _tell(self, *_: object) -> Any:
        raise RuntimeError(self.name)

    __bool__ = __index__ = __str__ = __fspath__ = __eq__ = __call__ = __iter__ = _tell
    __hash__ = None  # type: ignore[assignment]


def answer(save: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """What a save raises, or that it raises nothing."""
    try:
        save(*arguments, **options)
    except Exception as error:  # noqa: BLE001 -- whatever it raises is compared
        return re.sub("0x[0-9a-f]+", "...", f"{type(error).__name__}: {error}")
    return "saved"


def test_the_method_passes_its_options_on(tmp_path: Path) -> None:
    """Each option raises the same as with the function, most of them the name of the option."""
    model, path = onnxmap.load(SAVE_MODELS["chain"](tmp_path)), tmp_path / "saved.onnx"
    options = list(inspect.signature(onnxmap.Model.save).parameters)[2:]
    found = {name: answer(model.save, path, **{name: Asked(name)}) for name in options}
    assert found == {
        name: answer(onnxmap.save, model, path, **{name: Asked(name)}) for name in options
    }
    assert sum(name in told for name, told in found.items()) > len(options) * 2 / 3, found
