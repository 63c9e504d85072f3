"""The error classes: the facts that each has, and that each can be pickled between processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper
from support import wire_bytes as wire
from support.models.sample import external, model_of, write

import onnxmap
import onnxmap.errors

BASES: dict[str, tuple[type[BaseException], ...]] = {
    "ParseError": (ValueError,),
    "LimitError": (ValueError,),
    "TensorError": (ValueError,),
    "ExternalDataError": (ValueError,),
    "UnsafePathError": (onnxmap.ExternalDataError, ValueError),
    "ChecksumError": (onnxmap.ExternalDataError, ValueError),
    "FileChangedError": (OSError,),
    "SaveError": (ValueError,),
    "CheckError": (ValueError,),
}


@pytest.mark.parametrize("name", BASES)
def test_hierarchy(name: str) -> None:
    cls = getattr(onnxmap, name)
    assert cls is getattr(onnxmap.errors, name)
    assert issubclass(cls, onnxmap.OnnxMapError)
    for base in BASES[name]:
        assert issubclass(cls, base)
    assert cls.__module__ in ("onnxmap", "onnxmap.errors")
    assert cls.__doc__


def test_only_a_changed_file_is_an_operating_system_error() -> None:
    plain = [name for name in BASES if not issubclass(getattr(onnxmap, name), OSError)]
    assert plain == [name for name in BASES if name != "FileChangedError"]
    assert issubclass(onnxmap.OnnxMapError, Exception)


def broken(tmp_path: Path) -> dict[str, Callable[[], object]]:
    """One real failure of each kind."""
    tensors = [
        TensorProto(name="short", dims=[2], data_type=1, raw_data=b"1234"),
        external("missing", [1], {"location": "none.bin"}),
        external("unsafe", [1], {"location": "../x.bin"}),
        external("bounds", [9], {"location": "w.bin"}),
    ]
    tensors.append(external("linked", [1], {"location": "hard.bin"}))
    (tmp_path / "w.bin").write_bytes(b"12345678")
    (tmp_path / "hard.bin").write_bytes(b"1234")
    (tmp_path / "other").hardlink_to(tmp_path / "hard.bin")
    model = onnxmap.load(write(model_of(tensors), tmp_path / "model.onnx"))
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x01\xff")
    table = model.initializers
    return {
        "ParseError": lambda: onnxmap.load(tmp_path / "bad.onnx"),
        "LimitError": lambda: onnxmap.loads(
            wire.blob(7, b"\x2a\0\x2a\0"), limits=onnxmap.Limits(tensors=1)
        ),
        "TensorError": lambda: table["short"].numpy(),
        "missing file": lambda: table["missing"].numpy(),
        "UnsafePathError": lambda: table["unsafe"].numpy(),
        "ExternalDataError": lambda: table["bounds"].numpy(),
        "a remedy": lambda: table["linked"].numpy(),
    }


KINDS = [
    "ParseError",
    "LimitError",
    "TensorError",
    "missing file",
    "UnsafePathError",
    "ExternalDataError",
    "a remedy",
]
FIELDS = (
    "code",
    "remedy",
    "message",
    "offset",
    "path",
    "tensor",
    "location",
    "errno",
    "filename",
    "args",
)


def fields(error: BaseException) -> dict[str, object]:
    return {name: getattr(error, name, None) for name in FIELDS}


@pytest.mark.parametrize("kind", KINDS)
def test_real_errors_have_their_class_and_code(kind: str, tmp_path: Path) -> None:
    with pytest.raises(onnxmap.OnnxMapError) as caught:
        broken(tmp_path)[kind]()
    error = caught.value
    prefixes = {"ParseError": "wire.", "LimitError": "limit.", "TensorError": "tensor."}
    assert error.code.startswith(prefixes.get(kind, "ext."))
    if kind in BASES:
        assert type(error) is getattr(onnxmap, kind)
    assert str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_error_keeps_all_fields(kind: str, protocol: int, tmp_path: Path) -> None:
    with pytest.raises(onnxmap.OnnxMapError) as caught:
        broken(tmp_path)[kind]()
    error = caught.value
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert fields(again) == fields(error)
    for other in (copy.copy(error), copy.deepcopy(error)):
        assert (type(other), str(other), fields(other)) == (type(error), str(error), fields(error))


def test_parse_error_points_at_the_byte_and_the_field(tmp_path: Path) -> None:
    inner = wire.blob(1, wire.blob(8, b"a")) + wire.blob(5, b"") * 3
    bad = wire.blob(5, wire.scalar(2, 1) + wire.tag(1, wire.LENGTH) + b"\x05\x01")
    path = tmp_path / "model.onnx"
    path.write_bytes(wire.scalar(1, 8) + wire.blob(7, inner + bad))
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load(path)
    error = caught.value
    assert (error.code, error.path) == ("wire.length_overrun", "graph.initializer[3].dims")
    assert error.offset == path.stat().st_size - 3
    for part in (str(path), str(error.offset), "graph.initializer[3].dims"):
        assert part in str(error)


def test_an_error_has_its_remedy(tmp_path: Path) -> None:
    """What the message says for people, a program can pass."""
    with pytest.raises(onnxmap.UnsafePathError) as caught:
        broken(tmp_path)["a remedy"]()
    error = caught.value
    assert error.remedy == onnxmap.errors.Remedy("{} reads it", (("allow_hardlinks", True),))
    assert str(error) == f"{error.message}; allow_hardlinks=True reads it"
    options: dict[str, Any] = dict(error.remedy.arguments)
    model = onnxmap.load(tmp_path / "model.onnx", **options)
    assert model.initializers["linked"].tobytes() == b"1234"
    assert onnxmap.SaveError("no", code="save.any").remedy is None


def test_every_remedy_is_text(tmp_path: Path) -> None:
    assert {name: str(remedy) for name, remedy in onnxmap.errors.REMEDIES.items()} == {
        "contained": 'link_policy="contained" follows links that stay in the folder',
        "format": 'use another one, or pass format="protobuf"',
        "hard_links": "allow_hardlinks=True reads it",
        "attributes": "attributes=True takes them as they are",
        "loss": "allow_loss=True writes them as infinity, the largest number or 0",
        "over_2gib": 'put the weights into a data file with external_data="weights.data", or pass '
        "allow_over_2gib=True",
        "root": "name it with external_root=...",
        "trusted": 'link_policy="trusted" follows it',
        "weights": 'model.extract_weights("w.safetensors") writes one',
        "view": 'load that file, and save the view again with external_data="view"',
    }


def test_each_kind_can_be_caught_as_a_built_in_error(tmp_path: Path) -> None:
    for kind, fail in broken(tmp_path).items():
        with pytest.raises(FileNotFoundError if kind == "missing file" else ValueError):
            fail()


def test_a_warning_names_the_line_of_the_caller() -> None:
    made = model_of([])
    for value in ("1", "2"):
        made.metadata_props.add(key="a", value=value)
        made.graph.node.add(op_type="Op").attribute.extend(
            [helper.make_attribute("k", 1), helper.make_attribute("k", 2)]
        )
    model = onnxmap.loads(made.SerializeToString())
    reads: list[Callable[[], object]] = [
        lambda: dict(model.metadata_props),
        lambda: list(model.graph.nodes[0].attributes),
    ]
    for read in reads:
        with pytest.warns(onnxmap.RepeatedKeyWarning) as caught:
            read()
        (warning,) = caught
        assert warning.filename == __file__
        assert warning.lineno == read.__code__.co_firstlineno
