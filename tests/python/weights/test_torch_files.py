"""safetensors files of torch: both libraries write the same bytes, and read each other's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.interop.torch_if_any import torch_or_skip
from support.tensors.safetensors_types import SAFETENSORS_TYPES

import onnxmap

torch = torch_or_skip()
# After torch, since this module imports it.
from safetensors.torch import load_file, save_file

SHAPES = [(3, 4), (), (0, 2), (5,), (1, 1, 8)]


def random_tensor(kind: str, shape: tuple[int, ...]) -> Any:
    """Random bits, so NaNs with a payload as well; for BOOL zeros and ones."""
    dtype = getattr(torch, SAFETENSORS_TYPES[kind])
    count = int(torch.Size(shape).numel()) * dtype.itemsize
    codes = torch.randint(0, 2 if kind == "BOOL" else 256, (count,), dtype=torch.uint8)
    return codes.view(dtype).reshape(shape)


def tensors_of_all_types() -> dict[str, Any]:
    torch.manual_seed(5)
    return {
        f"{kind} {shape}": random_tensor(kind, shape)
        for kind in SAFETENSORS_TYPES
        for shape in SHAPES
    }


def bits_of(tensor: Any) -> tuple[Any, Any, bytes]:
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    return tensor.dtype, tensor.shape, flat.numpy().tobytes()


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert bits_of(found[name]) == bits_of(tensor), name


def test_torch_reads_our_files(tmp_path: Path) -> None:
    tensors, path = tensors_of_all_types(), tmp_path / "w.safetensors"
    model = onnxmap.from_arrays(tensors, {"format": "pt"})
    onnxmap.save_safetensors(model, path, sync=False)
    assert_same(load_file(path), tensors)
    save_file(tensors, tmp_path / "torch.safetensors", {"format": "pt"})
    assert path.read_bytes() == (tmp_path / "torch.safetensors").read_bytes()


def test_a_data_file_and_shards(tmp_path: Path) -> None:
    tensors = tensors_of_all_types()
    model = onnxmap.from_arrays(tensors)
    model.save(
        tmp_path / "m.onnx", "w.safetensors", size_threshold_bytes=0, sync=False
    )  # small integers and empty tensors stay in the model
    stored = load_file(tmp_path / "w.safetensors")
    assert_same(stored, {name: tensors[name] for name in stored})
    assert len(stored) > len(SAFETENSORS_TYPES)
    onnxmap.save_safetensors(
        model, tmp_path / "c.safetensors", max_shard_size_bytes=100, sync=False
    )
    index = json.loads((tmp_path / "c.safetensors.index.json").read_text())["weight_map"]
    shards = {name: load_file(tmp_path / name) for name in set(index.values())}
    assert len(shards) > 5
    assert_same({name: shards[file][name] for name, file in index.items()}, tensors)


def test_we_read_the_files_of_torch(tmp_path: Path) -> None:
    tensors = tensors_of_all_types()
    save_file(tensors, tmp_path / "w.safetensors", {"format": "pt"})
    model = onnxmap.load_safetensors(tmp_path / "w.safetensors")
    for name, tensor in tensors.items():
        found = model.initializers[name]
        assert found.dtype.name == name.partition(" ")[0]
        assert (found.shape, found.tobytes()) == (tuple(tensor.shape), bits_of(tensor)[2])
    assert_same(model.torch(), tensors)


def test_pairs_of_4_bits(tmp_path: Path) -> None:
    """torch counts pairs of float4, and the file counts elements."""
    given = torch.arange(256, dtype=torch.uint8).reshape(8, 32).view(torch.float4_e2m1fn_x2)
    save_file({"w": given}, tmp_path / "w.safetensors")
    model = onnxmap.load_safetensors(tmp_path / "w.safetensors")
    found = model.initializers["w"]
    assert (found.dtype.name, found.shape) == ("FLOAT4E2M1", (8, 64))
    assert found.tobytes() == bytes(range(256))
    onnxmap.save_safetensors(model, tmp_path / "again.safetensors", sync=False)
    assert_same(load_file(tmp_path / "again.safetensors"), {"w": given})
    made = onnxmap.from_arrays({"w": given}).initializers["w"]
    assert (made.dtype.name, made.shape) == ("FLOAT4E2M1", (8, 64))
    assert made.tobytes() == found.tobytes()
    with pytest.raises(TypeError, match="no element type for torch"):
        onnxmap.from_arrays({"w": given[0, 0]})


@pytest.mark.parametrize("kind", SAFETENSORS_TYPES)
def test_tensors_as_programs_have_them(kind: str, tmp_path: Path) -> None:
    """Views in another order, parts, parameters, and tensors that need a gradient."""
    given = random_tensor(kind, (60, 90))
    tensors = {
        "transposed": given.t(), "strided": given[::2, 5::3], "part": given[7:, :11],
        "repeated": given[:1].expand(8, 90), "permuted": given.reshape(6, 10, 90).permute(2, 0, 1),
    }  # fmt: skip
    if given.is_floating_point() or given.is_complex():
        tensors["leaf"] = given.clone().requires_grad_(True)
        tensors["parameter"] = torch.nn.Parameter(given)
        tensors["computed"] = tensors["leaf"].view(-1)[3:]
    onnxmap.save_safetensors(onnxmap.from_arrays(tensors), tmp_path / "w.safetensors", sync=False)
    assert_same(load_file(tmp_path / "w.safetensors"), tensors)
    if kind == "FLOAT":
        tensors["conjugate"] = torch.view_as_complex(given[:, :2].contiguous()).conj()
        tensors["negative"] = tensors["conjugate"].imag  # a view with the bit that negates
        model = onnxmap.from_arrays(tensors)
        onnxmap.save_safetensors(model, tmp_path / "w.safetensors", sync=False)
        expected = {name: tensor.resolve_conj().resolve_neg() for name, tensor in tensors.items()}
        assert_same(load_file(tmp_path / "w.safetensors"), expected)


def test_a_module_there_and_back(tmp_path: Path) -> None:
    torch.manual_seed(1)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 4)
    )
    weights = onnxmap.from_arrays(module.state_dict(), {"format": "pt"})
    onnxmap.save_safetensors(weights, tmp_path / "w.safetensors", sync=False)
    other = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 4)
    )
    other.load_state_dict(load_file(tmp_path / "w.safetensors"))
    assert_same(other.state_dict(), module.state_dict())
    half = {name: "bfloat16" for name in module.state_dict() if "tracked" not in name}
    onnxmap.save_safetensors(weights, tmp_path / "h.safetensors", dtype=half, sync=False)
    assert_same(load_file(tmp_path / "h.safetensors"), module.to(torch.bfloat16).state_dict())
