"""`Model.to_dask()` on a cluster: each process reads only what it needs, and little is sent."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from distributed import Client, LocalCluster
from support.interop import dask_counting
from support.tensors.places import place
from support.tensors.stored import NUMERIC, model_head, random_codes, stored, values_of

import onnxmap

WORKERS = 2
ROWS, COLUMNS = 4096, 4096  # 64 MiB of float32


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    cluster = LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=2,
        processes=True,
        dashboard_address=None,
        memory_limit="1GiB",
        silence_logs="CRITICAL",
    )
    with cluster, Client(cluster) as connected:
        yield connected


@pytest.fixture(scope="module")
def weights() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)


@pytest.fixture(scope="module")
def model_file(
    tmp_path_factory: pytest.TempPathFactory, weights: np.ndarray[Any, Any]
) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("cluster") / "model.onnx"
    with path.open("wb") as file:
        file.write(model_head("FLOAT", weights.shape, weights.nbytes))
        weights.tofile(file)
    yield path
    path.unlink()


def sent_while(client: Client, array: Any) -> tuple[Any, int]:
    """The result, and the number of bytes that client, scheduler and workers sent for it."""
    dask_counting.count_sent_bytes()
    client.run(dask_counting.count_sent_bytes)
    result = array.compute()
    return result, dask_counting.sent_bytes() + sum(client.run(dask_counting.sent_bytes).values())


def test_weights_stay_where_they_are(
    client: Client, model_file: Path, weights: np.ndarray[Any, Any]
) -> None:
    array = onnxmap.load(model_file).to_dask(chunks="4MiB")["t"]
    assert len(array.chunks[0]) == 16
    total = array.astype(np.float64).sum()
    assert len(cloudpickle.dumps(total.__dask_graph__())) < 10_000
    result, sent = sent_while(client, total)
    assert result == pytest.approx(weights.sum(dtype=np.float64))
    assert sent < 400_000  # of 64 MiB: the messages of a cluster about 16 tasks
    vector = np.ones(COLUMNS, np.float32)
    product, sent = sent_while(client, array @ vector)
    np.testing.assert_allclose(product, weights @ vector, rtol=1e-3, atol=1e-3)
    assert sent < 1_500_000


def test_the_count_includes_weights_that_are_sent(
    client: Client, model_file: Path, weights: np.ndarray[Any, Any]
) -> None:
    rows = onnxmap.load(model_file).to_dask(chunks=(512, -1))["t"][:1024]
    result, sent = sent_while(client, rows)
    assert result.tobytes() == weights[:1024].tobytes()
    assert sent > weights[:1024].nbytes


def test_a_worker_opens_a_tensor_once(client: Client, model_file: Path) -> None:
    before = client.run(dask_counting.opened_tensors)
    model_file.touch()  # gives the file another state, which no process has opened
    array = onnxmap.load(model_file).to_dask(chunks="1MiB")["t"]
    assert array.npartitions == 64
    array.sum().compute()
    after = client.run(dask_counting.opened_tensors)
    opened = [after[worker][0] - before[worker][0] for worker in after]
    found = [after[worker][1] - before[worker][1] for worker in after]
    assert sum(opened) + sum(found) == 64
    assert max(opened) <= 2  # the threads of a process may begin at the same time
    assert client.run(dask_counting.mapped_files) == {worker: [] for worker in after}


@pytest.mark.parametrize("type_name", NUMERIC)
def test_arrays_of_every_type_are_sent(client: Client, type_name: str, tmp_path: Path) -> None:
    codes = random_codes(type_name, 105)
    place("mmap", type_name, (3, 5, 7), stored(type_name, codes), tmp_path)
    (path,) = tmp_path.glob("*.onnx")
    array = onnxmap.load(path).to_dask(chunks=(1, 5, 7))["t"]
    result = array.rechunk((3, 2, 7)).compute()
    values = values_of(type_name, codes).reshape(3, 5, 7)
    assert (result.dtype, result.shape) == (values.dtype, values.shape)
    assert result.tobytes() == values.tobytes()


def test_a_changed_file_fails_in_the_worker(client: Client, tmp_path: Path) -> None:
    place("mmap", "FLOAT", (4, 1000), bytes(16_000), tmp_path)
    (path,) = tmp_path.glob("*.onnx")
    array = onnxmap.load(path).to_dask(chunks=(1, 1000))["t"]
    pickled = pickle.dumps(array)
    assert array.sum().compute() == 0
    stat = path.stat()
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x40")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))
    with pytest.raises(onnxmap.FileChangedError) as caught:
        pickle.loads(pickled).sum().compute()
    assert caught.value.code == "file.changed"
    assert onnxmap.load(path).to_dask()["t"].sum().compute() > 0
