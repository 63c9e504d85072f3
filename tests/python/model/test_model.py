"""`Model`: its fields, whole-model reads (`tensors`, `views`, `nbytes`), `repr` and HTML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from support import wire_bytes as wire
from support.models.sample import floats, model_of, write
from support.models.small import SMALL_MODELS
from support.oracles.tensors import tensors_of

import onnxmap


@pytest.fixture
def model(tmp_path: Path) -> onnxmap.Model:
    message = model_of(
        [floats("w", 6), floats("b", 2)],
        producer_name="maker", producer_version="1.2", domain="ai.test", model_version=7,
        doc_string="two\nlines",
    )  # fmt: skip
    message.opset_import.add(domain="ai.onnx.ml", version=3)
    message.metadata_props.add(key="author", value="é")
    return onnxmap.load(write(message, tmp_path / "model.onnx"))


def test_fields(model: onnxmap.Model, tmp_path: Path) -> None:
    assert Path(model.path) == tmp_path / "model.onnx"
    assert model.ir_version == 10
    assert dict(model.opset_imports) == {"": 21, "ai.onnx.ml": 3}
    assert (model.producer_name, model.producer_version) == ("maker", "1.2")
    assert (model.domain, model.model_version, model.doc_string) == ("ai.test", 7, "two\nlines")
    assert isinstance(model.metadata_props, Mapping)
    assert dict(model.metadata_props) == {"author": "é"}
    assert model.nbytes == 32
    assert model.external_files == []
    assert list(model.initializers) == list(model.graph.initializers) == ["w", "b"]
    assert list(model.functions) == list(model.training_info) == []


def test_fields_that_the_file_lacks() -> None:
    model = onnxmap.loads(wire.blob(7, b""))
    assert (model.ir_version, model.model_version, model.nbytes) == (0, 0, 0)
    assert (model.producer_name, model.domain, model.doc_string) == ("", "", "")
    assert dict(model.opset_imports) == {}
    assert dict(model.metadata_props) == {}
    assert model.graph.name == ""


def test_functions() -> None:
    (function,) = onnxmap.loads(SMALL_MODELS["functions"]).functions
    assert (function.name, function.domain, function.overload) == ("twice", "local", "o")
    assert list(function.inputs) == ["x"]
    assert list(function.outputs) == ["y"]
    assert list(function.attributes) == ["alpha"]
    assert [node.op_type for node in function.nodes] == ["Add"]
    assert function.nodes[0].attributes["a"].ref_attr_name == "alpha"
    assert dict(function.opset_imports) == {"": 21}
    assert function.proto.attribute_proto[0].i == 2


def test_training_info() -> None:
    (training,) = onnxmap.loads(SMALL_MODELS["training_info"]).training_info
    assert training.initialization.name == "start"
    assert training.algorithm.name == "step"
    assert training.algorithm.nodes[0].op_type == "Adam"
    assert training.algorithm.initializers["w"].numpy().tolist() == [1]
    assert training.proto.update_binding[0].key == "w"


def test_device_configurations() -> None:
    model = onnxmap.loads(SMALL_MODELS["device_configurations"])
    (configuration,) = model.device_configurations
    assert (configuration.name, configuration.num_devices) == ("cfg", 2)
    assert list(configuration.devices) == ["gpu0", "gpu1"]
    (placed,) = model.graph.nodes[0].device_configurations
    assert (placed.configuration_id, placed.pipeline_stage) == ("cfg", 1)
    assert placed.proto.sharding_spec[0].sharded_dim[0].simple_sharding[1].dim_param == "N"


def tensor(name: str) -> TensorProto:
    return numpy_helper.from_array(np.float32([len(name)]), name)


def model_with_hidden_tensors() -> onnx.ModelProto:
    """Tensors in all possible places. A reader that reads only initializers loses most of them."""
    inner = helper.make_graph([], "inner", [], [], [tensor("in_subgraph")])
    sparse = helper.make_sparse_tensor(tensor("values"), TensorProto(dims=[1], data_type=7), [4])
    node = helper.make_node("Op", [], [])
    node.attribute.extend(
        [
            helper.make_attribute("t", tensor("t")),
            helper.make_attribute("tensors", [tensor("t0"), tensor("t1")]),
            helper.make_attribute("g", inner),
            helper.make_attribute("graphs", [inner, inner]),
            helper.make_attribute("sparse", sparse),
            helper.make_attribute("sparses", [sparse]),
            AttributeProto(name="lying", type=AttributeProto.INT, i=3, t=tensor("lie")),
        ]
    )
    model = model_of([tensor("w")])
    model.graph.node.append(node)
    model.graph.sparse_initializer.append(sparse)
    function = helper.make_function(
        "d", "f", [], [], [node], [], attribute_protos=[node.attribute[0]]
    )
    model.functions.append(function)
    model.training_info.append(helper.make_training_info(inner, [], inner, []))
    return model


def test_tensors_finds_every_tensor_with_its_path() -> None:
    message = model_with_hidden_tensors()
    expected = dict(tensors_of(message))
    ours = list(onnxmap.loads(message.SerializeToString()).tensors())
    assert sorted(where for where, _ in ours) == sorted(expected)
    for where, found in ours:
        assert (found.name, found.shape) == (expected[where].name, tuple(expected[where].dims))
    paths = {where for where, _ in ours}
    assert 'graph.node[0].attribute["t"].t' in paths
    assert 'graph.node[0].attribute["graphs"].graphs[1].initializer[0]' in paths
    assert 'graph.node[0].attribute["lying"].t' in paths
    assert "training_info[0].algorithm.initializer[0]" in paths
    assert "graph.sparse_initializer[0].values" in paths


def test_tensor_paths_escape_names() -> None:
    node = helper.make_node("Op", [], [])
    node.attribute.append(helper.make_attribute('a"\n\\', tensor("t")))
    message = model_of([])
    message.graph.node.append(node)
    ((where, _),) = onnxmap.loads(message.SerializeToString()).tensors()
    assert "\n" not in where
    assert where.startswith("graph.node[0].attribute[")
    assert where.endswith("].t")


def test_views(model: onnxmap.Model) -> None:
    views = model.views()
    assert list(views) == ["w", "b"]
    assert views["w"].tolist() == [0, 1, 2, 3, 4, 5]
    assert not views["w"].flags.writeable
    assert np.shares_memory(views["w"], model.initializers["w"].numpy())
    assert list(model.views(["b"])) == ["b"]
    assert list(model.views(["b", "w"])) == ["b", "w"]
    assert model.views([]) == {}
    with pytest.raises(KeyError, match="nothing"):
        model.views(["w", "nothing"])


def test_views_by_a_string_name_or_glob(model: onnxmap.Model) -> None:
    assert list(model.views("w")) == ["w"]
    assert list(model.views("*")) == ["w", "b"]
    assert list(model.views("[ab]")) == ["b"]


def test_views_of_repeated_names_are_refused() -> None:
    data = model_of([floats("w", 2), floats("w", 3)]).SerializeToString()
    with pytest.raises(onnxmap.OnnxMapError) as caught:
        onnxmap.loads(data).views(["w"])
    assert caught.value.code == "model.duplicate_name"


def test_repr_is_one_line(model: onnxmap.Model) -> None:
    for one in (model, onnxmap.loads(SMALL_MODELS["plain_nodes"])):
        text = repr(one)
        assert "\n" not in text
        assert "Model" in text
        assert len(text) < 300
    assert "model.onnx" in repr(model)


def test_html_form_escapes_what_the_file_says() -> None:
    evil = '<script>alert("x")</script>'
    message = model_of([floats(evil, 2)], producer_name=evil, doc_string=evil)
    message.graph.name = evil
    html = onnxmap.loads(message.SerializeToString())._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<table") == html.count("</table>") >= 1


def test_a_model_of_every_small_kind_has_all_surfaces() -> None:
    for name, data in SMALL_MODELS.items():
        message = onnx.ModelProto.FromString(data)
        if not message.HasField("graph"):
            continue
        model = onnxmap.loads(data)
        assert model.ir_version == message.ir_version, name
        assert len(model.graph.nodes) == len(message.graph.node), name
        assert len(list(model.initializers.all())) == len(message.graph.initializer), name
        assert [f.name for f in model.functions] == [f.name for f in message.functions]
        assert "\n" not in repr(model)
        assert model._repr_html_().strip().startswith("<")


def test_long_attribute_names_are_not_repeated_in_every_path() -> None:
    tensors = b"".join(wire.blob(10, b"") for _ in range(400))
    attribute = wire.blob(1, b"n" * 100_000) + tensors
    data = wire.blob(7, wire.blob(1, wire.blob(5, attribute)))
    paths = [where for where, _ in onnxmap.loads(data).tensors()]
    assert paths[7] == "graph.node[0].attribute[0].tensors[7]"
    assert len(paths) == 400
