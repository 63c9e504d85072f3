"""onnx-extended's onnx2: a C++ reader that can leave the weights out."""

from __future__ import annotations

from bench.peers.usual import Usual

_usual = Usual("onnx2")
load = _usual.load
views = _usual.views
