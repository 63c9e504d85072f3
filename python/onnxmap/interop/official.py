"""What the package `onnx` does with a model, done with its structure alone and applied as edits."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxmap._base.extras import extra
from onnxmap._base.options import Options, options_of
from onnxmap._core import load_buffer
from onnxmap.errors import OnnxMapError
from onnxmap.interop.without_weights import Tokens, is_large, put_inline, refer, structure_of

with extra("onnx"):  # which installs protobuf, too
    import onnx
    import onnx.checker
    import onnx.defs
    import onnx.shape_inference
    import onnx.version_converter

    from onnxmap.interop.apply_changes import apply_differences
    from onnxmap.interop.protobuf import message_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxmap import _core
    from onnxmap._base.new_message import Message

    _Change = Callable[[Any], Any]

_DATA = "values"
_OWN = ("", "ai.onnx")  # spellings of the domain of ONNX's own operators
_FAULTS = (  # some attributes give errors that onnx does not document
    onnx.checker.ValidationError, onnx.shape_inference.InferenceError,
    onnx.version_converter.ConvertError, RuntimeError, ValueError,
)  # fmt: skip


def infer_shapes(document: _core.Document, *mode: bool) -> None:
    """See `Model.infer_shapes`. `mode`: its arguments."""
    edit = _edits_of(
        document, (lambda model: onnx.shape_inference.infer_shapes(model, *mode), None)
    )
    edit(document)


def with_types(document: _core.Document) -> _core.Document:
    """Return a copy of a model, without its weights, that has the types that onnx infers."""
    copy = _copy_of(document)
    with suppress(*_FAULTS):
        infer_shapes(copy, False, False, True)
    return copy


def _copy_of(document: _core.Document) -> _core.Document:
    options = Options(limits=options_of(document.proto).limits)
    copy = load_buffer(b"", "ModelProto", options, document.external_root)
    copy.proto.CopyFrom(document.proto)
    return copy


def convert_version(document: _core.Document, target_version: int) -> None:
    """See `Model.convert_version`."""

    def converted(model: onnx.ModelProto) -> onnx.ModelProto:
        return _at_version(model, target_version)

    def forgotten(model: onnx.ModelProto) -> onnx.ModelProto:
        # The converter makes the message anew, and forgets parts of it, also if nothing changes.
        return _at_version(model, _version_of(model) or 1)

    def inferred(model: onnx.ModelProto) -> onnx.ModelProto:
        # The converter does this first, too, but does not tell all that it infers.
        made = onnx.shape_inference.infer_shapes(model)
        told = {one.name for each in (model, forgotten(model)) for one in each.graph.value_info}
        values = [one for one in made.graph.value_info if one.name in told]
        made.graph.ClearField("value_info")
        made.graph.value_info.extend(values)
        return made

    _check_functions(document, target_version)
    edit = _edits_of(document, (inferred, None), (converted, forgotten))

    def convert(target: _core.Document) -> None:
        edit(target)
        for function in target.proto.functions:
            for each in function.opset_import:
                if each.domain in _OWN:
                    each.version = target_version

    # The converter may leave attributes that the other version does not have.
    copy = _copy_of(document)
    convert(copy)
    if (fault := _fault_in(copy)) and not _fault_in(document):
        raise ValueError(f"onnx converts it to a model that onnx.checker refuses: {fault}")
    convert(document)


def _version_of(importer: Any) -> int:
    """The version of ONNX's own operators that a model or function imports; 0 if none."""
    return max((each.version for each in importer.opset_import if each.domain in _OWN), default=0)


def _at_version(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """What the converter makes of a model. It knows sparse initializers only as inputs."""
    given, known = onnx.ModelProto(), {value.name for value in model.graph.input}
    given.CopyFrom(model)
    del given.graph.sparse_initializer[:]
    for values in (each.values for each in model.graph.sparse_initializer):
        if values.name not in known:
            given.graph.input.add(name=values.name).type.tensor_type.elem_type = values.data_type
    made = onnx.version_converter.convert_version(given, version)
    for i in reversed(range(len(made.graph.input))):
        if made.graph.input[i].name not in known:
            del made.graph.input[i]
    return made


def _check_functions(document: _core.Document, version: int) -> None:
    """Refuse functions with nodes that are others in that version: the converter skips them."""
    functions = {f"functions[{i}]": each for i, each in enumerate(document.proto.functions)}
    for where, node in document.nodes():
        function = functions.get(where.partition(".")[0])
        if function is None or node.domain not in _OWN:
            continue
        old = _version_of(function)
        if _since(node.op_type, old) != _since(node.op_type, version):
            can_be_inlined = old == _version_of(document.proto)
            remedy = "call inline_functions() before" if can_be_inlined else "change it yourself"
            raise ValueError(
                f"onnx does not convert functions, and {where} would be another {node.op_type} "
                f"than that of version {old}: {remedy}"
            )


def _since(op_type: str, version: int) -> int:
    """The version from which on an operator set has an operator; 0 if it has none."""
    try:
        return onnx.defs.get_schema(op_type, version).since_version
    except onnx.defs.SchemaError:
        return 0


def _fault_in(document: _core.Document) -> str | None:
    copy = _copy_of(document)
    # Below IR version 4, all initializers are inputs, but for those that the converter makes.
    copy.proto.ir_version = max(copy.proto.ir_version, 4)
    try:
        return official_fault(copy)
    except OnnxMapError as error:  # the values of a sparse tensor cannot be read
        return str(error)


def official_fault(document: _core.Document) -> str | None:
    """Return what `onnx.checker` or its inference says is wrong; None if nothing is.

    They get the model without the values of large tensors.
    """

    def take(message: Message, tensor: _core.Tensor, is_inline: bool, where: str) -> None:
        if where.endswith((".indices", ".values")):  # of a sparse tensor
            if tensor.is_external:
                put_inline(message, tensor)  # the checker reads them
        elif tensor.is_external or (is_large(tensor) and not is_inline):
            refer(message, _DATA, 0, None)

    # The checker wants a file for an external entry, and does not look into it.
    with tempfile.TemporaryDirectory(prefix="onnxmap-check-") as folder:
        Path(folder, _DATA).touch()
        path = Path(folder, "model.onnx")
        path.write_bytes(structure_of(document, take))
        try:
            onnx.checker.check_model(path, full_check=True)
        except _FAULTS as failure:
            return " ".join(str(failure).replace(f"{folder}/", "").split())  # one line
    return None


def _edits_of(
    document: _core.Document, *changes: tuple[_Change, _Change | None]
) -> Callable[[_core.Document], None]:
    """Return a function that applies changes to the document, or to a copy of it.

    Each change comes with what the package does to the structure if it changes nothing.
    """
    tokens = Tokens()
    given = onnx.ModelProto.FromString(structure_of(document, tokens.take))
    edits = []
    for change, change_nothing in changes:
        before = change_nothing(given) if change_nothing else given
        after = change(given)
        edits.append((_plain(given), _plain(before), _plain(after)))
        given = after

    def apply(target: _core.Document) -> None:
        for messages in edits:
            apply_differences(target.proto, *messages, tokens.complete)

    return apply


def _plain(message: onnx.ModelProto) -> Any:
    """The message with bytes as its texts, which need not be UTF-8, and without unknown fields."""
    plain = message_class("ModelProto", texts_as_bytes=True).FromString(message.SerializeToString())
    plain.DiscardUnknownFields()
    return plain
