"""The mappings of messages: attributes, metadata and versions by name."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections import OrderedDict
from typing import Any

import onnx
import pytest
from onnx import helper
from support.edits.rich_model import rich, saved

import onnxmap


def repeated() -> onnxmap.Model:
    """A model whose mappings have keys that occur twice."""
    node = helper.make_node("Op", [], [], a=1, b=2)
    node.attribute.append(helper.make_attribute("a", 3))
    model = helper.make_model(helper.make_graph([node], "g", [], []), opset_imports=[])
    for domain, version in (("", 5), ("d", 1), ("", 7), ("", 6)):
        model.opset_import.add(domain=domain, version=version)
    for key, value in (("k", "first"), ("l", "other"), ("k", "last")):
        model.metadata_props.add(key=key, value=value)
    return onnxmap.loads(model.SerializeToString())


def mapping_of(model: onnxmap.Model, kind: str) -> Any:
    if kind == "attributes":
        return model.graph.nodes[0].attributes
    return getattr(model, kind)


def shown(mapping: Any) -> dict[str, Any]:
    return {key: getattr(value, "value", value) for key, value in mapping.items()}


# The keys and values of `repeated`, a new value, and what protobuf holds after it was assigned to
# the repeated key.
KINDS: dict[str, tuple[dict[str, Any], Any, list[tuple[str, Any]]]] = {
    "attributes": ({"a": 3, "b": 2}, 9, [("a", 1), ("b", 2), ("a", 9)]),
    "metadata_props": (
        {"k": "last", "l": "other"}, "new", [("k", "first"), ("l", "other"), ("k", "new")],
    ),
    "opset_imports": ({"": 7, "d": 1}, 9, [("", 9), ("d", 1), ("", 9), ("", 9)]),
}  # fmt: skip


def entries(message: onnx.ModelProto, kind: str) -> list[tuple[str, Any]]:
    if kind == "attributes":
        return [(one.name, one.i) for one in message.graph.node[0].attribute]
    if kind == "opset_imports":
        return [(one.domain, one.version) for one in message.opset_import]
    return [(one.key, one.value) for one in message.metadata_props]


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_repeated_keys(kind: str) -> None:
    """The value that counts is the one that changes. A deletion removes all of them."""
    expected, new, stored = KINDS[kind]
    model = repeated()
    mapping = mapping_of(model, kind)
    assert shown(mapping) == expected
    key = next(iter(expected))
    mapping[key] = new
    assert shown(mapping) == {**expected, key: new}
    assert entries(saved(model), kind) == stored
    del mapping[key]
    expected = {name: value for name, value in expected.items() if name != key}
    assert shown(mapping) == expected
    assert entries(saved(model), kind) == list(expected.items())
    with pytest.raises(KeyError):
        del mapping[key]


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_methods_of_a_dict(kind: str) -> None:
    before, new, _ = KINDS[kind]
    model, expected = repeated(), dict(before)
    mapping = mapping_of(model, kind)
    for change in (
        lambda found: found.update({"new": new}),
        lambda found: found.setdefault("new", 5),
        lambda found: found.setdefault("newer", new),
        lambda found: found.pop("new") and None,
        lambda found: found.pop("absent", None),
        lambda found: found.__ior__({"newest": new}) and None,
        lambda found: found.clear(),
        lambda found: found.update(z=new, y=new),
    ):
        change(mapping)
        change(expected)
        assert shown(mapping) == expected
        assert list(mapping) == list(expected)
        assert len(mapping) == len(expected)
    saved(model)
    with pytest.raises(KeyError):
        mapping.pop("absent")
    with pytest.raises(KeyError):
        mapping["absent"]


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_assignments_and_operators(kind: str) -> None:
    before, new, _ = KINDS[kind]
    model = repeated()
    owner: Any = model.graph.nodes[0] if kind == "attributes" else model
    assert shown(getattr(owner, kind) | {"n": new}) == {**before, "n": new}
    assert shown({"n": new} | getattr(owner, kind)) == {"n": new, **before}
    assert type(getattr(owner, kind) | {}) is dict
    untouched = onnxmap.dumps(model)
    assert not model.edited
    kept = getattr(owner, kind)
    if kind == "attributes":
        owner.attributes |= {"n": new}
    elif kind == "opset_imports":
        owner.opset_imports |= {"n": new}
    else:
        owner.metadata_props |= {"n": new}
    assert shown(kept) == {**before, "n": new}
    assert entries(saved(model), kind)[-1] == ("n", new)
    model.revert()
    assert shown(kept) == before
    assert onnxmap.dumps(model) == untouched
    setattr(owner, kind, {"only": new})
    assert entries(saved(model), kind) == [("only", new)]
    setattr(owner, kind, getattr(owner, kind))
    assert entries(saved(model), kind) == [("only", new)]
    setattr(owner, kind, {})
    assert entries(saved(model), kind) == []


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_an_equal_dict_replaces_repeated_keys(kind: str) -> None:
    model = repeated()
    owner: Any = model.graph.nodes[0] if kind == "attributes" else model
    stored = entries(saved(model), kind)
    setattr(owner, kind, getattr(owner, kind))
    assert entries(saved(model), kind) == stored
    setattr(owner, kind, dict(getattr(owner, kind)))
    assert entries(saved(model), kind) == list(KINDS[kind][0].items())


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_keys_and_values_change_nothing(kind: str) -> None:
    model = rich()
    mapping = mapping_of(model, kind)
    before = onnxmap.dumps(model)
    for key, value in ((5, "x"), (None, "x"), (b"k", "x"), ("k", object()), ("k", None)):
        with pytest.raises(TypeError):
            mapping[key] = value
    with pytest.raises((TypeError, UnicodeError)):
        mapping["\ud800"] = KINDS[kind][1]
    assert onnxmap.dumps(model) == before


def test_a_mapping_always_shows_the_field() -> None:
    model = rich()
    mapping, versions = model.metadata_props, model.opset_imports
    entry = model.proto.metadata_props[0]
    entry.value = "changed"
    model.proto.opset_import[0].version = 3
    assert mapping == {"license": "changed"}
    assert versions[""] == 3
    entry.key = "other key"
    assert (mapping, "license" in mapping) == ({"other key": "changed"}, False)
    mapping["other key"] = "by the mapping"
    assert entry.value == "by the mapping"
    model.proto.ClearField("metadata_props")
    assert (len(mapping), repr(mapping)) == (0, "{}")
    mapping["k"] = "v"
    assert [(one.key, one.value) for one in saved(model).metadata_props] == [("k", "v")]


def test_attributes_keep_their_handles() -> None:
    model = rich()
    attributes = model.graph.nodes[2].attributes
    mode = attributes["mode"]
    attributes["mode"] = 5
    assert (mode.value, mode.type.name, mode.name) == (5, "INT", "mode")
    attributes["alias"] = mode
    attributes["words"] = []
    assert [one.name for one in saved(model).graph.node[2].attribute][-1] == "alias"
    assert attributes["words"].type.name == "STRINGS"
    with pytest.raises(ValueError, match="empty"):
        attributes["no type"] = []
    del attributes["mode"]
    assert mode.value == 5
    with pytest.raises(ValueError, match="removed"):
        mode.value = 6


def test_mappings_of_subgraphs_functions_and_tensors() -> None:
    model = rich()
    function = model.functions[0]
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    branch.nodes[0].attributes["body"].value.nodes[0].metadata_props["k"] = "v"
    function.opset_imports["d"] = 2
    function.attribute_protos["gamma"] = 1.5
    function.nodes[0].attributes["axis"] = 1
    tensor: Any = model.initializers["w"]
    tensor.metadata_props["origin"] = "test"
    tensor.doc_string = "weights"
    made = saved(model)
    inner = next(one.g for one in made.graph.node[0].attribute if one.name == "then_branch")
    assert inner.node[0].attribute[0].g.node[0].metadata_props[0].value == "v"
    assert [(one.domain, one.version) for one in made.functions[0].opset_import] == [
        ("", 21), ("d", 2),
    ]  # fmt: skip
    assert made.functions[0].attribute_proto[1] == helper.make_attribute("gamma", 1.5)
    assert made.graph.initializer[0].metadata_props[0].key == "origin"
    assert made.graph.initializer[0].doc_string == "weights"


def test_a_copy_or_a_pickle_is_a_dict() -> None:
    model = rich()
    model.metadata_props["k"] = "v"
    for mapping in (model.metadata_props, model.opset_imports):
        for made in (
            copy.copy(mapping),
            copy.deepcopy(mapping),
            pickle.loads(pickle.dumps(mapping)),
        ):
            assert type(made) is dict
            assert made == mapping
    attributes = pickle.loads(pickle.dumps(model.graph.nodes[1].attributes))
    assert type(attributes) is dict
    assert {name: one.value for name, one in attributes.items()} == {"alpha": 0.5, "transB": 1}


def test_setdefault_returns_what_the_mapping_has_then() -> None:
    found = onnxmap.wrap(onnxmap.make_node("Op", [], [], a=1)).attributes
    assert found.setdefault("new", 5) == found["new"]
    assert found["new"].value == 5
    assert found.setdefault("new", 6).value == 5


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_other_mappings_stay_what_they_are(kind: str) -> None:
    """`dict | mapping` once changed the dict."""
    mapping = mapping_of(repeated(), kind)
    given = {"new": 1}
    assert list(given | mapping) == ["new", *mapping]
    assert given == {"new": 1}
    assert list(mapping | given) == [*mapping, "new"]
    assert "new" not in mapping
    with pytest.raises(TypeError):
        mapping | [1]


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
def test_any_mapping_is_assigned_as_dict_reads_it() -> None:
    class Own(dict[str, str]):
        def keys(self) -> Any:
            return ["shown"]

        def __iter__(self) -> Any:
            return iter(["shown"])

        def __getitem__(self, key: str) -> str:
            return "value"

    model = repeated()
    model.metadata_props = Own(hidden="x")
    assert dict(model.metadata_props) == {"shown": "value"}
    moved = OrderedDict(a="1", b="2")
    moved.move_to_end("a")
    model.metadata_props = moved
    assert list(model.metadata_props) == ["b", "a"]


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", [(1, 2), None, KeyError("inner"), "absent"], ids=repr)
def test_a_key_that_is_absent_is_in_the_error(key: Any, kind: str) -> None:
    mapping = mapping_of(repeated(), kind)
    for look in (mapping.__getitem__, mapping.__delitem__, mapping.pop):
        with pytest.raises(KeyError) as caught:
            look(key)
        if isinstance(key, str):
            assert isinstance(caught.value, onnxmap.UnknownNameError)
            assert caught.value.name == key
        else:
            assert caught.value.args == (key,)
    assert mapping.pop(key, 5) == mapping.pop(key, default=5) == mapping.get(key, 5) == 5


def test_a_warning_that_is_an_error_comes_again() -> None:
    mapping = repeated().metadata_props
    for read in (list, list, dict, lambda found: found["k"], lambda found: found.get("k")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(onnxmap.RepeatedKeyWarning):
                read(mapping)


def test_one_state_of_a_mapping_warns_once() -> None:
    mapping = repeated().metadata_props
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(20):
            assert mapping["k"] == "last"
        assert mapping.setdefault("k", "x") == "last"
        assert list(mapping) == ["k", "l"]
    assert len(caught) == 1


def test_the_conversion_of_a_version_may_edit_the_model() -> None:
    """The positions of the domain were once found before."""

    class Version:
        def __init__(self, model: onnxmap.Model) -> None:
            self.model = model

        def __index__(self) -> int:
            self.model.proto.opset_import.reverse()
            return 17

    model = repeated()
    model.opset_imports["d"] = Version(model)  # type: ignore[assignment]
    assert entries(saved(model), "opset_imports") == [("", 6), ("", 7), ("d", 17), ("", 5)]


@pytest.mark.parametrize("spelled", ["", "ai.onnx"])
@pytest.mark.parametrize("asked", ["", "ai.onnx"])
@pytest.mark.parametrize("is_function", [False, True])
def test_both_spellings_of_the_default_domain_find_one_entry(
    spelled: str, asked: str, is_function: bool
) -> None:
    source = helper.make_model(
        helper.make_graph([], "g", [], []), opset_imports=[helper.make_opsetid(spelled, 17)]
    )
    source.functions.add(name="F").opset_import.add(domain=spelled, version=17)
    model = onnxmap.loads(source.SerializeToString())
    owner = model.functions[0] if is_function else model
    imports = owner.opset_imports
    for _ in range(20):  # more look-ups than are answered by a walk
        assert asked in imports
        assert imports[asked] == imports.get(asked) == 17
    imports[asked] = 21
    assert [(one.domain, one.version) for one in owner.proto.opset_import] == [(spelled, 21)]
    assert imports.setdefault(asked, 3) == 21
    assert dict(imports) == {spelled: 21}
    owner.proto.opset_import.add(domain="" if spelled else "ai.onnx", version=22)
    assert (len(imports), imports[asked], list(imports)) == (1, 22, [spelled])
    imports |= {asked: 23}
    assert [one.version for one in owner.proto.opset_import] == [23, 23]
    del imports[asked]
    assert not len(owner.proto.opset_import)
    assert "" not in imports
    with pytest.raises(ValueError, match="one domain"):
        owner.opset_imports = {"": 1, "ai.onnx": 2}
    owner.opset_imports = {asked: 24}
    assert list(imports.items()) == [(asked, 24)]
