import pytest

from driftline.cli.errors import guarded
from driftline.event_log.bad import BadEvent, BadInput, Unsayable
from driftline.running.environment import conceal
from driftline.running.problems import Problem


def raising(error: BaseException) -> object:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (Problem("it is\nso"), 2, "driftline: it is so\n"),
        (BadInput(BadEvent("a", 3, "why", b"")), 2, "a:3: why\n"),
        (PermissionError(13, "Permission denied", "f"), 2, "driftline: f: Permission denied\n"),
        (OSError(28, "No space left on device"), 2, "driftline: No space left on device\n"),
        (MemoryError(), 2, "driftline: there is not enough memory\n"),
        (Unsayable("a holds NaN"), 2, "driftline: a holds NaN\n"),
        (OverflowError("a sum does not fit"), 2, "driftline: a sum does not fit\n"),
        (KeyError("x"), 2, "driftline: unexpected KeyError: 'x' (--debug shows where)\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_one_line(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(lambda: raising(error), debug=False) == code
    assert capsys.readouterr().err == said


def test_with_debug_the_stack_trace_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    conceal("of the night", "${SECRET}")
    error = Problem("the password of the night is wrong")
    assert guarded(lambda: raising(error), debug=True) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith("Problem: the password ${SECRET} is wrong\n")
    assert guarded(lambda: raising(error), debug=False) == 2
    assert capsys.readouterr().err == "driftline: the password ${SECRET} is wrong\n"


def test_the_command_says_the_code() -> None:
    assert guarded(lambda: 3, debug=False) == 3
    assert guarded(lambda: None, debug=False) == 0
