"""`convert_version()` of models with functions and sparse initializers, which onnx forgets."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.checker
import pytest
from onnx import ModelProto, helper
from support.interop.bridged_models import message_of
from support.models.node_cases import in_a_function, some_cases
from support.run_options import EXHAUSTIVE

import onnxmap


def result(call: Any, *arguments: Any) -> Any:
    """What a call returns, or the text of its error."""
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001 -- of any kind
        return str(error)


def values_of(message: ModelProto, inputs: list[Any]) -> list[Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    data = message.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(
        None, dict(zip([v.name for v in session.get_inputs()], inputs, strict=False))
    )


@pytest.mark.parametrize("version", [13, 18, 21])
def test_models_in_functions_are_converted_or_inlined(version: int) -> None:
    """Beside onnx.checker and onnxruntime, with onnx's own examples of operators."""
    done = {"converted": 0, "inlined": 0}
    for case in some_cases()[:: 1 if EXHAUSTIVE else 4]:
        if case.model.graph.initializer or case.model.functions:
            continue
        message, inputs = in_a_function(case.model), case.data_sets[0][0]
        before = result(values_of, message, inputs)
        if isinstance(before, str) or isinstance(result(full_check, message), str):
            continue
        model = onnxmap.loads(message.SerializeToString())
        refused = result(model.convert_version, version)
        if refused is not None:
            assert not model.edited
            if "call inline_functions() before" not in refused:
                continue
            model.inline_functions()
            if isinstance(result(model.convert_version, version), str):
                continue  # of the node itself
        done["converted" if model.functions else "inlined"] += 1
        made = message_of(model)
        full_check(made)
        assert model.check().ok, case.name
        if made.graph.input != message.graph.input:
            assert case.name == "test_scan_sum"  # the batch of Scan 8 goes, also from the inputs
            continue
        found, wanted = arrays_in(values_of(made, inputs)), arrays_in(before)
        for one, other in zip(found, wanted, strict=True):
            if one.dtype.kind == "f":  # onnxruntime may run another kernel
                np.testing.assert_allclose(one, other, 1e-5, 1e-6, err_msg=case.name)
            else:
                np.testing.assert_array_equal(one, other, err_msg=case.name)
    assert sum(done.values()) > 10, done
    assert done["inlined"], done


def arrays_in(values: Any) -> list[Any]:
    """The arrays in outputs, some of which are sequences or optional."""
    if isinstance(values, list):
        return [array for value in values for array in arrays_in(value)]
    return [np.asarray(values)]


def full_check(message: ModelProto) -> None:
    onnx.checker.check_model(message, full_check=True)


@pytest.mark.parametrize("inside", [False, True])
def test_a_result_that_the_checker_refuses_is_refused(inside: bool) -> None:
    """onnx's converter leaves attributes that the older operator does not have."""
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2], dilations=[2])
    x = helper.make_tensor_value_info("x", 1, [1, 1, 6])
    y = helper.make_tensor_value_info("y", 1, [1, 1, 4])
    message = helper.make_model(
        helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 22)]
    )
    model = onnxmap.loads((in_a_function(message) if inside else message).SerializeToString())
    if inside:
        model.inline_functions()
    before = onnxmap.dumps(model)
    with pytest.raises(ValueError, match=r"that onnx\.checker refuses: .*attribute: dilations"):
        model.convert_version(18)
    assert onnxmap.dumps(model) == before
    del model.graph.nodes[0].attributes["kernel_shape"]
    model.convert_version(18)  # as onnx does: the checker refused the model before, too
    assert model.opset_imports[""] == 18


def test_a_function_of_another_version_is_not_converted() -> None:
    """Inlining refuses it as well, so the error names another remedy."""
    body = [helper.make_node("Squeeze", ["x"], ["y"], axes=[0])]
    values = [
        helper.make_tensor_value_info("x", 1, [1, 2]),
        helper.make_tensor_value_info("y", 1, [2]),
    ]
    graph = helper.make_graph(body, "g", values[:1], values[1:])
    message = in_a_function(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)]))
    message.opset_import[0].version = 13
    model = onnxmap.loads(message.SerializeToString())
    assert [each.rule for each in model.check() if each.severity == "error"] == [
        "function.opset_version"
    ]
    with pytest.raises(
        ValueError, match=r"functions\[0\]\.node\[0\] would be another Squeeze"
    ) as got:
        model.convert_version(21)
    assert "change it yourself" in str(got.value)
    assert not model.edited


def test_sparse_initializers_are_kept() -> None:
    values, places = (
        helper.make_tensor("w", 1, [2], [1.0, 2.0]),
        helper.make_tensor("", 7, [2], [0, 3]),
    )
    sparse = onnx.SparseTensorProto(values=values, indices=places, dims=[4])
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("Squeeze", ["a"], ["y"], axes=[0]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 4])],
        [helper.make_tensor_value_info("y", 1, [4])], sparse_initializer=[sparse],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 12)]
    message = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    model = onnxmap.loads(message.SerializeToString())
    model.convert_version(18)
    made = message_of(model)
    assert made.graph.sparse_initializer == message.graph.sparse_initializer
    assert made.graph.input == message.graph.input
    assert "axes" not in model.graph.nodes[-1].attributes
    onnx.checker.check_model(made)
    x = [np.float32([[1, 2, 3, 4]])]
    assert values_of(made, x)[0].tolist() == values_of(message, x)[0].tolist() == [2, 2, 3, 6]


@pytest.mark.parametrize("count", [4, 1000])
def test_sparse_initializers_of_subgraphs_are_kept(count: int) -> None:
    """The converter forgets them, and onnx.checker refuses what it makes; the model has them."""
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("s", 1, [count], np.ones(count)),
        helper.make_tensor("places", 7, [count], range(count)),
        [2 * count],
    )
    outputs = [helper.make_tensor_value_info("z", 1, [2 * count])]
    body = helper.make_graph(
        [helper.make_node("Add", ["x", "s"], ["z"])], "body", [], outputs,
        sparse_initializer=[sparse],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Own", ["x"], ["y"], domain="own", body=body)], "g",
        [helper.make_tensor_value_info("x", 1, [2 * count])],
        [helper.make_tensor_value_info("y", 1, [2 * count])],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)]
    message = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    model = onnxmap.loads(message.SerializeToString(), limits=onnxmap.Limits(tensors=2))
    model.convert_version(17)
    made = message_of(model)
    assert made.graph == message.graph
    assert made.opset_import[0].version == 17
    onnx.checker.check_model(made, full_check=True)


def test_limits_are_those_of_loading() -> None:
    nodes = [helper.make_node("Squeeze", ["x"], ["y"], axes=[0])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 4])],
        [helper.make_tensor_value_info("y", 1, [4])],
    )  # fmt: skip
    message = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    model = onnxmap.loads(message.SerializeToString(), limits=onnxmap.Limits(tensors=0))
    model.convert_version(17)  # which makes a tensor of axes
    assert [node.op_type for node in model.graph.nodes] == ["Constant", "Squeeze"]
