"""How lists fit a terminal: which columns are narrowed or left out, and where cells are cut."""

from __future__ import annotations

from onnxmap.cli.columns import Column, lay_out
from onnxmap.cli.screen import Screen


def lines(width: int, *columns: Column) -> list[str]:
    screen = Screen(width, is_terminal=True, has_colours=False)
    return list(lay_out(columns, screen))


def test_nothing_is_cut_if_all_fits() -> None:
    """Not even a cell that is much longer than all others."""
    names = ["a", "b", "c" * 60]
    table = lines(80, Column("name", names, narrowest=8), Column("n", ["1", "2", "3"]))
    assert [line.split()[0] for line in table[1:]] == names


def test_a_very_long_cell_is_cut_before_the_others() -> None:
    names = ["n" * 12] * 99 + ["c" * 60]
    texts = ["t" * 20] * 100
    table = lines(40, Column("name", names, narrowest=4), Column("text", texts, narrowest=4))
    assert table[1] == f"{names[0].ljust(18)}  {texts[0]}"
    assert "…" in table[-1].split()[0]


def test_the_widest_columns_are_narrowed_first() -> None:
    columns = [Column(name, [name * width], narrowest=5) for name, width in (("a", 30), ("b", 20))]
    (cells,) = (line.split() for line in lines(48, Column("name", ["x" * 10]), *columns)[1:])
    assert [len(cell) for cell in cells] == [10, 17, 17]


def test_columns_that_are_not_needed_leave_their_room_to_the_names() -> None:
    columns = [
        Column("name", ["n" * 30], narrowest=5),
        Column("where", ["w" * 30], narrowest=10, droppable=True),
        Column("text", ["t" * 30], narrowest=5),
    ]
    assert lines(60, *columns)[0].split() == ["name", "where", "text"]
    assert lines(45, *columns)[0].split() == ["name", "text"]
    assert lines(45, *columns)[1].split()[0] == "n" * 30


def test_cells_are_cut_where_they_stay_apart() -> None:
    ends_differ = [f"graph.a_long_beginning.{i}" for i in range(20)]
    middles_differ = [f"graph.a_beginning.node[{i}].attribute.value.t" for i in range(20)]
    for names in (ends_differ, middles_differ):
        shown = lines(24, Column("name", names, narrowest=4))[1:]
        assert max(map(len, shown)) == 24
        assert len(set(shown)) == len(names)
    assert lines(8, Column("name", ["abc.defg.hij"], narrowest=4))[1] == "abc.…hij"
