"""Messages and progress, as a terminal, a pipe and a program that uses the library see them."""

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
import torch
from conftest import ROOT

from heed.compute import Compute
from heed.models.local import Batches
from heed.progress import bar, counting, log, plain_rate, recording, stepped, timed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock that a test moves by hand."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    yield now


def test_without_a_terminal_progress_is_a_line_a_minute(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "heed"):
        for _ in bar(range(10), 10, "work", "topics"):
            clock[0] += 25  # seconds
    # asked for topic 3 at 75 s, 6 at 150, 9 at 225: a minute or more after the line before
    assert caplog.messages == [
        "work: 3 of 10 topics, 2 min 55 s left",
        "work: 6 of 10 topics, 1 min 40 s left",
        "work: 9 of 10 topics, 25 s left",
    ]


def test_progress_inside_a_batch_is_that_of_its_tokens(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    def read(batch: list[int]) -> list[int]:
        clock[0] += 60
        return batch

    texts = Batches("m", torch.device("cpu"), Compute("cpu", batch_size=1))
    with caplog.at_level(logging.INFO, "heed"), counting(8, "m vectors", "documents") as steps:
        texts.read([10, 50, 20, 20], read)  # 4 documents of 100 tokens: after 50 tokens 2 are as good as done
        steps.reach(4)  # which they are
        texts.read([10, 10, 10, 10], read)
    stepped(1)  # nothing counts any more
    assert caplog.messages == [
        "m vectors: 2 of 8 documents, 3 min 00 s left",  # 60 s for 2
        "m vectors: 3 of 8 documents, 3 min 20 s left",  # 70 tokens: 2.8
        "m vectors: 4 of 8 documents, 3 min 00 s left",  # 90: 3.6
        "m vectors: 4 of 8 documents, 4 min 00 s left",
        *(f"m vectors: {done} of 8 documents, {left} left" for done, left in ((5, "3 min 00 s"), (6, "2 min 00 s"))),
        "m vectors: 7 of 8 documents, 1 min 00 s left",
        "m vectors: 8 of 8 documents",
    ]


def test_rates_are_plain_numbers() -> None:
    assert [plain_rate(rate) for rate in (24_700.4, 99.6, 9.96, 0.5, 0.0412)] == ["24,700", "100", "10", "0.5", "0.041"]


def test_a_total_that_is_not_known_is_not_guessed(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "heed"):
        for _ in bar(range(2), 0, "work", "documents"):
            clock[0] += 60
    assert caplog.messages == ["work: 1 documents"]


def test_quiet_means_no_progress(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "heed"):
        for _ in bar(range(10), 10, "work", "topics"):
            clock[0] += 100
    assert caplog.messages == []


def test_the_library_prints_nothing_unless_a_program_asks_for_its_messages() -> None:
    code = "from heed.progress import log; log.info('on the way'); log.warning('look at this')"
    for setup, said in (("", "look at this\n"), ("import logging; logging.basicConfig(level='INFO'); ", "on the way")):
        done = subprocess.run(
            [sys.executable, "-c", setup + code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout == "" and said in done.stderr
        assert ("on the way" in done.stderr) == bool(setup)


def test_timings_belong_to_who_records_them() -> None:
    def work(stage: str) -> None:
        with recording([]) as mine:
            for _ in range(50):
                with timed(stage):
                    time.sleep(0)
        found[stage] = [timing["stage"] for timing in mine]

    found: dict[str, list[str]] = {}
    with recording([]) as outer:
        threads = [threading.Thread(target=work, args=(stage,)) for stage in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {"a": ["a"] * 50, "b": ["b"] * 50} and outer == []
    with timed("nobody records this"):
        log.debug("nothing happens")
