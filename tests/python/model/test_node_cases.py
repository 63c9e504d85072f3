"""All node test cases of onnx: their models, and their inputs and outputs in the official files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, TypeProto, numpy_helper
from support.models.node_cases import all_cases
from support.oracles.canonical import assert_equal_everywhere, message_class
from support.oracles.tensors import (
    assert_same_value,
    compare_tensor,
    official_value,
    tensors_of,
    value_message,
)
from support.run_options import EXHAUSTIVE, SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="well-formed models; wire/ has hostile ones")

# Between the cases that are compared field by field. Each test of some takes other ones.
STEP = 1 if EXHAUSTIVE else 3

WRITERS = {
    "SequenceProto": numpy_helper.from_list,
    "MapProto": numpy_helper.from_dict,
    "OptionalProto": numpy_helper.from_optional,
    "TensorProto": lambda value: numpy_helper.from_array(np.asarray(value)),
}


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    return all_cases()


def stored(value: Any, kind: TypeProto) -> tuple[str, bytes]:
    """Return a test value as onnx's own generator writes it: the message's name and its bytes."""
    if isinstance(value, TensorProto):
        return "TensorProto", value.SerializeToString()
    name, _ = value_message(kind)
    return name, WRITERS[name](value).SerializeToString()


def values_of(case: Any) -> list[tuple[str, str, bytes]]:
    """Every stored value of all data sets of a case: its path, message name and bytes."""
    graph = case.model.graph
    found = []
    for number, (inputs, outputs) in enumerate(case.data_sets):
        for stem, infos, values in (
            ("input", graph.input, inputs),
            ("output", graph.output, outputs),
        ):
            for index, (info, value) in enumerate(zip(infos, values, strict=True)):
                name = f"test_data_set_{number}/{stem}_{index}.pb"
                found.append((name, *stored(value, info.type)))
    return found


def test_collected(cases: list[Any]) -> None:
    assert len(cases) >= 1800
    assert {case.kind for case in cases} == {"node"}
    domains = {each.domain for case in cases for each in case.model.opset_import}
    assert "ai.onnx.ml" in domains


def test_models_field_by_field(cases: list[Any]) -> None:
    for case in cases[::STEP]:
        data = case.model.SerializeToString()
        model = onnxmap.loads(data)
        assert_equal_everywhere(model.proto, case.model, "ModelProto")
        assert str(model.proto) == str(case.model), case.name


def test_models_tensor_by_tensor(cases: list[Any]) -> None:
    seen: Counter[str] = Counter()
    for case in cases:
        theirs = dict(tensors_of(case.model))
        ours = list(onnxmap.loads(case.model.SerializeToString()).tensors())
        assert sorted(where for where, _ in ours) == sorted(theirs), case.name
        seen.update(compare_tensor(tensor, theirs[where]) for where, tensor in ours)
    assert seen["view"] >= 5
    assert seen["decoded"] > 1000
    assert seen.total() >= 1800


def test_values_field_by_field(cases: list[Any]) -> None:
    names: Counter[str] = Counter()
    for case in cases[1 % STEP :: STEP]:
        for _, name, data in values_of(case):
            view = onnxmap.loads_proto(data, name)
            message = message_class(name).FromString(data)
            assert_equal_everywhere(view, message, name)
            assert str(view) == str(message), case.name
            names[name] += 1
    assert set(names) == {"TensorProto", "SequenceProto", "OptionalProto"}
    assert names["TensorProto"] > 6000 // STEP


def test_tensors_bit_by_bit(cases: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "value.pb"
    types: Counter[str] = Counter()
    for case in cases:
        for _, name, data in values_of(case):
            if name == "TensorProto":
                message = TensorProto.FromString(data)
                path.unlink(missing_ok=True)  # the mapped file must keep its bytes
                path.write_bytes(data)
                how = compare_tensor(onnxmap.load_tensor(path), message)
                types[f"{TensorProto.DataType.Name(message.data_type)} {how}"] += 1
    views = {key.removesuffix(" view") for key in types if key.endswith(" view")}
    assert {"FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "BOOL", "INT64", "UINT64"} <= views
    decoded = {key.removesuffix(" decoded") for key in types if key.endswith(" decoded")}
    assert {"STRING", "INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1"} <= decoded
    assert types.total() > 6000


def write_case(case: Any, folder: Path) -> list[tuple[str, str, bytes]]:
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    files = values_of(case)
    for name, _, data in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return files


def test_data_sets_from_folders(cases: list[Any], tmp_path: Path) -> None:
    """`load_test_data` on every folder. The model beside it tells sequences from optionals."""
    seen: Counter[str] = Counter()
    some = cases[2 % STEP :: STEP]
    for number, case in enumerate(some):
        files = write_case(case, tmp_path / str(number))
        for data_set in range(len(case.data_sets)):
            folder = tmp_path / str(number) / f"test_data_set_{data_set}"
            inputs, outputs = onnxmap.load_test_data(folder)
            own = [(kind, data) for name, kind, data in files if name.startswith(folder.name)]
            for ours, (kind, data) in zip([*inputs, *outputs], own, strict=True):
                assert_same_value(ours, official_value(message_class(kind).FromString(data)))
            kinds = {kind for kind, _ in own}
            seen["with lists or optionals" if kinds - {"TensorProto"} else "tensors"] += 1
    assert seen.total() == sum(len(case.data_sets) for case in some)
    assert seen["tensors"] > 1500 // STEP
    assert seen["with lists or optionals"] > 10 // STEP


def test_data_set_with_the_model_given(cases: list[Any], tmp_path: Path) -> None:
    case = next(c for c in cases if c.name == "test_sequence_insert_at_back")
    write_case(case, tmp_path)
    model = onnxmap.load(tmp_path / "model.onnx")
    folder = (tmp_path / "test_data_set_0").rename(tmp_path / "elsewhere")
    inputs, outputs = onnxmap.load_test_data(folder, model=model)
    assert isinstance(inputs[0], list)
    assert isinstance(inputs[1], np.ndarray)
    assert [len(inputs), len(outputs)] == [2, 1]
    for ours, theirs in zip(inputs[0], case.data_sets[0][0][0], strict=True):
        assert ours.tobytes() == theirs.tobytes()
