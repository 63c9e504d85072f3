"""A plugin of pytest that makes functions of onnx from the verbs of surgery.

onnx's own tests of these functions then test the verbs. What their arguments ask for beyond a verb
is an ordinary edit, as a user would write it. The run fails if the tests never call one of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx.checker
import onnx.compose
import onnx.inliner
import onnx.tools.update_model_dims
import onnx.utils
import pytest
from onnx import GraphProto, ModelProto, helper

import onnxmap


def _opened(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def _message(model: onnxmap.Model) -> ModelProto:
    return ModelProto.FromString(model.proto.SerializeToString())


def _merge_models(
    m1: ModelProto,
    m2: ModelProto,
    io_map: Sequence[tuple[str, str]],
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    prefix1: str | None = None,
    prefix2: str | None = None,
) -> ModelProto:
    if m1.ir_version != m2.ir_version:  # of two, the verb takes the larger one
        raise ValueError("two IR versions")
    before = prefix1 or ""
    a = _opened(onnx.compose.add_prefix(m1, before) if before else m1)
    if prefix2 and m2.functions:  # the verb leaves the names of functions
        m2, io_map, prefix2 = (
            onnx.compose.add_prefix(m2, prefix2),
            [(output, prefix2 + value) for output, value in io_map],
            None,
        )
    b = _opened(m2)
    connect: dict[str, str] = {}
    for output, value in io_map:
        # The verb connects an output to one input, which takes the place of the others.
        first = connect.setdefault(before + output, value)
        if first != value:
            b.graph.replace_uses(value, first)
            del b.graph.inputs[value]
    try:
        both = onnxmap.merge(a, b, connect, prefix2)
    except onnxmap.UnknownNameError as error:
        raise ValueError(str(error)) from error
    if inputs is not None or outputs is not None:
        kept_inputs = inputs or [value.name for value in both.graph.inputs]
        kept_outputs = outputs or [value.name for value in both.graph.outputs]
        both = both.extract(kept_inputs, kept_outputs)
    return _message(both)


def _merge_graphs(g1: GraphProto, g2: GraphProto, *args: object, **kwargs: object) -> GraphProto:
    imports = [helper.make_opsetid("", 10)]
    models = (helper.make_model(graph, opset_imports=imports) for graph in (g1, g2))
    return _merge_models(*models, *args, **kwargs).graph


def _extract_model(
    input_path: str, output_path: str, input_names: list[str], output_names: list[str]
) -> None:
    model = onnxmap.load(input_path)
    model.infer_shapes()
    part = model.extract(input_names, output_names)
    part.producer_name = "onnx.utils.extract_model"  # which its test asks for
    part.save(output_path)


def _update_inputs_outputs_dims(
    model: ModelProto,
    input_dims: Mapping[str, Sequence[int | str]],
    output_dims: Mapping[str, Sequence[int | str]],
) -> ModelProto:
    def shapes(dims: Mapping[str, Sequence[int | str]]) -> dict[str, list[int | str]]:
        return {
            name: [f"{name}_{axis}" if dim == -1 else dim for axis, dim in enumerate(shape)]
            for name, shape in dims.items()
        }

    opened = _opened(model)
    opened.set_dims(inputs=shapes(input_dims))
    for name, shape in shapes(output_dims).items():
        opened.graph.outputs[name].shape = shape
    return _message(opened)


def _inline_selected_functions(
    model: ModelProto,
    function_ids: Sequence[tuple[str, str]],
    exclude: bool = False,
    inline_schema_functions: bool = False,
) -> ModelProto:
    if inline_schema_functions:
        return _INLINE_OF_ONNX(model, function_ids, exclude, inline_schema_functions)
    opened = _opened(model)
    chosen = [
        f"{function.domain}::{function.name}"
        for function in model.functions
        if ((function.domain, function.name) in function_ids) != exclude
    ]
    try:
        opened.inline_functions(chosen)
    except onnxmap.ParseError as error:
        raise onnx.checker.ValidationError(str(error)) from error
    return _message(opened)


def _inline_local_functions(model: ModelProto, convert_version: bool = False) -> ModelProto:
    if convert_version:
        copy = ModelProto()
        copy.CopyFrom(model)
        model = copy
        (version,) = {each.version for each in model.opset_import if not each.domain}
        for function in model.functions:
            for each in function.opset_import:
                if not each.domain:
                    each.version = version
    return _inline_selected_functions(model, [], exclude=True)


# Functions that stand in the schemas of operators, not in the model, are onnx's own business.
_INLINE_OF_ONNX = onnx.inliner.inline_selected_functions
_NEVER_CALLED: set[Callable[..., Any]] = {
    _merge_models, _merge_graphs, _extract_model, _update_inputs_outputs_dims,
    _inline_local_functions, _inline_selected_functions,
}  # fmt: skip


def _noted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _NEVER_CALLED.discard(function)
        return function(*args, **kwargs)

    return call


def pytest_sessionfinish(exitstatus: int) -> None:
    if exitstatus == 0 and _NEVER_CALLED:
        names = sorted(function.__name__ for function in _NEVER_CALLED)
        pytest.exit(f"onnx's tests never called {', '.join(names)}", returncode=1)


onnx.compose.merge_models = _noted(_merge_models)
onnx.compose.merge_graphs = _noted(_merge_graphs)
onnx.utils.extract_model = _noted(_extract_model)
onnx.tools.update_model_dims.update_inputs_outputs_dims = _noted(_update_inputs_outputs_dims)
onnx.inliner.inline_local_functions = _noted(_inline_local_functions)
onnx.inliner.inline_selected_functions = _noted(_inline_selected_functions)
