import pytest

from driftline.cli.tables import print_table


def test_a_plain_table_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name", "n"], [["a", "1"], ["bb", "22"]], {1})
    assert capsys.readouterr().out == "name   n\na      1\nbb    22\n"
