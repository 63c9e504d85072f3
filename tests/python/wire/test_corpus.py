"""Each file of tests/corpus/ is named for its trick, and is refused with the right code."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.hostile.corpus_recipes import CORPUS, RECIPES
from support.models.small import SMALL_MODELS
from support.oracles.canonical import DESCRIPTORS, code_of

import onnxmap


def test_the_files_are_their_recipes() -> None:
    files = {path.name: path.read_bytes() for path in CORPUS.glob("*.onnx")}
    assert files == {f"{name}.onnx": data for name, (data, _, _) in RECIPES.items()}


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", RECIPES)
def test_each_is_refused_with_its_code(name: str, io: str) -> None:
    _, on_load, on_read = RECIPES[name]
    path = CORPUS / f"{name}.onnx"
    if on_load is not None:
        with pytest.raises(onnxmap.OnnxMapError) as caught:
            onnxmap.load(path, io=io)
        assert caught.value.code == on_load
        return
    model = onnxmap.load(path, io=io)
    found, reads = readers(model)
    for read in reads:
        with pytest.raises(onnxmap.OnnxMapError) as caught:
            read()
        assert caught.value.code == on_read
    assert "\n" not in repr(found)


def readers(model: onnxmap.Model) -> tuple[object, list[Callable[[], object]]]:
    """The tensor or sparse tensor "w", and all ways to its values."""
    if model.graph.sparse_initializers:
        sparse = model.graph.sparse_initializers["w"]
        return sparse, [sparse.to_dense]
    assert set(model.initializers.names()) == {"w"}
    tensor = model.initializers["w"]
    reads: list[Callable[[], object]] = [tensor.numpy, model.views]
    if model.initializers.dtypes()[0] != onnxmap.DataType.STRING:  # sparse tensors have no bytes
        reads.append(tensor.tobytes)
    return tensor, reads


@pytest.mark.parametrize("name", RECIPES)
def test_nothing_but_our_own_errors(name: str) -> None:
    """All surfaces, and all other message types, are tried on the same bytes."""
    data = (CORPUS / f"{name}.onnx").read_bytes()
    for message in DESCRIPTORS:
        code = code_of(data, message)
        if code is None:
            assert str(onnxmap.loads_proto(data, message)) is not None
        else:
            assert code.startswith(("wire.", "limit."))
    assert onnxmap.loads(SMALL_MODELS["plain_nodes"]).graph.name == "g"
