"""`onnxmap dump`: protobuf's text and JSON, in full, shortened, and of one field."""

from __future__ import annotations

import gc
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from google.protobuf import json_format, text_format
from onnx import MapProto, TensorProto, helper, numpy_helper
from support import wire_bytes as wire
from support.models.hard_names import EVIL_NAME, EVIL_SHOWN, save, tensor
from support.processes.command_line import Run

import onnxmap


class TestDump:
    def test_full_text_is_protobufs(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "plain.onnx"
        model = save(path, tensor("w", np.arange(300, dtype=np.float32)), doc_string="é 漢")
        ran = run("dump", path, "--full")
        assert (ran.status, ran.out) == (0, str(model))

    def test_cut_text_is_short_and_still_text_format(self, run: Run, demo: Path) -> None:
        out = run("dump", demo).out
        assert len(out) < 200_000
        assert "1048576 bytes, 128 shown" in out
        parsed = text_format.Parse(out, onnx.ModelProto())
        expected = onnx.load(demo, load_external_data=False)
        assert parsed.graph.node[:43] == expected.graph.node[:43]
        assert parsed.graph.initializer[4].raw_data == expected.graph.initializer[4].raw_data[:128]

    def test_unknown_fields(self, run: Run, tmp_path: Path) -> None:
        data = onnx.ModelProto(producer_name="p").SerializeToString() + wire.scalar(999, 5)
        data += wire.blob(7, wire.blob(2, b"g") + wire.blob(998, b"u" * 500))
        (tmp_path / "m.onnx").write_bytes(data)
        assert "999" not in run("dump", tmp_path / "m.onnx").out
        out = run("dump", tmp_path / "m.onnx", "--unknown-fields").out
        assert "999: 5\n" in out
        assert "500 bytes, 128 shown" in out
        whole = run("dump", tmp_path / "m.onnx", "--unknown-fields", "--full").out
        assert onnxmap.from_text(whole, "ModelProto").proto == onnxmap.loads(data).proto

    def test_full_json_is_protobufs(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "plain.onnx"
        numbers = TensorProto(
            name="numbers",
            data_type=TensorProto.FLOAT,
            dims=[6],
            float_data=[0.1, np.nan, np.inf, -np.inf, 1e-45, 16777217],
            double_data=[0.1, 1e300],
            int32_data=[-1, 2],
            int64_data=[-(2**63)],
            raw_data=bytes(range(256)) * 2,
        )
        model = save(path, numbers, tensor(EVIL_NAME, np.ones(200, np.int8)))
        found = json.loads(run("dump", path, "--json", "--full").out)
        assert found == json_format.MessageToDict(model, preserving_proto_field_name=True)

    def test_cut_json_says_so(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "long.onnx"
        typed = TensorProto(
            name="n" * 1000, data_type=TensorProto.INT64, dims=[500], int64_data=range(500)
        )
        save(path, typed, tensor("raw", np.arange(500, dtype=np.uint8)))
        found = json.loads(run("dump", path, "graph.initializer", "--json").out)
        assert found[0]["name"] == {"cut": True, "length": 1000, "first": "n" * 128}
        assert found[0]["int64_data"]["length"] == 500
        assert found[0]["int64_data"]["first"] == [str(i) for i in range(128)]
        assert found[1]["raw_data"]["length"] == 500

    @pytest.mark.parametrize(
        ("field", "expected"),
        [
            ("producer_name", "maker\n"),
            ("graph.node[1].op_type", "Relu\n"),
            ("graph.node[-1].op_type", "Constant\n"),
            ('graph.node["first"].output', "h\n"),
            ('graph.node["first"].output[0]', "h\n"),
            ('opset_import["com.example"].version', "3\n"),
            ('metadata_props["author"].value', "somebody\n"),
            ("graph.initializer[0].dims", "4\n5\n"),
            ('graph.node[2].attribute["value"].type', "TENSOR\n"),
            ('graph.node[2].attribute["value"].t.dims', "40\n"),
            ('graph.initializer["a.bias"].raw_data', r"\x01" + r"\x00" * 7 + "\n"),
            ("graph.initializer[3].name", EVIL_SHOWN + "\n"),
            (
                "opset_import",
                '# [0]\ndomain: ""\nversion: 21\n# [1]\ndomain: "com.example"\nversion: 3\n',
            ),
            ('opset_import["com.example"]', 'domain: "com.example"\nversion: 3\n'),
            ("functions", ""),
        ],
    )
    def test_field(self, run: Run, small: Path, field: str, expected: str) -> None:
        ran = run("dump", small, field)
        assert (ran.status, ran.out, ran.err) == (0, expected, "")

    def test_bytes_are_shown_as_bytes(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "bytes.onnx"
        save(path, tensor("w", np.frombuffer(b"a\xe9\xff\n" * 50, np.uint8)))
        shown = r"a\xe9\xff\n" * 32
        assert run("dump", path, "graph.initializer[0].raw_data").out == (
            f"{shown}  # 200 long, 128 shown\n"
        )

    def test_fields_of_every_tensor_can_be_found(self, run: Run, demo: Path) -> None:
        """`dump` accepts the paths that `Model.tensors()` gives."""
        import onnxmap

        for where, found in onnxmap.load(demo).tensors()[::8]:
            assert run("dump", demo, f"{where}.name").out == found.name + "\n"

    @pytest.mark.parametrize(
        ("field", "said"),
        [
            ("nothing", "ModelProto has no field 'nothing'"),
            ("graph.nod", "GraphProto has no field 'nod'"),
            ("graph..node", "cannot read"),
            ("graph.", "cannot read '.' as a field: write a path like graph.node[3].name; a name"),
            *(
                (f"graph.node{wrong}", f"cannot read 'node{wrong}' as a field: write a path like")
                for wrong in (
                    "[",
                    "[3",
                    "[1:3]",
                    "[*]",
                    "[name]",
                    "[]",
                    "[007]",
                    "[0]x",
                    '["a\\q"]',
                )
            ),
            ("graph.node[99]", "length of 3"),
            ('graph.node["zzz"]', "no element with the name 'zzz'\n"),
            ('graph.node["frist"]', "no element with the name 'frist'; did you mean 'first'?"),
            ('metadata_props["autor"]', "with the key 'autor'; did you mean 'author'?"),
            ('graph.node[2].attribute["valeu"]', "the name 'valeu'; did you mean 'value'?"),
            ("graph.nodee", "has no field 'nodee'; did you mean 'node'? Its fields are "),
            ("graph.node.name", "say which"),
            ("graph.name.x", "plain value"),
            ("graph.name[0]", "not a list"),
            ("graph[0]", "not a list"),
            ("domain", "has no domain"),
            ('graph.node[0].input["x"]', "no names"),
        ],
    )
    def test_bad_field(self, run: Run, small: Path, field: str, said: str) -> None:
        ran = run("dump", small, field)
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err
        assert ran.err.count("\n") == 1

    def test_json_of_many_nodes_is_not_searched_for_cycles(self, run: Run, tmp_path: Path) -> None:
        """That took most of the time."""
        path = tmp_path / "many.onnx"
        nodes = [onnx.helper.make_node("Relu", [f"{i}"], [f"{i + 1}"]) for i in range(3000)]
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], [])), path)
        searches: list[dict[str, int]] = []

        def searched(phase: str, info: dict[str, int]) -> None:
            if phase == "start":
                searches.append(info)

        gc.collect()
        gc.callbacks.append(searched)
        try:
            ran = run("dump", path, "--json")
        finally:
            gc.callbacks.remove(searched)
        assert len(json.loads(ran.out)["graph"]["node"]) == 3000
        assert len(searches) < 10
        assert gc.isenabled()

    def test_json_is_written_in_large_blocks(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A write may be a system call: on a terminal, or if Python does not buffer."""
        path = tmp_path / "many.onnx"
        nodes = [onnx.helper.make_node("Relu", [f"{i}"], [f"{i + 1}"]) for i in range(3000)]
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], [])), path)
        write, lengths = sys.stdout.write, list[int]()

        def noted(text: str) -> int:
            lengths.append(len(text))
            return write(text)

        monkeypatch.setattr(sys.stdout, "write", noted)
        assert run("dump", path, "--json").status == 0
        assert sum(lengths) > 300_000
        assert len(lengths) < 20


TENSOR = helper.make_tensor("t", TensorProto.FLOAT, [2], [1, 2])
VALUE = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
NODE = helper.make_node("Cast", ["x"], ["y"], name="cast", to=1)
GRAPH = helper.make_graph([NODE], "g", [VALUE], [VALUE], [TENSOR])
MESSAGES = {
    "NodeProto": NODE,
    "GraphProto": GRAPH,
    "TensorProto": TENSOR,
    "ValueInfoProto": VALUE,
    "AttributeProto": NODE.attribute[0],
    "TypeProto.Tensor": VALUE.type.tensor_type,
    "FunctionProto": helper.make_function("d", "f", ["x"], ["y"], [NODE], []),
    "ModelProto": helper.make_model(GRAPH),
    "SparseTensorProto": helper.make_sparse_tensor(
        TENSOR, helper.make_tensor("i", TensorProto.INT64, [2], [0, 3]), [5]
    ),
}


def write_message(folder: Path, data: bytes) -> Path:
    path = folder / "message.pb"
    path.write_bytes(data)
    return path


class TestType:
    @pytest.mark.parametrize("name", MESSAGES)
    def test_any_message_is_read(self, run: Run, tmp_path: Path, name: str) -> None:
        path = write_message(tmp_path, MESSAGES[name].SerializeToString())
        ran = run("dump", path, "--type", name, "--full")
        assert (ran.status, ran.out, ran.err) == (0, str(MESSAGES[name]), "")

    @pytest.mark.parametrize(
        ("right", "wrong"),
        [
            (right, wrong)
            for right in MESSAGES
            for wrong in MESSAGES
            # The fields of a ValueInfoProto and a NodeProto begin with the same wire types.
            if right != wrong and (right, wrong) != ("ValueInfoProto", "NodeProto")
        ],
    )
    def test_another_message_is_refused(
        self, run: Run, tmp_path: Path, right: str, wrong: str
    ) -> None:
        path = write_message(tmp_path, MESSAGES[right].SerializeToString())
        ran = run("dump", path, "--type", wrong)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith("onnxmap: ")
        assert ran.err.count("\n") == 1
        assert "message.pb" in ran.err

    @pytest.mark.parametrize("title", ["", "s"])
    def test_sequences_and_maps_are_known_without_a_type(
        self, run: Run, tmp_path: Path, title: str
    ) -> None:
        tensors = [np.arange(2, dtype=np.float32), np.arange(3, dtype=np.float32)]
        nested = numpy_helper.from_list([tensors, tensors], title)
        for made in (
            numpy_helper.from_list(tensors, title),
            nested,
            numpy_helper.from_dict(dict(enumerate(tensors)), title),
            MapProto(key_type=TensorProto.STRING, string_keys=[b""]),
            TensorProto(data_type=TensorProto.FLOAT, float_data=[1]),
        ):
            path = write_message(tmp_path, made.SerializeToString())
            ran = run("dump", path, "--full")
            assert (ran.status, ran.out) == (0, str(made))

    def test_a_tensor_with_a_segment_is_a_tensor(self, run: Run, tmp_path: Path) -> None:
        made = onnx.TensorProto(
            name="t", dims=[4], data_type=1, float_data=[1, 2],
            segment=onnx.TensorProto.Segment(begin=0, end=2),
        )  # fmt: skip
        path = write_message(tmp_path, made.SerializeToString())
        assert run("dump", path).out == str(made)

    def test_wrong_wire_types_are_found_inside(self, run: Run, tmp_path: Path) -> None:
        """The dimensions of a shape read as nodes: a string in place of a number, and so on."""
        shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]).type.tensor_type.shape
        path = write_message(tmp_path, shape.SerializeToString())
        ran = run("dump", path, "--type", "GraphProto")
        assert (ran.status, ran.out) == (2, "")
        assert "is not a GraphProto: its field 1 of wire type 0 is not in the NodeProto" in ran.err

    def test_newer_fields_inside_are_no_sign(self, run: Run, tmp_path: Path) -> None:
        newer = b"\xf8\x07\x01"  # field 127
        node = NODE.SerializeToString() + newer
        path = write_message(tmp_path, b"\x0a" + bytes([len(node)]) + node)
        ran = run("dump", path, "node[0].name", "--type", "GraphProto")
        assert (ran.status, ran.out) == (0, "cast\n")
        path.write_bytes(node)
        ran = run("dump", path, "--type", "NodeProto")
        assert (ran.status, ran.out) == (2, "")
        assert "its field 127 of wire type 0 is not in the NodeProto of onnx.proto" in ran.err

    def test_an_empty_file_is_a_message(self, run: Run, tmp_path: Path) -> None:
        path = write_message(tmp_path, b"")
        assert run("dump", path, "--type", "NodeProto") == (0, "", "")
        assert run("dump", path).status == 2

    def test_field_json_and_standard_input(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = NODE.SerializeToString()
        path = write_message(tmp_path, data)
        assert run("dump", path, 'attribute["to"].i', "--type", "NodeProto").out == "1\n"
        found = json.loads(run("dump", path, "--json", "--type=NodeProto").out)
        assert found == json_format.MessageToDict(NODE, preserving_proto_field_name=True)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        assert run("dump", "-", "op_type", "--type", "NodeProto").out == "Cast\n"

    def test_unknown_types_are_refused(self, run: Run, small: Path) -> None:
        ran = run("dump", small, "--type", "NodeProt")
        assert (ran.status, ran.out) == (2, "")
        assert "invalid choice: 'NodeProt'" in ran.err
        assert "NodeProto" in ran.err
        assert ran.err.count("\n") == 1
