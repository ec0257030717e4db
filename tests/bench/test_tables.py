"""Sections of the benchmark's README: a part that is measured gets its own anew."""

from rich.table import Table

from bench.tables import replaced

SECTIONS = (
    "\n### one, load 1.00 before\n\n| a |\n|---|\n| 1 |\n\nA remark.\n\n### two, load 2.00\n\nx\n"
)


def _table() -> Table:
    table = Table("b", "c", title="so many events")
    table.add_row("2", "3")
    return table


def test_the_section_of_a_part_is_written_anew_and_others_stay() -> None:
    assert replaced(SECTIONS, "two", 0.5, [_table(), "so it is"], ["one", "two"]) == (
        "\n### one, load 1.00 before\n\n| a |\n|---|\n| 1 |\n\nA remark.\n"
        "\n### two, load 0.50 before\n\nso many events:\n\n| b | c |\n|---|---|\n| 2 | 3 |\n"
        "\nso it is\n"
    )


def test_a_part_that_is_new_gets_its_place() -> None:
    sections = replaced(SECTIONS, "new", 3, ["x"], ["one", "new", "two"])
    assert [line for line in sections.splitlines() if line.startswith("###")] == [
        "### one, load 1.00 before", "### new, load 3.00 before", "### two, load 2.00",
    ]  # fmt: skip
