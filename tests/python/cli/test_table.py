"""Tables: rich on a terminal, tab-separated lines in a pipe, without rich and for long lists."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

import pytest
from support.models.hard_names import EVIL_NAME, EVIL_SHOWN

from onnxmap.cli import table

COLUMNS = [table.Name("name"), table.Column("type"), table.Number("bytes", style="dim")]
ROWS = [("w[bold].1", "FLOAT", "80"), (f"{EVIL_NAME}\t:smile:", "[red]INT8", "1,000")]
ESCAPED = rf"{EVIL_SHOWN}\t:smile:"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a terminal of 80 columns with colours."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")


def on_terminal(
    rows: Sequence[Sequence[str]], columns: Sequence[table.Column] = COLUMNS, footer: str = ""
) -> str:
    """What a terminal gets."""
    with redirect_stdout(Terminal()) as terminal:
        table.print_table(columns, rows, footer=footer)
    return terminal.getvalue()


def without_codes(text: str) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()


TABBED = ["name\ttype\tbytes", "w[bold].1\tFLOAT\t80", f"{ESCAPED}\t[red]INT8\t1,000"]
PIPED = [line.replace("1,000", "1000") for line in TABBED]


class TestPlainLines:
    def test_a_pipe_gets_tabs_and_no_footer(self, capsys: pytest.CaptureFixture[str]) -> None:
        table.print_table(COLUMNS, ROWS, footer="2 tensors")
        assert capsys.readouterr().out.splitlines() == PIPED
        table.print_table([table.Name(), table.Column(), table.Number()], ROWS)
        assert capsys.readouterr().out.splitlines() == PIPED[1:]

    def test_a_pipe_gets_numbers_and_shapes_in_one_word(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        columns = [table.Name(), table.Shape(), table.Number()]
        table.print_table(columns, [("a, b", "[16, N]", "16,777,216")])
        assert capsys.readouterr().out == "a, b\t[16,N]\t16777216\n"
        table.print_table(columns, [("and more",)])
        assert capsys.readouterr().out == "and more\n"

    def test_a_terminal_without_rich_gets_tabs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "rich", None)
        assert on_terminal(ROWS, footer="2 tensors").splitlines() == [*TABBED, "2 tensors"]

    def test_long_tables_are_not_laid_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(table, "_MOST_ROWS", 1)
        assert on_terminal(ROWS, footer="2 tensors").splitlines() == [*TABBED, "2 tensors"]

    def test_the_middle_of_enormous_cells_is_cut(self, capsys: pytest.CaptureFixture[str]) -> None:
        table.print_table([table.Name()], [("l" * 1000,), ("f" + "n" * 5_000_000 + "l",)])
        longest, cut = capsys.readouterr().out.splitlines()
        assert longest == "l" * 1000
        assert cut == f"f{'n' * 499}\N{HORIZONTAL ELLIPSIS}{'n' * 498}l"


class TestTerminal:
    def test_columns_are_aligned_and_text_is_no_markup(self) -> None:
        out = on_terminal(ROWS, footer="2 [bold]tensors")
        *lines, footer = without_codes(out)
        width = len(ESCAPED)
        assert lines == [
            f"{'name':{width}}  {'type':9}  bytes",
            f"{'w[bold].1':{width}}  {'FLOAT':9}     80",
            f"{ESCAPED}  [red]INT8  1,000",
        ]
        assert footer == "2 [bold]tensors"
        assert "\x1b[36m" in out  # names are cyan
        assert "\x1b[31m" not in out  # which the evil name contains

    def test_names_go_on_in_the_next_line_and_numbers_do_not(self) -> None:
        name = ".".join(f"part{i}" for i in range(30))
        _, first, *others = without_codes(on_terminal([(name, "FLOAT", "1,000,000")]))
        assert first.endswith("FLOAT  1,000,000")
        assert first.split()[0] + "".join(line.strip() for line in others) == name
        assert max(map(len, [first, *others])) <= 80

    @pytest.mark.parametrize(
        ("length", "headings"),
        [
            (46, ["name", "where", "bytes", "in"]),
            (60, ["name", "bytes"]),
            (15, ["name", "where", "bytes", "in"]),
        ],
    )
    def test_spare_columns_leave_their_room_to_the_names(
        self, length: int, headings: list[str]
    ) -> None:
        columns = [
            table.Name("name"),
            table.Column("where", spare=True),
            table.Number("bytes"),
            table.Text("in", spare=True),
        ]
        rows = [("n" * 60, "w" * (length - 10), "1,000", "data")]
        lines = without_codes(on_terminal(rows, columns))
        assert lines[0].split() == headings
        assert max(map(len, lines)) <= 80

    @pytest.mark.parametrize("off", ["NO_COLOR", "TERM"])
    def test_colours_can_be_turned_off(self, off: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(off, "dumb")
        out = on_terminal(ROWS, footer="2 tensors")
        assert "\x1b" not in out
        assert len(out.splitlines()) == 4

    def test_wide_characters_keep_the_columns(self) -> None:
        out = on_terminal([("重み", "INT8", "1"), ("plain", "INT8", "1")])
        wide, plain = (line[: line.index("INT8")] for line in without_codes(out)[1:])
        assert len(wide) == len(plain) - 2  # each of the two characters takes two columns
