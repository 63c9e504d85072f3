"""Write cpp/onnx/operators.def: the operators that ONNX describes, from the installed onnx.

    python tools/generate_operators.py            # writes the table
    python tools/generate_operators.py --check    # has exit status 1 if the table is stale

onnx may be older or newer than the table: `--check` looks at the operators that both know.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from onnx import TensorProto, defs

TABLE = Path(__file__).resolve().parents[1] / "cpp/onnx/operators.def"
UNLIMITED = 255  # inputs or outputs

HEADING = """\
// The operators that ONNX describes, in every version. Written by tools/generate_operators.py.
//
// TYPES(tensor, sequence, optional, optional_sequence, others): types that a parameter may have.
// Bit n is the data type of number n: of a tensor, of the tensors of a sequence, of an optional
// tensor, of the tensors of an optional sequence. `others`: whether maps are among them.
//
// OPERATOR(name, domain, since, state, inputs, outputs, letters of inputs, letters of outputs,
//          types, attributes)
//
// inputs, outputs: the least and the largest number; 255: no limit.
// letters: one for each parameter, which says its type. Parameters with the same letter have the
// same type. Small: the parameter is optional. At the end, * means any number of the last one, +
// each of a type of its own.
// types: the entry of TYPES for each letter, from A on.
// attributes: each name with its type: f FLOAT, i INT, s STRING, t TENSOR, p SPARSE_TENSOR,
// g GRAPH, y TYPE_PROTO, in capitals the list of it. With !, the attribute is required.

"""
ATTRIBUTES = {
    "FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "SPARSE_TENSOR": "p", "GRAPH": "g",
    "TYPE_PROTO": "y", "FLOATS": "F", "INTS": "I", "STRINGS": "S", "TENSORS": "T",
    "SPARSE_TENSORS": "P", "GRAPHS": "G", "TYPE_PROTOS": "Y",
}  # fmt: skip
KINDS = ("tensor", "seq(tensor", "optional(tensor", "optional(seq(tensor")
Types = tuple[int, int, int, int, bool]


def types_of(texts: frozenset[str]) -> Types:
    """Return the masks of types like `seq(tensor(float))`."""
    masks = [0] * len(KINDS)
    others = False
    for text in texts:
        found = re.fullmatch(r"(.*)\((\w+)\)+", text)
        if found is None or found[1] not in KINDS:
            others = True
        else:
            masks[KINDS.index(found[1])] |= 1 << TensorProto.DataType.Value(found[2].upper())
    return (*masks, others)  # type: ignore[return-value]


class Letters:
    """Gives a letter to each type of the parameters of an operator."""

    def __init__(self, schema: defs.OpSchema, kinds: list[Types]) -> None:
        self._allowed = {
            one.type_param_str: frozenset(one.allowed_type_strs) for one in schema.type_constraints
        }
        self._letters: dict[str, str] = {}
        self._kinds = kinds
        self.types: list[int] = []  # of each letter, in `kinds`

    def of(self, parameters: list[defs.OpSchema.FormalParameter]) -> str:
        """Return the letters of some parameters."""
        option = defs.OpSchema.FormalParameterOption
        text = ""
        for one in parameters:
            letter = self._letter(one.type_str)
            text += letter.lower() if one.option == option.Optional else letter
            if one.option == option.Variadic:
                text += "*" if one.is_homogeneous else "+"
        return text

    def _letter(self, text: str) -> str:
        if text not in self._letters:
            types = types_of(self._allowed.get(text, frozenset([text])))
            if types not in self._kinds:
                self._kinds.append(types)
            self.types.append(self._kinds.index(types))
            self._letters[text] = chr(ord("A") + len(self._letters))
        return self._letters[text]


def attributes_of(schema: defs.OpSchema) -> str:
    """Return the names and types of the attributes."""
    return " ".join(
        f"{name}:{ATTRIBUTES[one.type.name]}{'!' * one.required}"
        for name, one in sorted(schema.attributes.items())
    )


def tables() -> tuple[list[Types], dict[tuple[str, str, int], str]]:
    """Return the sets of types, and a row for each domain, name and version."""
    kinds: list[Types] = []
    rows = {}
    schemas = defs.get_all_schemas_with_history()
    for schema in sorted(schemas, key=lambda one: (one.domain, one.name, -one.since_version)):
        letters = Letters(schema, kinds)
        inputs, outputs = letters.of(schema.inputs), letters.of(schema.outputs)
        least_and_most = ", ".join(
            str(min(count, UNLIMITED))
            for count in (
                schema.min_input, schema.max_input, schema.min_output, schema.max_output,
            )
        )  # fmt: skip
        state = "deprecated" if schema.deprecated else "current"
        types = f"({', '.join(map(str, letters.types)) or 0})"
        rows[schema.domain, schema.name, schema.since_version] = (
            f'OPERATOR("{schema.name}", "{schema.domain}", {schema.since_version}, {state}, '
            f'{least_and_most}, "{inputs}", "{outputs}", {types}, "{attributes_of(schema)}")'
        )
    return kinds, rows


def text_of(kinds: list[Types], rows: dict[tuple[str, str, int], str]) -> str:
    """Return the table."""
    lines = [
        f"TYPES({', '.join(f'{mask:#x}' for mask in masks)}, {str(others).lower()})"
        for *masks, others in kinds
    ]
    return HEADING + "\n".join([*lines, "", *rows.values()]) + "\n"


def rows_of(text: str) -> tuple[list[str], dict[tuple[str, str, int], str]]:
    """Return what `text_of` was given."""
    found = re.findall(r'^OPERATOR\("(\w+)", "([\w.]*)", (\d+),.*$', text, re.MULTILINE)
    lines = re.findall(r"^OPERATOR.*$", text, re.MULTILINE)
    rows = {
        (domain, name, int(since)): line
        for (name, domain, since), line in zip(found, lines, strict=True)
    }
    return re.findall(r"^TYPES\((.*)\)$", text, re.MULTILINE), rows


def meaning(row: str, kinds: list[str]) -> str:
    """Return a row with the types in place of their positions."""
    return re.sub(
        r"\(([\d, ]+)\)(?=, \"[^\"]*\"\)$)",
        lambda found: f"({'; '.join(kinds[int(one)] for one in found[1].split(','))})",
        row,
    )


def differences() -> list[str]:
    """Return the rows of the installed onnx that the table does not have."""
    kinds, rows = rows_of(TABLE.read_text())
    new_kinds, new_rows = rows_of(text_of(*tables()))
    newest: dict[str, int] = {}
    for domain, _, since in rows:
        newest[domain] = max(since, newest.get(domain, 0))
    return [
        meaning(row, new_kinds)
        for key, row in new_rows.items()
        if key[2] <= newest.get(key[0], 0)
        and (key not in rows or meaning(rows[key], kinds) != meaning(row, new_kinds))
    ]


def main() -> int:
    """Write or check the table; return 1 if it is stale."""
    if "--check" not in sys.argv[1:]:
        TABLE.write_text(text_of(*tables()))
        return 0
    found = differences()
    if found:
        print("\n".join([*found, "cpp/onnx/operators.def is stale; run make operators"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
