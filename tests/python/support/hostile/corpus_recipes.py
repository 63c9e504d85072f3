"""How each file of tests/corpus/ is made, and its verdict. As a program, it writes the files.

The files are in the repository, so that the C++ tests and the fuzzer can replay them. A test
compares them with these recipes.
"""

from __future__ import annotations

from pathlib import Path

from support import wire_bytes as wire

CORPUS = Path(__file__).parents[3] / "corpus"

MODEL, NODE, ATTRIBUTE, SUBGRAPH, INITIALIZER = 7, 1, 5, 6, 5
UNKNOWN = 999


def graph(payload: bytes = b"") -> bytes:
    return wire.blob(MODEL, payload)


def tensor(*parts: bytes) -> bytes:
    return graph(wire.blob(INITIALIZER, wire.blob(8, b"w") + b"".join(parts)))


def external(**entries: str) -> bytes:
    pairs = (wire.blob(1, k.encode()) + wire.blob(2, v.encode()) for k, v in entries.items())
    stored = b"".join(wire.blob(13, pair) for pair in pairs)
    return tensor(wire.scalar(1, 1), wire.scalar(2, 1), wire.scalar(14, 1), stored)


RAW = wire.blob(9, b"\0\0\x80\x3f")
FLOAT = wire.scalar(2, 1)
LOCATION = wire.blob(13, wire.blob(1, b"location") + wire.blob(2, b"dims_overflow.onnx"))


def element_type(number: int) -> bytes:
    return wire.scalar(2, number)


def dims(*shape: int) -> bytes:
    return b"".join(wire.scalar(1, dim) for dim in shape)


def ints(*values: int) -> bytes:
    """A packed run of `int32_data`."""
    return wire.blob(5, b"".join(wire.varint(value) for value in values))


def segment(begin: int, end: int) -> bytes:
    return wire.blob(3, wire.scalar(1, begin) + wire.scalar(2, end))


def sparse(shape: tuple[int, ...], *indices: int) -> bytes:
    """A sparse initializer with one float for each of its indices."""
    count = len(indices)
    values = wire.blob(8, b"w") + dims(count) + FLOAT + wire.blob(9, bytes(4 * count))
    run = wire.blob(7, b"".join(wire.varint(index) for index in indices))
    stored = wire.blob(1, values) + wire.blob(2, dims(count) + element_type(7) + run)
    return graph(wire.blob(15, stored + b"".join(wire.scalar(3, dim) for dim in shape)))


