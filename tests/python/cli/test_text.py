"""The text forms of names, numbers and sizes."""

from __future__ import annotations

import onnx
import pytest

from onnxmap._base.text import bytes_in_words, counted, shape_in_words, type_in_words
from onnxmap.cli.text import cut, seconds_in_words
from onnxmap.errors import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain.weight/0:1", "plain.weight/0:1"),
        ("é 漢字", "é 漢字"),
        ("tab\tline\nreturn\r", r"tab\tline\nreturn\r"),
        ("\x1b[31m\x00\x7f", r"\x1b[31m\x00\x7f"),
        ("\u202e\u200b\u2028", r"\u202e\u200b\u2028"),
        ("\udcff\udc80", r"\xff\x80"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("encoder.0.weight", 9, "enco…ight"),
        ("encoder.0.weight", 8, "enco…ght"),
        ("abcdef", 3, "a…f"),
        ("abcdef", 2, "a…"),
    ],
)
def test_cut(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert len(shown) <= width


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (16_777_216, "16.8 MB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (3_400_000_000, "3.4 GB"),
        (2**63, "9.2 EB"),
        (2**80, "1,208,925.8 EB"),
    ],
)
def test_bytes_in_words(nbytes: int, words: str) -> None:
    assert bytes_in_words(nbytes) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(8.5e-5, "85 µs"), (1.24e-3, "1.24 ms"), (3.2, "3.20 s")]
)
def test_seconds_in_words(seconds: float, words: str) -> None:
    assert seconds_in_words(seconds) == words


def test_counted() -> None:
    assert [counted(number, "node") for number in (0, 1, 2000)] == [
        "0 nodes",
        "1 node",
        "2,000 nodes",
    ]


def test_shape_in_words() -> None:
    assert shape_in_words(None) == "unknown rank"
    assert shape_in_words(()) == "[]"
    assert shape_in_words(["batch\n", 3, None]) == r"[batch\n, 3, ?]"


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (onnx.TypeProto(), "undeclared"),
        (onnx.helper.make_tensor_type_proto(1, []), "FLOAT []"),
        (onnx.helper.make_tensor_type_proto(99, None), "type 99 unknown rank"),
        (
            onnx.helper.make_tensor_type_proto(1, ["", None, "n"]),
            "FLOAT [?, ?, n]",
        ),
        (onnx.helper.make_sparse_tensor_type_proto(11, [7]), "sparse DOUBLE [7]"),
        (onnx.TypeProto(sequence_type=onnx.TypeProto.Sequence()), "sequence of undeclared"),
        (
            onnx.helper.make_optional_type_proto(
                onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(7, [2]))
            ),
            "optional sequence of INT64 [2]",
        ),
        (
            onnx.helper.make_map_type_proto(8, onnx.helper.make_tensor_type_proto(1, [1])),
            "map of STRING to FLOAT [1]",
        ),
        (
            onnx.TypeProto(opaque_type=onnx.TypeProto.Opaque(domain="d\n", name="n")),
            r"opaque d\n.n",
        ),
    ],
)
def test_types(declared: onnx.TypeProto, words: str) -> None:
    import onnxmap

    info = onnx.ValueInfoProto(name="x", type=declared).SerializeToString()
    value = onnxmap.wrap(onnxmap.loads_proto(info, "ValueInfoProto"))
    assert type_in_words(value.type) == words
    assert repr(value) == f"<onnxmap.ValueInfo 'x': {printable(words)}>"
