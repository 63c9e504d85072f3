"""What mappings of messages say: the nearest key of a wrong one, and what a new version leaves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import onnx
import pytest

import onnxmap


def model_of(domain: str = "") -> onnxmap.Model:
    node = onnx.helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5)
    message = onnx.ModelProto(
        ir_version=8,
        opset_import=[{"domain": domain, "version": 17}],
        graph={"name": "g", "node": [node]},
        metadata_props=[{"key": "license", "value": "MIT"}],
    )
    return onnxmap.loads(message.SerializeToString())


LOOKS: list[Callable[[Any, str], object]] = [
    lambda mapping, key: mapping[key],
    lambda mapping, key: mapping.__delitem__(key),
    lambda mapping, key: mapping.pop(key),
]


@pytest.mark.parametrize("look", LOOKS)
def test_a_wrong_key_is_answered_with_the_nearest(look: Callable[[Any, str], object]) -> None:
    model = model_of("ai.onnx.ml")
    for mapping, wrong, text in (
        (
            model.graph.nodes[0].attributes,
            "alpah",
            "no attribute is named 'alpah'; did you mean 'al",
        ),
        (model.metadata_props, "licence", "no key is named 'licence'; did you mean 'license'?"),
        (model.opset_imports, "ai.onnx.lm", "no domain is named 'ai.onnx.lm'; did you mean 'ai."),
        (model.metadata_props, "zz", "no key is named 'zz'"),
    ):
        with pytest.raises(onnxmap.UnknownNameError) as caught:
            look(mapping, wrong)
        assert str(caught.value).startswith(text)
        assert caught.value.name == wrong
        assert len(mapping) == 1


@pytest.mark.parametrize("stored", ["", "ai.onnx"])
@pytest.mark.parametrize("given", ["", "ai.onnx"])
def test_another_version_relabels_the_nodes(stored: str, given: str) -> None:
    model = model_of(stored)
    with pytest.warns(
        UserWarning, match=f"version 17 of .*'{given}' is now 18, .* not converted"
    ) as all_:
        model.opset_imports[given] = 18
    assert all_[0].filename == __file__
    assert [(each.domain, each.version) for each in model.proto.opset_import] == [(stored, 18)]
    assert dict(model.opset_imports) == {stored: 18}
    assert model.graph.nodes[0].op_type == "LeakyRelu"


def test_what_relabels_nothing_does_not_warn() -> None:
    model = model_of("ai.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.opset_imports[""] = 17
        model.opset_imports["local"] = 1
        with pytest.raises(UserWarning, match="not converted"):
            model.opset_imports[""] = 18
    assert dict(model.opset_imports) == {"ai.onnx": 17, "local": 1}
