"""The memory for messages in pieces, indexes, unknown fields and text, by the size of the file.

Memory is the growth of a child process's peak. Nothing here is timed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support import wire_bytes as wire
from support.processes.subprocesses import facts_from, growth_kib
from support.run_options import SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")

# A list in a list in ... in a graph. Each line of its text is indented by its depth.
NESTED = "wire.nested([7] + [1, 5, 6] * 25, wire.blob(5, b'') * 100_000)"


def times_the_file(make: str, *lines: str) -> float:
    """Run `lines`, which may use `model`; return their memory as a multiple of the file's size."""
    use = "\n    ".join(["model = onnxmap.loads(data)", *lines])
    facts = growth_kib(make, use)
    return facts["growth"] / facts["size"]


@pytest.mark.parametrize(
    ("make", "read"),
    [
        (r"wire.blob(7, wire.blob(13, wire.blob(2, b'\x32\x00') * 400_000))",
         "model.graph.value_infos[0].type"),
        (r"wire.blob(7, wire.blob(1, wire.blob(5, wire.blob(6, b'\x12\x00') * 400_000)))",
         "model.graph.nodes[0].proto.attribute[0].g.name"),
        (r"wire.blob(7, wire.blob(13, wire.blob(2, b'\x32\x00') * 2) * 150_000)",
         "for one in model.graph.value_infos: one.proto.type.denotation"),
    ],
    ids=["a type of many pieces", "a graph of many pieces", "many types of two pieces"],
)  # fmt: skip
def test_messages_in_pieces(make: str, read: str) -> None:
    """Each piece of four bytes needs sixteen bytes for its place."""
    assert times_the_file(make, read) < 5


@pytest.mark.parametrize(
    "make",
    [
        "wire.blob(7, b'') + wire.scalar(15, 1) * 500_000",
        "wire.blob(7, b'') + wire.group(15, wire.scalar(3, 1)) * 200_000",
        "wire.blob(7, b'') + wire.group(15, wire.scalar(3, 1) * 400_000)",
    ],
    ids=["numbers", "groups", "in a group"],
)
def test_unknown_fields_are_made_when_asked_for(make: str) -> None:
    groups = "one for one in model.proto.unknown_fields if one.wire_type == 3"
    assert times_the_file(make, "for one in model.proto.unknown_fields: pass") < 4
    assert times_the_file(make, f"sum(all(True for _ in one.data) for one in ({groups}))") < 4


@pytest.mark.parametrize("ask", ["model.graph.producer('x')", "'x' in model.graph.nodes"])
def test_an_index_of_empty_nodes(ask: str) -> None:
    """No name is stored, however many nodes there are."""
    assert times_the_file("wire.blob(7, wire.blob(1, b'') * 2_000_000)", ask) < 5


def test_uses_in_nested_subgraphs() -> None:
    """Each use takes its place in the index and its user's, however deep it is."""
    nodes = "wire.blob(1, wire.blob(1, b'x')) * 500_000"
    make = f"wire.nested([7] + [1, 5, 6] * 25, {nodes})"
    assert times_the_file(make, "model.graph.producer('x')") < 16


def test_the_text_of_a_message_is_kept_once() -> None:
    facts = growth_kib(NESTED, "text = str(onnxmap.loads(data).proto)\n    data = text")
    assert facts["size"] > 25_000  # times the size of the text
    assert facts["growth"] < 1.2 * facts["size"]


def test_a_text_over_the_limit_takes_nothing() -> None:
    facts = growth_kib(
        NESTED,
        """
    model = onnxmap.loads(data, limits=onnxmap.Limits(text_bytes=20_000_000))
    try:
        str(model.proto)
    except onnxmap.LimitError as error:
        assert error.code == "limit.text_bytes", error.code
    else:
        raise SystemExit("accepted")
    """,
    )
    assert facts["growth"] < 2_000


def test_dump_writes_text_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "nested.onnx"
    path.write_bytes(wire.nested([7] + [1, 5, 6] * 25, wire.blob(5, b"") * 100_000))
    facts = facts_from(
        """
    import contextlib, os
    from onnxmap.cli import main
    main(["dump", os.devnull])
    before = peak_kib()
    with open(sys.argv[2], "w") as out, contextlib.redirect_stdout(out):
        status = main(["dump", sys.argv[1]])
    report(status=status, growth=peak_kib() - before)
    """,
        str(path),
        str(tmp_path / "text"),
    )
    assert facts["status"] == 0
    assert (tmp_path / "text").stat().st_size > 25_000_000
    assert facts["growth"] < 5_000


def test_equal_strings_of_an_array_are_one_object() -> None:
    strings = "b''.join(wire.blob(6, b'%d' % (i % 90 + 10)) for i in range(100))"
    make = f"wire.blob(7, wire.blob(5, b'\\x08\\xc0\\x84\\x3d\\x10\\x08' + {strings} * 10_000))"
    assert times_the_file(make, "array = next(model.initializers.all()).numpy()") < 4
