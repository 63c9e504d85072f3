"""`Model.to_ir()` and `onnxmap.from_ir()`: models of onnx_ir on tensors that read the mapping."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnx_ir.passes.common as passes
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper
from support.interop.bridged_models import (
    NAMES,
    WIDTH,
    message_of,
    opened,
    weighted_model,
    wheel_models,
)
from support.models.sample import external, model_of, write
from support.oracles.tensors import tensors_of
from support.saves.models import SAVE_MODELS, made_external, weight

import onnxmap
from onnxmap.interop.ir import MappedTensor

logging.getLogger("onnx_ir").setLevel(logging.CRITICAL)


def through_onnx_ir(message: ModelProto) -> ModelProto | None:
    """What onnx_ir itself makes of a message; None if it refuses the message."""
    try:
        made = ir.to_proto(ir.from_proto(message))
    except Exception:  # noqa: BLE001 -- of any kind
        return None
    return made if made.HasField("graph") else None


def with_plain_entries(message: ModelProto) -> ModelProto:
    """onnx_ir keeps no checksum and no unknown fields of an external tensor; we do."""
    for _, tensor in tensors_of(message):
        if not tensor.external_data:
            continue
        tensor.DiscardUnknownFields()
        found = {entry.key: entry.value for entry in tensor.external_data}
        del tensor.external_data[:]
        for key in ("location", "offset", "length"):
            if int(found.get(key, "0")) if key != "location" else key in found:
                tensor.external_data.add(key=key, value=found[key])
    return message


def ir_tensors(model: ir.Model) -> list[Any]:
    found: list[Any] = []
    graphs = [model.graph, *(function.graph for function in model.functions.values())]
    for graph in [each for outer in graphs for each in (outer, *outer.subgraphs())]:
        found += [value.const_value for value in graph.initializers.values()]
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.TENSOR and not attribute.is_ref():
                    found.append(attribute.value)
                if attribute.type == ir.AttributeType.TENSORS and not attribute.is_ref():
                    found += attribute.value
    return found


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name: str, tmp_path: Path) -> None:
    """The message is what onnx_ir makes of it, without our tensors."""
    model = opened(name, tmp_path)
    expected = through_onnx_ir(message_of(model))
    if expected is None:
        with pytest.raises(Exception, match=r"\w"):  # of any kind
            onnxmap.from_ir(model.to_ir())
        return
    back = onnxmap.from_ir(model.to_ir())
    assert with_plain_entries(message_of(back)) == with_plain_entries(expected)
    ours, others = ({one.name: one for one in each.initializers.all()} for each in (back, model))
    for each in ours.keys() & others.keys():
        assert ours[each].proto.external_data == others[each].proto.external_data
    assert not model.edited


def test_all_models_of_the_wheel() -> None:
    count = 0
    for path in wheel_models():
        model = onnxmap.load(path)
        expected = through_onnx_ir(message_of(model))
        if expected is not None:
            count += 1
            assert message_of(onnxmap.from_ir(model.to_ir())) == expected, path
    assert count > 100


@pytest.mark.parametrize("name", ["chain", "chain_outside", "nested", "shared"])
def test_all_tensors_are_mapped(name: str, tmp_path: Path) -> None:
    model = opened(name, tmp_path)
    found = model.to_ir()
    assert isinstance(found, ir.Model)
    tensors = ir_tensors(found)
    ours = [tensor for _, tensor in model.tensors()]
    assert all(isinstance(tensor, MappedTensor) for tensor in tensors)
    assert sorted(t.tobytes() for t in tensors) == sorted(t.tobytes() for t in ours)
    assert all(tensor.numpy().base is not None for tensor in tensors)  # views


def test_texts(tmp_path: Path) -> None:
    message = model_of(
        [TensorProto(name="t", dims=[2], data_type=8, string_data=[b"a" * 2000, b"\xff"])]
    )
    model = onnxmap.load(write(message, tmp_path / "model.onnx"))
    assert isinstance(model.to_ir().graph.initializers["t"].const_value, ir.StringTensor)
    assert message_of(onnxmap.from_ir(model.to_ir())) == through_onnx_ir(message)


def test_a_default_of_a_function(tmp_path: Path) -> None:
    default = helper.make_attribute("d", weight("", WIDTH, WIDTH))
    function = helper.make_function(
        "local", "F", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])],
        [helper.make_opsetid("", 21)], attribute_protos=[default],
    )  # fmt: skip
    made = weighted_model()
    made.functions.append(function)
    model = onnxmap.load(write(made, tmp_path / "model.onnx"))
    found = model.to_ir()
    (only,) = found.functions.values()
    assert isinstance(only.attributes["d"].value, MappedTensor)
    assert message_of(onnxmap.from_ir(found)) == through_onnx_ir(made)


def test_an_empty_name_that_is_stored(tmp_path: Path) -> None:
    made = weighted_model()
    made.graph.node[1].attribute[0].t.name = ""
    model = onnxmap.load(write(made, tmp_path / "model.onnx"))
    constant = onnxmap.from_ir(model.to_ir()).graph.nodes["constant"].attributes["value"].value
    assert (
        constant.proto.SerializeToString() == made.graph.node[1].attribute[0].t.SerializeToString()
    )


PASSES: dict[str, Any] = {
    "unused": passes.RemoveUnusedNodesPass,
    "cse": passes.CommonSubexpressionEliminationPass,
    "lift": lambda: passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0),
    "names": passes.NameFixPass,
    "deduplicate": passes.DeduplicateInitializersPass,
    "inputs": passes.AddInitializersToInputsPass,
    "clear": passes.ClearMetadataAndDocStringPass,
}


def model_for_passes() -> ModelProto:
    """Unused and repeated nodes, a constant to lift, and values that occur twice."""
    made = weighted_model()
    same = TensorProto()
    same.CopyFrom(made.graph.initializer[0])
    same.name, same.doc_string = "same", "the same values"
    made.graph.doc_string = "documentation"
    made.graph.node[0].metadata_props.add(key="k", value="v")
    made.graph.initializer.append(same)
    made.graph.initializer.append(weight("unused", WIDTH, WIDTH, seed=5))
    nodes = made.graph.node
    nodes.append(helper.make_node("MatMul", ["x", "w"], ["h2"], name="again"))
    nodes.append(helper.make_node("MatMul", ["x", "same"], ["h3"], name="same"))
    nodes.append(helper.make_node("Sum", ["h2", "h3", "h"], ["z"], name="first"))
    nodes.append(helper.make_node("Relu", ["unused"], ["nowhere"]))
    made.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    return made


@pytest.mark.parametrize(
    "names", [*([name] for name in PASSES), ["cse", "unused", "lift", "names"]]
)
def test_passes_of_onnx_ir(names: list[str], tmp_path: Path) -> None:
    """They do with our tensors what they do with those of onnx_ir."""
    made = model_for_passes()
    path = write(made, tmp_path / "model.onnx")
    model = onnxmap.load(path)
    ours, theirs = model.to_ir(), ir.from_proto(onnx.load(path))
    for name in names:
        assert PASSES[name]()(ours).modified == PASSES[name]()(theirs).modified
    back = onnxmap.from_ir(ours)
    expected = ir.to_proto(theirs)
    assert message_of(back) == expected
    assert expected != ir.to_proto(ir.from_proto(made))  # the pass did something
    back.save(tmp_path / "saved.onnx", sync=False)
    assert onnx.load(tmp_path / "saved.onnx") == expected
    assert onnxmap.dumps(model) == path.read_bytes()


def test_values_are_not_copied(tmp_path: Path) -> None:
    path = write(model_of([weight("w", 64, 64), weight("v", 64, 64)]), tmp_path / "model.onnx")
    with onnxmap.load(path) as model:
        view = model.views()["w"]
        found = model.to_ir()
    value = found.graph.initializers.pop("w")
    value.const_value.name = value.name = "renamed"
    found.graph.register_initializer(value)
    del found.graph.initializers["v"]
    back = onnxmap.from_ir(found)
    assert list(back.initializers) == ["renamed"]
    assert np.shares_memory(back.views()["renamed"], view)
    assert back.initializers["renamed"].file == str(path)


def test_other_tensors_come_as_they_are(tmp_path: Path) -> None:
    """Arrays with their values, external tensors with their entries."""
    path = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(path)
    found = model.to_ir()
    theirs = ir.load(path)
    new = np.arange(6, dtype=np.float32)
    found.graph.initializers["w0"].const_value = ir.tensor(new, name="w0")
    found.graph.initializers["w1"].const_value = theirs.graph.initializers["w1"].const_value
    found.graph.initializers["w2"].const_value.metadata_props["k"] = "v"
    back = onnxmap.from_ir(found)
    assert back.initializers["w0"].numpy().tolist() == new.tolist()
    assert [tensor.is_external for tensor in back.initializers.values()] == [False, True, True]
    assert back.initializers["w2"].metadata_props == {"k": "v"}
    for name in ("w1", "w2"):
        assert back.initializers[name].external == model.initializers[name].external
        assert back.initializers[name].tobytes() == model.initializers[name].tobytes()


def test_mapped_tensors_of_several_models(tmp_path: Path) -> None:
    """External ones of another folder become inline, and refer to their file."""
    models = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        data = bytearray()
        tensor = made_external(weight(name, 64, 64, seed=len(models)), "w.data", data)
        (tmp_path / name / "w.data").write_bytes(data)
        models.append(onnxmap.load(write(model_of([tensor]), tmp_path / name / "model.onnx")))
    found = models[0].to_ir()
    found.graph.register_initializer(models[1].to_ir().graph.initializers.pop("two"))
    back = onnxmap.from_ir(found)
    assert [tensor.is_external for tensor in back.initializers.values()] == [True, False]
    for model, name in zip(models, ("one", "two"), strict=True):
        assert np.shares_memory(back.views()[name], model.views()[name])


def test_tokens_are_given_only_to_the_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = onnxmap.load(SAVE_MODELS["chain"](tmp_path))
    found = model.to_ir()
    values = {name: model.initializers[name].tobytes() for name in model.initializers}
    onnxmap.from_ir(found)

    sizes: list[int] = []

    def failing(model: ir.Model) -> None:
        sizes.append(len(found.graph.initializers["w"].const_value.tobytes()))
        raise RuntimeError("failing")

    monkeypatch.setattr(ir, "to_proto", failing)
    with pytest.raises(RuntimeError, match="failing"):
        onnxmap.from_ir(found)
    assert sizes[0] < 100 < sizes[1]  # the second time without tokens
    for name, data in values.items():
        assert found.graph.initializers[name].const_value.tobytes() == data


@pytest.mark.parametrize("name", ["chain", "chain_outside", "nested"])
def test_saves_keep_values_where_they_are(name: str, tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS[name](tmp_path))
    report = onnxmap.save(model.to_ir(), tmp_path / "saved.onnx", sync=False)
    assert [Path(file).name for file in report.files] == ["saved.onnx"]
    saved = onnxmap.load(tmp_path / "saved.onnx")
    assert message_of(saved) == through_onnx_ir(message_of(model))
    (tmp_path / "other").mkdir()
    onnxmap.save(model.to_ir(), tmp_path / "other/all.onnx", external_data=False, sync=False)
    found = onnxmap.load(tmp_path / "other/all.onnx")
    assert [t.tobytes() for _, t in found.tensors()] == [t.tobytes() for _, t in model.tensors()]


def test_dumps_has_the_values(tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS["chain_outside"](tmp_path))
    message = ModelProto.FromString(onnxmap.dumps(model.to_ir()))
    assert [one.raw_data for one in message.graph.initializer] == [
        tensor.tobytes() for tensor in model.initializers.values()
    ]


def test_broken_tensors_stay_what_they_are(tmp_path: Path) -> None:
    """Those without a type or shape are not mapped; the model opens all the same."""
    made = weighted_model()
    broken = TensorProto(name="broken", dims=[-2], data_type=1, raw_data=b"1234")
    short = TensorProto(name="short", dims=[2000], data_type=1, raw_data=b"1234")
    made.graph.initializer.extend([broken, short])
    node = made.graph.node.add(op_type="Op", domain="d", output=["o"])
    node.attribute.add(name="t", type=AttributeProto.TENSOR).t.CopyFrom(
        TensorProto(dims=[1], raw_data=b"x")
    )
    model = onnxmap.load(write(made, tmp_path / "model.onnx"))
    found = model.to_ir()
    assert isinstance(found.graph.initializers["short"].const_value, MappedTensor)
    assert message_of(onnxmap.from_ir(found)) == through_onnx_ir(made)


def test_an_edited_model_and_a_closed_one(tmp_path: Path) -> None:
    model = onnxmap.load(write(weighted_model(), tmp_path / "model.onnx"))
    model.initializers["new"] = new = np.ones((64, 64), np.float32)
    model.initializers.rename("w", "v")
    back = onnxmap.from_ir(model.to_ir())
    assert message_of(back) == through_onnx_ir(message_of(model))
    assert np.shares_memory(back.views()["new"], new)
    for wrong in (b"bytes", model, None):
        with pytest.raises(TypeError, match=r"expected an onnx_ir\.Model"):
            onnxmap.from_ir(wrong)
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model.to_ir()


@pytest.mark.parametrize("kind", ["segment", "string"])
@pytest.mark.parametrize("location", ["/etc/passwd", "../secret", "w.data"])
def test_no_file_is_opened_without_the_rules_of_the_core(
    kind: str, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """onnx_ir would open any file, in the current folder."""
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    for each, value in (folder, 1), (elsewhere, 2):
        each.mkdir()
        (each / "w.data").write_bytes(np.full(4, value, np.float32).tobytes())
    (tmp_path / "secret").write_bytes(bytes(16))
    tensor = external("w", [4], {"location": location, "length": "16"})
    if kind == "segment":
        tensor.segment.begin, tensor.segment.end = 0, 4
    else:
        tensor.data_type = onnx.TensorProto.STRING
    path = write(model_of([tensor]), folder / "model.onnx")
    monkeypatch.chdir(elsewhere)
    model = onnxmap.load(path)
    if kind == "segment" and location == "w.data":
        found = model.to_ir().graph.initializers["w"].const_value.numpy()
        np.testing.assert_array_equal(found, np.ones(4, np.float32))
    else:
        with pytest.raises((onnxmap.UnsafePathError, onnxmap.TensorError)):
            model.to_ir()


class Negated:
    """A tensor whose values are computed from the bytes of another one."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)

    def tobytes(self) -> bytes:
        return bytes(255 - byte for byte in self._tensor.tobytes())

    def numpy(self) -> Any:
        return np.frombuffer(self.tobytes(), np.float32).reshape(self._tensor.shape.numpy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy()

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the protocol names this method, and no test calls it")

    def __dlpack_device__(self) -> Any:
        return 1, 0


@pytest.mark.parametrize("count", [5000, 66])
@pytest.mark.parametrize("lazy", [False, True])
def test_tensors_that_compute_with_mapped_ones(count: int, lazy: bool, tmp_path: Path) -> None:
    values = np.arange(count, dtype=np.uint8)
    tensors = [numpy_helper.from_array(values, name) for name in ("w", "v")]
    path = write(model_of(tensors), tmp_path / "model.onnx")
    found = onnxmap.load(path).to_ir()
    mapped = found.graph.initializers["w"].const_value

    def negated() -> Any:
        return ir.tensor(~np.frombuffer(mapped.tobytes(), np.uint8).reshape(count))

    if lazy:
        made = ir.LazyTensor(negated, dtype=mapped.dtype, shape=mapped.shape, name="w")
    else:
        made = Negated(mapped)
    found.graph.initializers["w"].const_value = made
    back = onnxmap.from_ir(found)
    np.testing.assert_array_equal(back.initializers["w"].numpy(), ~values)
    np.testing.assert_array_equal(back.initializers["v"].numpy(), values)
