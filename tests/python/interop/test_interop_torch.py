"""`Tensor.torch()` and `torch.from_dlpack`: no copy of a mapped file, and private writes."""

from __future__ import annotations

import gc
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from support.interop.torch_if_any import torch_or_skip
from support.models.sample import floats, model_of
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED
from support.tensors.places import PLACES, file_of, place
from support.tensors.stored import NUMERIC, number_of, random_codes, stored, values_of, write_sparse

import onnxmap

torch = torch_or_skip()

SHAPE = (3, 5, 7)
TORCH_TYPES = {
    "FLOAT": "float32", "DOUBLE": "float64", "FLOAT16": "float16", "BFLOAT16": "bfloat16",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "UINT8": "uint8",
    "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64", "BOOL": "bool",
    "COMPLEX64": "complex64", "COMPLEX128": "complex128", "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz", "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz", "FLOAT8E8M0": "float8_e8m0fnu",
}  # fmt: skip
WIDENED = {"INT4": "int8", "UINT4": "uint8", "INT2": "int8", "UINT2": "uint8"}
WRITTEN = ["FLOAT", "FLOAT16", "BFLOAT16", "INT8", "COMPLEX64", "FLOAT8E4M3FN", "FLOAT8E5M2"]
REFUSED = ["FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2"]


def data_of(type_name: str) -> bytes:
    return stored(type_name, random_codes(type_name, 105))


def bytes_of(tensor: Any) -> bytes:
    array: np.ndarray[Any, Any] = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return array.tobytes()


def anonymous_kib() -> int:
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def test_every_type_is_in_one_list_of_this_file() -> None:
    assert {*TORCH_TYPES, *WIDENED, *REFUSED} == set(NUMERIC)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("type_name", TORCH_TYPES)
def test_types_that_torch_has(type_name: str, where: str, tmp_path: Path) -> None:
    tensor = place(where, type_name, SHAPE, data_of(type_name), tmp_path)
    found = tensor.torch()
    assert isinstance(found, torch.Tensor)
    assert found.dtype == getattr(torch, TORCH_TYPES[type_name])
    assert tuple(found.shape) == SHAPE
    assert found.device.type == "cpu"
    assert found.is_contiguous()
    assert bytes_of(found) == data_of(type_name)
    assert not np.shares_memory(
        found.reshape(-1).view(torch.uint8).numpy(), tensor.numpy().reshape(-1).view(np.uint8)
    )


@pytest.mark.parametrize("type_name", WIDENED)
def test_integers_narrower_than_a_byte_are_widened(type_name: str, tmp_path: Path) -> None:
    codes = random_codes(type_name, 105)
    tensor = place("mmap", type_name, SHAPE, stored(type_name, codes), tmp_path)
    found = tensor.torch()
    assert found.dtype == getattr(torch, WIDENED[type_name])
    expected = values_of(type_name, codes).astype(WIDENED[type_name]).reshape(SHAPE)
    assert found.numpy().tolist() == expected.tolist()
    found.zero_()
    assert tensor.tobytes() == stored(type_name, codes)


@pytest.mark.parametrize("type_name", REFUSED)
def test_floats_that_torch_lacks_are_refused_with_a_hint(type_name: str, tmp_path: Path) -> None:
    tensor = place("mmap", type_name, SHAPE, data_of(type_name), tmp_path)
    with pytest.raises(TypeError, match=r"numpy\(dtype=") as caught:
        tensor.torch()
    assert "packed()" in str(caught.value)
    assert type_name in str(caught.value)
    assert torch.from_numpy(tensor.numpy(dtype=np.float32, copy=True)).shape == SHAPE


