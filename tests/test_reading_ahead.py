"""Instructions are read by a process beside this one: a real process, and what it read is what would be read here."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from heed.child import Child
from heed.reranking import clauses, reading_ahead
from heed.reranking.clauses import stretches
from heed.reranking.reading_ahead import MANY

INSTRUCTIONS = [(f"Fires in town {number}; leave out “recalls”. Nothing on prices.", "eng") for number in range(MANY)]
TIMEOUT = 60  # seconds


@pytest.fixture(autouse=True)
def unread() -> None:
    clauses._stretches.cache_clear()
    clauses._elsewhere.clear()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Child]:
    """The processes that are started."""
    processes: list[Child] = []

    class Noted(Child):
        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            processes.append(self)

    monkeypatch.setattr(reading_ahead, "Child", Noted)
    return processes


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that this process reads."""
    texts: list[str] = []
    sentences = clauses.sentences

    def noted(text: str, lang: str) -> Any:
        texts.append(text)
        return sentences(text, lang)

    monkeypatch.setattr(clauses, "sentences", noted)
    return texts


def has_ended(process: Child) -> bool:
    return process._program.returncode is not None


def test_what_is_read_beside_the_block_is_not_read_again(started: list[Child], read_here: list[str]) -> None:
    expected = [stretches(*instruction) for instruction in INSTRUCTIONS]
    clauses._stretches.cache_clear()
    read_here.clear()
    with reading_ahead.reading_ahead([*INSTRUCTIONS, *INSTRUCTIONS]):
        end = time.monotonic() + TIMEOUT
        while not started[0].ready and time.monotonic() < end:
            time.sleep(0.01)
    assert [stretches(*instruction) for instruction in INSTRUCTIONS] == expected
    assert read_here == []
    assert has_ended(started[0])
    _, (start, end_of_excluded, sign), _ = expected[0]  # places in the text as it is written, with its quotes
    assert (INSTRUCTIONS[0][0][start:end_of_excluded], sign) == ("“recalls”.", -1)


def test_few_instructions_start_no_process(started: list[Child]) -> None:
    with reading_ahead.reading_ahead(INSTRUCTIONS[1:]), reading_ahead.reading_ahead(INSTRUCTIONS[:3] * MANY):
        pass
    assert started == []


@pytest.mark.parametrize("lost", [False, True])
def test_what_was_not_read_in_time_is_read_here(started: list[Child], read_here: list[str], lost: bool) -> None:
    with reading_ahead.reading_ahead(INSTRUCTIONS):
        if lost:
            started[0]._program.kill()
            started[0]._program.wait()
            assert started[0].ready  # the end of the pipe, in place of results
    assert len(stretches(*INSTRUCTIONS[0])) == 3
    assert read_here == [clauses._normalised(INSTRUCTIONS[0][0])]
    assert has_ended(started[0])


def test_an_error_in_the_block_ends_the_process(started: list[Child]) -> None:
    with pytest.raises(ZeroDivisionError), reading_ahead.reading_ahead(INSTRUCTIONS):
        raise ZeroDivisionError
    assert has_ended(started[0])
