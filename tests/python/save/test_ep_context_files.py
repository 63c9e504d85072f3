"""The files of EPContext nodes, which go with a model that is copied or moved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.models.sample import write

import onnxmap

COMPILED = b"a compiled model" * 1000
Transfer = Callable[..., Any]


def context_node(context: str, embed_mode: int | None = 0, **attributes: Any) -> onnx.NodeProto:
    if embed_mode is not None:
        attributes["embed_mode"] = embed_mode
    return helper.make_node(
        "EPContext", ["x"], ["y"], domain="com.microsoft", ep_cache_context=context, **attributes
    )


def model_of(*nodes: onnx.NodeProto, initializers: tuple[TensorProto, ...] = ()) -> ModelProto:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "main", [value("x", 1, [1])], [value("y", 1, [1])], initializers
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def nested(node: onnx.NodeProto) -> ModelProto:
    """A model with the node in a subgraph of a subgraph, and in a function."""
    for _ in range(2):
        output = helper.make_tensor_value_info("y", 1, [1])
        branch = helper.make_graph([node], "branch", [], [output])
        node = helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)
    made = model_of(node)
    opsets = list(made.opset_import)
    body = [context_node("function.bin")]
    made.functions.append(helper.make_function("local", "F", ["x"], ["y"], body, opsets))
    return made


def contexts(path: Path) -> list[str]:
    """What the EPContext nodes of a model name."""
    nodes = [node for _, node in onnxmap.load(path).all_nodes() if node.op_type == "EPContext"]
    return [node.attributes["ep_cache_context"].value.decode() for node in nodes]


def made(folder: Path, model: ModelProto, **files: bytes) -> Path:
    (folder / "a").mkdir(parents=True)
    for name, content in files.items():
        (folder / "a" / name.replace("__", ".")).write_bytes(content)
    return write(model, folder / "a/m.onnx")


@pytest.fixture(params=[onnxmap.copy_model, onnxmap.move_model])
def transfer(request: pytest.FixtureRequest) -> Transfer:
    function: Transfer = request.param
    return function


@pytest.fixture
def other(tmp_path: Path) -> Path:
    (tmp_path / "b").mkdir()
    return tmp_path / "b"


@pytest.mark.parametrize("content", [COMPILED, b""])
def test_a_file_goes_along(transfer: Transfer, content: bytes, tmp_path: Path, other: Path) -> None:
    path = made(tmp_path, model_of(context_node("m_ctx.bin")), m_ctx__bin=content)
    transfer(path, other / "n.onnx", sync=False)
    assert contexts(other / "n.onnx") == ["n_ctx.bin"]
    assert (other / "n_ctx.bin").read_bytes() == content
    is_moved = transfer is onnxmap.move_model
    assert [each.exists() for each in (path, path.with_name("m_ctx.bin"))] == [not is_moved] * 2
    onnxmap.load(other / "n.onnx").check(select=["node.ep_context_file"]).raise_if_failed()


def test_the_same_folder(transfer: Transfer, tmp_path: Path) -> None:
    path = made(tmp_path, model_of(context_node("m_ctx.bin")), m_ctx__bin=COMPILED)
    transfer(path, path.with_name("n.onnx"), sync=False)
    assert contexts(path.with_name("n.onnx")) == ["n_ctx.bin"]
    assert path.with_name("n_ctx.bin").read_bytes() == COMPILED
    assert path.with_name("m_ctx.bin").exists() == (transfer is onnxmap.copy_model)


def test_nodes_in_subgraphs_and_functions(transfer: Transfer, tmp_path: Path, other: Path) -> None:
    path = made(
        tmp_path, nested(context_node("m.onnx_ctx.bin")),
        m__onnx_ctx__bin=COMPILED, function__bin=COMPILED[:9],
    )  # fmt: skip
    transfer(path, other / "n.onnx", sync=False)
    names = contexts(other / "n.onnx")
    assert len(names) == 5
    assert len(set(names)) == 2
    assert "function.bin" in names
    assert sorted((other / name).stat().st_size for name in set(names)) == [9, len(COMPILED)]


def test_what_names_no_file_stays_as_it_is(transfer: Transfer, tmp_path: Path, other: Path) -> None:
    """A context in the attribute, other operators, and a node that refers to another one."""
    nodes = [
        context_node("m_ctx.bin", embed_mode=1),
        context_node("m_ctx.bin", embed_mode=None),
        helper.make_node(
            "EPContext", ["x"], ["z"], domain="com.microsoft", embed_mode=0, main_context=0
        ),
        helper.make_node(
            "EPContext", ["x"], ["w"], domain="local", embed_mode=0, ep_cache_context="m_ctx.bin"
        ),
    ]
    path = made(tmp_path, model_of(*nodes), m_ctx__bin=COMPILED)
    data = path.read_bytes()
    transfer(path, other / "n.onnx", sync=False)
    assert (other / "n.onnx").read_bytes() == data
    assert [each.name for each in other.iterdir()] == ["n.onnx"]


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("gone.bin", onnxmap.MissingDataError),
        ("../outside.bin", onnxmap.UnsafePathError),
        ("sub/../../outside.bin", onnxmap.UnsafePathError),
        ("/etc/hostname", onnxmap.UnsafePathError),
        ("link.bin", onnxmap.UnsafePathError),
    ],
)
def test_a_file_that_is_missing_or_unsafe(
    location: str, error: type[Exception], transfer: Transfer, tmp_path: Path, other: Path
) -> None:
    (tmp_path / "outside.bin").write_bytes(COMPILED)
    path = made(tmp_path, model_of(context_node(location)))
    path.with_name("link.bin").symlink_to("../outside.bin")
    with pytest.raises(error, match=r"node graph\.node\[0\]: ") as caught:
        transfer(path, other / "n.onnx", sync=False)
    assert caught.value.location == location  # type: ignore[attr-defined]
    assert path.exists()
    assert list(other.iterdir()) == []
    assert (tmp_path / "outside.bin").read_bytes() == COMPILED
    (finding,) = onnxmap.load(path).check(select=["node.ep_context_file"])
    assert finding.where == "graph.node[0]"


def test_a_file_of_several_models(transfer: Transfer, tmp_path: Path, other: Path) -> None:
    """It stays for the others; the new model gets a copy of its own."""
    path = made(tmp_path, model_of(context_node("shared.bin")), shared__bin=COMPILED)
    neighbour = write(model_of(context_node("./shared.bin")), tmp_path / "a/neighbour.onnx")
    transfer(path, other / "n.onnx", sync=False)
    (name,) = contexts(other / "n.onnx")
    assert (other / name).read_bytes() == COMPILED
    assert path.with_name("shared.bin").read_bytes() == COMPILED
    onnxmap.load(neighbour).check(select=["node.ep_context_file"]).raise_if_failed()


def test_a_file_that_a_text_model_uses_stays(tmp_path: Path, other: Path) -> None:
    path = made(tmp_path, model_of(context_node("shared.bin")), shared__bin=COMPILED)
    onnxmap.load(path).save(path.with_name("text.textproto"), sync=False)
    report = onnxmap.move_model(path, other / "n.onnx", sync=False)
    assert report.stays == {str(path.with_name("shared.bin")): "text.textproto uses it"}
    assert path.with_name("shared.bin").exists()


def test_a_file_of_another_model_is_not_replaced(tmp_path: Path, other: Path) -> None:
    path = made(tmp_path, model_of(context_node("context.bin")), context__bin=COMPILED)
    (other / "context.bin").write_bytes(b"older")
    write(model_of(context_node("context.bin")), other / "n.onnx")
    write(model_of(context_node("context.bin")), other / "third.onnx")
    with pytest.raises(FileExistsError):
        onnxmap.copy_model(path, other / "n.onnx", sync=False)
    onnxmap.copy_model(path, other / "n.onnx", overwrite=True, sync=False)
    (name,) = contexts(other / "n.onnx")
    assert name != "context.bin"
    assert (other / name).read_bytes() == COMPILED
    assert (other / "context.bin").read_bytes() == b"older"


def test_a_file_that_has_weights_too(transfer: Transfer, tmp_path: Path, other: Path) -> None:
    """It is copied as a whole, and the weights keep their place."""
    tensor = numpy_helper.from_array(np.arange(4, dtype=np.int32), "w")
    data, tensor.data_location = tensor.raw_data, TensorProto.EXTERNAL
    tensor.ClearField("raw_data")
    for key, value in {"location": "both.bin", "offset": "100", "length": "16"}.items():
        tensor.external_data.add(key=key, value=value)
    content = bytes(100) + data + COMPILED
    model = model_of(context_node("both.bin"), initializers=(tensor,))
    path = made(tmp_path, model, both__bin=content)
    transfer(path, other / "n.onnx", sync=False)
    (name,) = contexts(other / "n.onnx")
    assert (other / name).read_bytes() == content
    assert onnxmap.load(other / "n.onnx").initializers["w"].numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("as_model", [False, True])
def test_a_save_does_not_replace_a_file_of_the_model(as_model: bool, tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.zeros(5000, np.float32), "w")
    model = model_of(context_node("m_ctx.bin"), initializers=(weight,))
    path = made(tmp_path, model, m_ctx__bin=COMPILED)
    target = path if as_model else path.with_name("n.onnx")
    with pytest.raises(onnxmap.SaveError, match="EPContext") as caught:
        onnxmap.load(path).save(target, "m_ctx.bin", overwrite=True, sync=False)
    assert caught.value.code == "save.own_data"
    assert path.with_name("m_ctx.bin").read_bytes() == COMPILED


def test_the_attributes_are_those_of_onnxruntime() -> None:
    """Without embed_mode, the context is in the attribute."""
    onnxruntime = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    (schema,) = (each for each in onnxruntime.get_all_operator_schema() if each.name == "EPContext")
    assert schema.domain == "com.microsoft"
    assert "ep_cache_context" in schema.attributes
    default = schema.attributes["embed_mode"]._default_value
    assert onnx.AttributeProto.FromString(default).i == 1
