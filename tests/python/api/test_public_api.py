"""The public surface: names that users rely on, stubs, the py.typed marker, the version."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import inspect
import pickle
import pkgutil
import pydoc
import re

import pytest

import onnxmap

NAMES = {
    "load", "loads", "load_tensor", "load_value", "load_test_data", "load_operator_set",
    "load_proto",
    "loads_proto", "Limits", "DataType", "Model", "Graph", "Node", "Attribute", "ValueInfo",
    "Function",
    "TrainingInfo", "OperatorSet", "Operator", "DeviceConfiguration", "Tensor", "SparseTensor",
    "ProtoView", "OnnxMapError", "ParseError", "LimitError", "TensorError", "ExternalDataError",
    "UnsafePathError", "ChecksumError", "FileChangedError", "SaveError", "CheckError",
}  # fmt: skip


def test_all_lists_the_names_that_users_rely_on() -> None:
    assert set(onnxmap.__all__) >= NAMES
    assert len(set(onnxmap.__all__)) == len(onnxmap.__all__)
    for name in onnxmap.__all__:
        assert hasattr(onnxmap, name), name


def test_help_begins_with_the_usual_calls() -> None:
    text = pydoc.plain(pydoc.render_doc(onnxmap))
    begin = text[: text.index("PACKAGE CONTENTS")]
    for name in ("load(", "load_arrays(", "save(", "check()", "diff(", "copy_model(", "make_node"):
        assert name in begin
    assert "docs/guide" in begin
    for name in re.findall(r"\b(?:load|save|make|copy|move|from)_\w+", begin):
        assert name in onnxmap.__all__


def test_dir_shows_the_public_names() -> None:
    assert set(dir(onnxmap)) >= set(onnxmap.__all__)


def test_nothing_public_is_left_out_of_all() -> None:
    public = {
        name
        for name, value in vars(onnxmap).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert public <= set(onnxmap.__all__)


def test_everything_public_has_a_docstring_and_belongs_to_onnxmap() -> None:
    for name in onnxmap.__all__:
        value = getattr(onnxmap, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), name
            assert value.__module__.partition(".")[0] == "onnxmap", name


MAKERS = [name for name in onnxmap.__all__ if name.startswith("make_")]


@pytest.mark.parametrize("name", [*MAKERS, "dumps", "save", "save_all"])
def test_a_docstring_describes_all_parameters_and_errors(name: str) -> None:
    function = getattr(onnxmap, name)
    described, _, errors = inspect.getdoc(function).partition("Args:")[2].partition("Raises:")
    for parameter in inspect.signature(function).parameters:
        assert f"\n    {parameter}: " in described
    assert errors.strip()


def test_help_names_the_parameters_of_new() -> None:
    assert onnxmap.new.__doc__.startswith("new(message_type: str, /, **kwargs)")
    with pytest.raises(TypeError):
        onnxmap.new(message_type="NodeProto")


PUBLIC_MODULES = {"cli", "errors", "interop", "report", "types"}


def test_other_modules_look_private() -> None:
    names = {module.name for module in pkgutil.iter_modules(onnxmap.__path__)}
    assert {name for name in names if not name.startswith("_")} == PUBLIC_MODULES


def test_public_names_name_no_private_module() -> None:
    """A pickle contains the name of a module. The name of a private module may change."""
    for name in onnxmap.__all__:
        value = getattr(onnxmap, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            allowed = {"onnxmap", "onnxmap._core", *(f"onnxmap.{name}" for name in PUBLIC_MODULES)}
            assert value.__module__ in allowed, name
    limits = pickle.dumps(onnxmap.Limits(depth=7))
    assert b"_limits" not in limits
    assert pickle.loads(limits) == onnxmap.Limits(depth=7)


def test_members_have_docstrings() -> None:
    for name in ("Model", "Graph", "Node", "Tensor", "Attribute", "ValueInfo"):
        cls = getattr(onnxmap, name)
        for member in dir(cls):
            if not member.startswith("_"):
                assert inspect.getdoc(getattr(cls, member)), f"{name}.{member}"


def test_the_package_is_typed() -> None:
    files = importlib.resources.files(onnxmap)
    assert (files / "py.typed").is_file()
    assert "class Tensor" in (files / "_core.pyi").read_text()


def test_the_version_is_the_distribution_s() -> None:
    assert onnxmap.__version__ == importlib.metadata.version("onnxmap")


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        onnxmap.no_such_name  # noqa: B018


def test_load_has_the_documented_arguments() -> None:
    wanted = {"external_root", "io", "check", "limits"}
    for function in (onnxmap.load, onnxmap.loads):
        parameters = inspect.signature(function).parameters
        assert set(parameters) >= wanted
        assert parameters["check"].default == "full"
        assert parameters["limits"].default is None
    assert inspect.signature(onnxmap.load).parameters["io"].default == "auto"


@pytest.mark.parametrize("member", list(onnxmap.DataType), ids=lambda member: member.name)
def test_data_types_know_their_width_and_numpy_type(member: onnxmap.DataType) -> None:
    from onnx import TensorProto, helper

    assert member == TensorProto.DataType.Value(member.name)
    if member.name == "UNDEFINED":
        with pytest.raises(TypeError):
            member.numpy()
        return
    if member.name == "STRING":
        assert member.bits == 0
        assert member.numpy() == object
        return
    numpy_type = member.numpy()
    assert numpy_type == helper.tensor_dtype_to_np_dtype(int(member))
    assert numpy_type.itemsize == max(member.bits, 8) // 8
    widths = {
        "INT4": 4,
        "UINT4": 4,
        "FLOAT4E2M1": 4,
        "INT2": 2,
        "UINT2": 2,
        "FLOAT6E2M3": 6,
        "FLOAT6E3M2": 6,
    }
    assert member.bits == widths.get(member.name, 8 * numpy_type.itemsize)


def test_the_command_is_a_module_too() -> None:
    assert callable(importlib.import_module("onnxmap.cli").main)
