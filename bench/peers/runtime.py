"""onnxruntime: a session without optimisations is the least it can make of a model."""

from __future__ import annotations

from bench.peers.usual import Usual

load = Usual("onnxruntime").load
