"""The floors F1 and F2: the same system work with nothing around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench import witness
from bench.floors import load_floors
from bench.tasks import Task, data_file, manifest, model_file

FLOORS = load_floors()


def read_headers(folder: Path) -> Task:
    """F1: open, fstat, one pread of 256 bytes per initializer, close."""
    path = model_file(folder)
    offsets = np.array([line["header_offset"] for line in manifest(folder)], np.int64)
    return Task(lambda: FLOORS.read_headers(path, offsets))


def bare_arrays(folder: Path) -> Task:
    """F2: an array object per initializer over one buffer, into a dict; one dtype for all."""
    lines = manifest(folder)
    (dtype,) = {line["dtype"] for line in lines}
    names = [line["name"] for line in lines]
    offsets = np.array([line["data_offset"] for line in lines], np.int64)
    ranks = np.array([len(line["shape"]) for line in lines], np.int64)
    extents = np.array([extent for line in lines for extent in line["shape"]], np.int64)
    buffer = np.asarray(np.memmap(data_file(folder), np.uint8, "r"))

    def run(
        _kept: object = lines,
    ) -> object:  # freed, it would leave memory that is touched already
        return FLOORS.bare_arrays(names, np.dtype(dtype), buffer, offsets, ranks, extents)

    return Task(run, witness.arrays)