def test_strings_are_refused() -> None:
    message = TensorProto(name="t", dims=[1], data_type=8, string_data=[b"a"])
    tensor = onnxmap.loads(model_of([message]).SerializeToString()).initializers["t"]
    with pytest.raises(TypeError, match=r"(?i)string"):
        tensor.torch()


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("type_name", ["FLOAT", "BFLOAT16", "FLOAT8E5M2", "COMPLEX64", "INT8"])
def test_writes_reach_neither_file_nor_views(type_name: str, where: str, tmp_path: Path) -> None:
    tensor = place(where, type_name, SHAPE, data_of(type_name), tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    view, first, second = tensor.numpy(), tensor.torch(), tensor.torch()
    first.view(torch.uint8).fill_(0x11)
    assert set(bytes_of(first)) == {0x11}
    for data in (bytes_of(second), view.tobytes(), tensor.numpy().tobytes(), tensor.tobytes()):
        assert data == data_of(type_name)
    assert bytes_of(tensor.torch()) == data_of(type_name)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_typed_fields(tmp_path: Path) -> None:
    fields: dict[str, dict[str, list[Any]]] = {
        "INT64": {"int64_data": [1, -2, 3]},
        "BFLOAT16": {"int32_data": [0x3F80, 0xC000, 0]},
        "FLOAT": {"float_data": [1, -2, 0]},
        "INT4": {"int32_data": [0x21, 0x0F]},
    }
    results = [[1, -2, 3], [1, -2, 0], [1, -2, 0], [1, 2, -1]]
    for (type_name, entries), result in zip(fields.items(), results, strict=True):
        message = TensorProto(name="t", dims=[3], data_type=number_of(type_name), **entries)
        tensor = onnxmap.loads(model_of([message]).SerializeToString()).initializers["t"]
        found = tensor.torch()
        assert found.tolist() == result
        found.zero_()
        assert tensor.torch().tolist() == result


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
@pytest.mark.parametrize("type_name", ["FLOAT", "BFLOAT16", "INT4"])
def test_small_shapes(type_name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    data = stored(type_name, random_codes(type_name, int(np.prod(shape))))
    found = place("mmap", type_name, shape, data, tmp_path).torch()
    assert tuple(found.shape) == shape
    assert found.dtype == getattr(torch, {**TORCH_TYPES, **WIDENED}[type_name])
    assert found.is_contiguous()


@pytest.mark.skipif(SANITIZED, reason="resident memory under ASan is ASan's own")
@pytest.mark.parametrize("type_name", WRITTEN)
def test_a_large_tensor_costs_no_memory(type_name: str, tmp_path: Path) -> None:
    count = (256 << 20) // values_of(type_name, random_codes(type_name, 1)).itemsize
    write_sparse(tmp_path / "large.onnx", type_name, [count], b"\1" * 16)
    tensor = onnxmap.load(tmp_path / "large.onnx").initializers["t"]
    before = anonymous_kib()
    found = tensor.torch()
    assert file_of(found.data_ptr()) == str(tmp_path / "large.onnx")
    assert found.nbytes == 256 << 20
    assert int(found.view(torch.uint8)[-1]) == 1
    assert anonymous_kib() - before < 4096
    found.view(torch.uint8)[128 << 20] = 7
    assert anonymous_kib() - before < 8192  # at most a huge page
    assert tensor[count // 2 : count // 2 + 1].tobytes().count(7) == 0


def test_the_tensor_holds_the_file_and_lets_it_go(tmp_path: Path) -> None:
    def mapped() -> int:
        gc.collect()
        return Path("/proc/self/maps").read_text().count(str(tmp_path))

    data = np.random.default_rng(0).bytes(320_000)  # too large to be copied without need
    for type_name in ("FLOAT", "BFLOAT16", "FLOAT8E5M2"):
        itemsize = values_of(type_name, random_codes(type_name, 1)).itemsize
        found = place("mmap", type_name, [len(data) // itemsize], data, tmp_path).torch()
        part = found[1:]
        del found
        assert mapped() >= 1
        assert bytes_of(part) == data[itemsize:]
        del part
        assert mapped() == 0


def test_no_write_ends_the_process(tmp_path: Path) -> None:
    """In a child process, because a write to a read-only page would end it."""
    for type_name in WRITTEN:
        folder = tmp_path / type_name
        folder.mkdir()
        data = b"\x11" * 100_000 * values_of(type_name, random_codes(type_name, 1)).itemsize
        place("mmap", type_name, [100_000], data, folder)
    code = """
    import warnings
    warnings.simplefilter("ignore", UserWarning)  # torch warns that it knows no read-only tensors
    import torch
    import onnxmap
    from pathlib import Path
    survived = []
    for type_name in sys.argv[2:]:
        path = Path(sys.argv[1], type_name, "model.onnx")
        before = path.read_bytes()
        tensor = onnxmap.load(path).initializers["t"]
        view, stored = tensor.numpy(), tensor.tobytes()
        written = [tensor.torch()]
        if not type_name.startswith("FLOAT8"):
            written.append(torch.from_dlpack(tensor))
        for one in written:
            one.view(torch.uint8).fill_(3)
            assert int(one.view(torch.uint8)[-1]) == 3
        assert path.read_bytes() == before
        assert view.tobytes() == stored == tensor.tobytes()
        assert int(tensor.torch().view(torch.uint8)[0]) == 0x11
        survived.append(type_name)
    trained = onnxmap.load(Path(sys.argv[1], "FLOAT", "model.onnx")).initializers["t"].torch()
    trained.normal_().requires_grad_(True)
    (trained * 2).sum().backward()
    report(survived=survived, gradient=float(trained.grad[0]))
    """
    facts = facts_from(code, str(tmp_path), *WRITTEN)
    assert facts == {"survived": WRITTEN, "gradient": 2.0}


DLPACK_TYPES = [name for name in TORCH_TYPES if not name.startswith("FLOAT8")]


@pytest.mark.filterwarnings("ignore:.*read.only:UserWarning")
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("type_name", DLPACK_TYPES)
def test_from_dlpack(type_name: str, where: str, tmp_path: Path) -> None:
    tensor = place(where, type_name, SHAPE, data_of(type_name), tmp_path)
    found = torch.from_dlpack(tensor)
    assert found.dtype == getattr(torch, TORCH_TYPES[type_name])
    assert tuple(found.shape) == SHAPE
    assert bytes_of(found) == data_of(type_name)


@pytest.mark.filterwarnings("ignore:.*read.only:UserWarning")
@pytest.mark.parametrize("where", ["mmap", "external"])
@pytest.mark.parametrize("type_name", ["FLOAT", "BFLOAT16", "INT8"])
def test_a_large_tensor_is_taken_in_place(type_name: str, where: str, tmp_path: Path) -> None:
    data = np.random.default_rng(0).bytes(3 << 19)
    count = len(data) // values_of(type_name, random_codes(type_name, 1)).itemsize
    tensor = place(where, type_name, [count], data, tmp_path)
    file = tmp_path / ("model.onnx" if where == "mmap" else "w.bin")
    for found in (tensor.torch(), torch.from_dlpack(tensor)):
        assert file_of(found.data_ptr()) == str(file)
        assert bytes_of(found) == data


def test_torch_is_imported_only_by_the_call(tmp_path: Path) -> None:
    place("mmap", "FLOAT", [2], bytes(8), tmp_path)
    code = """
    import onnxmap
    tensor = onnxmap.load(sys.argv[1]).initializers["t"]
    tensor.numpy()
    before = "torch" in sys.modules
    tensor.torch()
    report(before=before, after="torch" in sys.modules)
    """
    assert facts_from(code, str(tmp_path / "model.onnx")) == {"before": False, "after": True}


def test_without_torch_the_error_says_what_is_missing(tmp_path: Path) -> None:
    place("mmap", "FLOAT", [2], bytes(8), tmp_path)
    code = """
    import onnxmap
    tensor = onnxmap.load(sys.argv[1]).initializers["t"]
    sys.modules["torch"] = None
    try:
        tensor.torch()
    except ImportError as error:
        report(text=str(error))
    """
    assert "torch" in facts_from(code, str(tmp_path / "model.onnx"))["text"]


@pytest.mark.parametrize("type_name", [*TORCH_TYPES, *WIDENED, "FLOAT4E2M1"])
def test_asarray_gives_no_wrong_values(type_name: str, tmp_path: Path) -> None:
    """torch.asarray takes the bytes of any buffer for float32. Other readers get the bytes."""
    data = data_of(type_name) if type_name in TORCH_TYPES else bytes(53)
    tensor = place("mmap", type_name, SHAPE, data, tmp_path)
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        torch.asarray(tensor)
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        torch.frombuffer(tensor, dtype=torch.float32)
    if type_name in TORCH_TYPES and not type_name.startswith(("BFLOAT", "FLOAT8")):
        assert bytes(memoryview(tensor)) == data
        assert hashlib.sha256(tensor).digest() == hashlib.sha256(data).digest()
        assert np.frombuffer(tensor, np.uint8).tobytes() == data


def test_as_tensor_and_from_dlpack_take_type_and_shape(tmp_path: Path) -> None:
    path = tmp_path / "t.pb"
    path.write_bytes(numpy_helper.from_array(np.array([[1, 2], [3, 4]]), "t").SerializeToString())
    for make in (torch.as_tensor, torch.tensor, torch.from_dlpack):
        made = make(onnxmap.load_tensor(path))
        assert (made.dtype, made.tolist()) == (torch.int64, [[1, 2], [3, 4]])


def test_all_weights_in_one_call(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "weight")
    bias = TensorProto(name="bias", data_type=TensorProto.BFLOAT16, dims=[2], raw_data=bytes(4))
    steps = numpy_helper.from_array(np.int64([7]), "steps")
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of([weight, bias, steps]).SerializeToString())
    before = path.read_bytes()
    model = onnxmap.load(path)
    found = model.torch()
    assert list(found) == ["weight", "bias", "steps"]
    assert [one.dtype for one in found.values()] == [torch.float32, torch.bfloat16, torch.int64]
    linear = torch.nn.Linear(3, 2)
    linear.load_state_dict(model.torch(["weight", "bias"], dtype=torch.float32))
    assert linear.weight.tolist() == [[0, 1, 2], [3, 4, 5]]
    found["weight"].fill_(9)
    assert path.read_bytes() == before
    assert model.torch("weight")["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    halves = model.torch(dtype=torch.float16)
    assert [one.dtype for one in halves.values()] == [torch.float16, torch.float16, torch.int64]
    assert {one.device.type for one in model.torch(device="meta").values()} == {"meta"}
    assert model.torch("no such*") == {}
    with pytest.raises(KeyError, match="did you mean 'weight'"):
        model.torch("wieght")
    for wrong in (torch.int8, np.float32, "float32"):
        with pytest.raises(TypeError, match="floating-point type of torch"):
            model.torch(dtype=wrong)


@pytest.mark.parametrize("kind", TORCH_TYPES)
def test_torch_tensors_become_weights(kind: str) -> None:
    given = torch.arange(6000).remainder(2).to(getattr(torch, TORCH_TYPES[kind])).reshape(2, -1)
    model = onnxmap.loads(model_of([floats("w", 3)]).SerializeToString())
    for name, tensor in {
        "w": given, "new": given, "transposed": given.t(), "strided": given[:, ::3],
        "scalar": given[0, 1], "empty": given[:0],
    }.items():  # fmt: skip
        model.initializers[name] = tensor
        found = model.initializers[name]
        assert (found.dtype.name, found.shape) == (kind, tuple(tensor.shape))
        flat = tensor.contiguous().reshape(-1).view(torch.uint8)
        assert found.tobytes() == flat.numpy().tobytes()


def test_a_torch_tensor_is_held_and_not_copied() -> None:
    model = onnxmap.loads(model_of([floats("w", 3)]).SerializeToString())
    given = torch.zeros(5000)
    model.initializers["w"] = given
    given[7] = 3
    assert model.initializers["w"].numpy()[7] == 3
    model.initializers["w"] = torch.nn.Parameter(torch.ones(5000))
    assert model.initializers["w"].numpy().sum() == 5000
    with pytest.raises(TypeError, match="no element type"):
        model.initializers["w"] = torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8)