# trick: (bytes, code on load or None, code on reading the tensor "w" or None)
RECIPES: dict[str, tuple[bytes, str | None, str | None]] = {
    "empty_file": (b"", "model.empty", None),
    "no_graph": (wire.scalar(1, 8), "model.no_graph", None),
    "varint_11_bytes": (graph() + b"\x08" + b"\x80" * 10 + b"\0", "wire.varint_too_long", None),
    "varint_cut_by_the_end": (graph() + b"\x08\x80", "wire.truncated", None),
    "varint_across_the_end_of_its_message": (
        graph(b"\x2a\x01\x88") + b"\0", "wire.truncated", None,
    ),
    "tag_6_bytes": (graph() + b"\x88\x80\x80\x80\x80\0\x08", "wire.tag_too_long", None),
    "tag_above_32_bits": (graph() + b"\x88\x80\x80\x80\x10\x08", "wire.field_number", None),
    "field_number_zero": (graph() + b"\0\x01", "wire.field_number", None),
    "field_number_zero_in_a_group": (
        graph() + wire.group(UNKNOWN, b"\0\x01"), "wire.field_number", None,
    ),
    "wire_type_6": (graph() + b"\x0e\x01", "wire.wire_type", None),
    "end_group_then_second_graph": (
        graph() + wire.tag(1, wire.END_GROUP) + graph(), "wire.end_group", None,
    ),
    "zero_tag_then_second_graph": (graph() + b"\0" + graph(), "wire.field_number", None),
    "zeros_at_the_end": (graph() + bytes(4096), "wire.field_number", None),
    "group_never_closed": (
        graph() + wire.tag(UNKNOWN, wire.START_GROUP), "wire.group_unterminated", None,
    ),
    "group_closed_by_another": (
        graph() + wire.tag(UNKNOWN, wire.START_GROUP) + wire.tag(998, wire.END_GROUP),
        "wire.group_mismatch", None,
    ),
    "group_across_the_end_of_its_message": (
        graph(wire.tag(UNKNOWN, wire.START_GROUP)) + wire.tag(UNKNOWN, wire.END_GROUP),
        "wire.group_unterminated", None,
    ),
    "groups_100000": (
        graph() + wire.tag(15, wire.START_GROUP) * 100_000, "limit.depth", None,
    ),
    "graph_depth_10000": (
        wire.nested([MODEL] + [NODE, ATTRIBUTE, SUBGRAPH] * 10_000), "limit.depth", None,
    ),
    "length_past_the_end": (graph() + b"\x12\x05abc", "wire.length_overrun", None),
    "length_past_its_message": (b"\x3a\x03\x12\x03abc\x08\x01", "wire.length_overrun", None),
    "length_6_bytes": (graph() + wire.blob(2, b"abc", 6), "wire.length_too_long", None),
    "length_2_to_the_63": (
        graph() + b"\x12" + wire.varint(1 << 63), "wire.length_too_large", None,
    ),
    "packed_floats_7_bytes": (tensor(FLOAT, wire.blob(4, bytes(7))), "wire.packed_length", None),
    "fixed32_cut": (tensor(FLOAT, wire.tag(4, wire.FIXED32) + b"123"), "wire.truncated", None),
    "dims_overflow": (
        tensor(FLOAT, wire.scalar(1, 1 << 32) * 2, RAW), None, "tensor.size_overflow",
    ),
    "dims_negative": (tensor(FLOAT, wire.scalar(1, -1), RAW), None, "tensor.negative_dim"),
    "dims_4_tib": (tensor(FLOAT, wire.scalar(1, 1 << 40), RAW), None, "tensor.data_size"),
    "data_type_99": (tensor(wire.scalar(2, 99), wire.scalar(1, 1), RAW), None, "tensor.dtype"),
    "raw_data_short": (tensor(FLOAT, wire.scalar(1, 2), RAW), None, "tensor.data_size"),
    "raw_and_external_data": (
        tensor(FLOAT, wire.scalar(1, 1), RAW, wire.scalar(14, 1), LOCATION),
        None, "tensor.ambiguous_data",
    ),
    "dims_zero_times_2_to_the_62": (tensor(FLOAT, dims(0, 1 << 62)), None, "tensor.size_overflow"),
    "rank_65": (tensor(FLOAT, dims(*[1] * 65), RAW), None, "tensor.rank"),
    "no_data": (tensor(FLOAT, dims(2)), None, "tensor.data_size"),
    "data_of_no_elements": (tensor(FLOAT, dims(0), RAW), None, "tensor.data_size"),
    "typed_4_tib": (tensor(element_type(2), dims(1 << 42), ints(1)), None, "tensor.data_size"),
    "float_data_short": (tensor(FLOAT, dims(2), wire.blob(4, RAW[2:])), None, "tensor.data_size"),
    "complex_odd_count": (
        tensor(element_type(14), dims(2), wire.blob(4, bytes(12))), None, "tensor.data_size",
    ),
    "raw_and_typed_data": (
        tensor(FLOAT, dims(1), RAW, wire.blob(4, RAW[2:])), None, "tensor.ambiguous_data",
    ),
    "two_typed_fields": (
        tensor(FLOAT, dims(1), wire.blob(4, RAW[2:]), ints(1)), None, "tensor.ambiguous_data",
    ),
    "wrong_typed_field": (tensor(FLOAT, dims(1), ints(1)), None, "tensor.wrong_field"),
    "strings_in_raw_data": (tensor(element_type(8), dims(4), RAW), None, "tensor.string_raw"),
    "strings_in_a_file": (
        tensor(element_type(8), dims(1), wire.scalar(14, 1), LOCATION),
        None, "tensor.string_external",
    ),
    "int4_short": (
        tensor(element_type(22), dims(3), wire.blob(9, b"\x21")), None, "tensor.data_size",
    ),
    "uint2_long": (
        tensor(element_type(25), dims(4), wire.blob(9, b"\xe4\xe4")), None, "tensor.data_size",
    ),
    "int4_entries_of_8_elements": (
        tensor(element_type(22), dims(8), ints(0x76543210)), None, "tensor.data_size",
    ),
    "float6_padding_bits": (
        tensor(element_type(27), dims(1), wire.blob(9, b"\x40")), None, "tensor.padding",
    ),
    "float6_entry_64": (tensor(element_type(28), dims(1), ints(64)), None, "tensor.value_range"),
    "uint8_300": (tensor(element_type(2), dims(1), ints(300)), None, "tensor.value_range"),
    "float16_70000": (tensor(element_type(10), dims(1), ints(70_000)), None, "tensor.value_range"),
    "segment_alone": (
        tensor(FLOAT, dims(2), segment(0, 1), RAW), None, "tensor.segment",
    ),
    "segments_with_a_gap": (
        tensor(FLOAT, dims(3), segment(0, 1), RAW) + tensor(FLOAT, dims(3), segment(2, 3), RAW),
        None, "tensor.segment",
    ),
    "segment_past_the_end": (
        tensor(FLOAT, dims(1), segment(0, (1 << 63) - 1), RAW), None, "tensor.segment",
    ),
    "sparse_index_past_the_end": (sparse((3, 3), 0, 9), None, "tensor.sparse_range"),
    "sparse_index_negative": (sparse((3, 3), -1, 0), None, "tensor.sparse_range"),
    "sparse_indices_falling": (sparse((3, 3), 5, 4), None, "tensor.sparse_order"),
    "sparse_index_twice": (sparse((3, 3), 4, 4), None, "tensor.sparse_duplicate"),
    "sparse_product_past_2_to_the_63": (
        sparse((1 << 32, 1 << 32), 0), None, "tensor.sparse_overflow",
    ),
    "sparse_4_tib": (sparse((1 << 20, 1 << 20), 7), None, "limit.dense_bytes"),
    "external_parent_dir": (external(location="../w.bin"), None, "ext.unsafe_path"),
    "external_absolute": (external(location="/etc/passwd"), None, "ext.unsafe_path"),
    "external_nul": (external(location="w.bin\0evil"), None, "ext.unsafe_path"),
    "external_no_location": (external(offset="0"), None, "ext.location"),
    "external_missing": (external(location="missing.bin"), None, "ext.missing"),
    "external_offset_spaces": (
        external(location="dims_overflow.onnx", offset=" 4 "), None, "ext.offset",
    ),
    "external_offset_2_to_the_64": (
        external(location="dims_overflow.onnx", offset=str(1 << 64)), None, "ext.bounds",
    ),
    "external_directory": (external(location="."), None, "ext.location"),
    "external_location_twice": (
        tensor(
            FLOAT, wire.scalar(1, 1), wire.scalar(14, 1),
            LOCATION * 2,
        ),
        None, "ext.duplicate_key",
    ),
}  # fmt: skip


def main() -> None:
    CORPUS.mkdir(exist_ok=True)
    for name, (data, _, _) in RECIPES.items():
        (CORPUS / f"{name}.onnx").write_bytes(data)


if __name__ == "__main__":
    main()
