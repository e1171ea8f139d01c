"""Whatever has changed in a results folder is measured, and shown, anew."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from chats import Turned
from drinks import DRINKS, TEXTS, Words, assert_ties_are_warned_of, collection, experiment, tie_warnings
from letter_encoder import LetterCounts

from heed import (
    Collection,
    DataError,
    Document,
    Judging,
    Query,
    Results,
    SystemRuns,
    Topic,
    measure,
)
from heed.experiment.measuring import refresh
from heed.experiment.merged_runs import add_merged
from heed.models.registry.entries import Model
from heed.models.rerankers.listwise import ListwiseReranker, Message
from heed.report.page import page
from heed.report.results import read_tree
from heed.reranking.similarity import Decompose
from heed.types import SubtopicGrades

FILES = ("summary.json", "per_topic.json", "topics.json", "report.html", "manifest.yml")


def measured(folder: Path, of: Collection | None = None, *systems: Words) -> Results:
    with experiment(folder, of) as asked:
        return asked.evaluate([asked.retrieve(system) for system in systems or (Words(),)])


def written(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return each file's bytes and the time it was written."""
    return {name: ((path := folder / DRINKS / name).read_bytes(), path.stat().st_mtime_ns) for name in FILES}


def other_grades(of: Collection) -> Collection:
    return replace(of, judging=Judging({"original": {"1": {"a": 1, "c": 1}}, "changed": {"1": {"a": 0, "c": 1}}}))


def with_subtopics(of: Collection) -> Collection:
    both = {"x": {"a": 1}, "y": {"c": 1}}  # the same grades by document
    return replace(of, judging=of.judging._replace(qrels={**of.judging.qrels, "original": {"1": SubtopicGrades(both)}}))


def another_measure(of: Collection) -> Collection:
    return replace(of, judging=of.judging.also(["P@1"]))


def traps(of: Collection) -> Collection:
    return replace(of, judging=of.judging._replace(traps={"1": {"b"}}))


def excluded(of: Collection) -> Collection:
    return replace(of, judging=of.judging._replace(excluded={"1": {"a"}}))


def another_topic(of: Collection) -> Collection:
    return replace(of, topics=[of.topics[0]._replace(query="milk")])


@pytest.mark.parametrize("change", [other_grades, with_subtopics, another_measure, traps, excluded, another_topic])
def test_what_has_changed_is_measured_as_in_an_empty_folder(
    tmp_path: Path, change: Callable[[Collection], Collection]
) -> None:
    measured(tmp_path / "used")
    before = written(tmp_path / "used")["per_topic.json"][1]
    changed = change(collection())
    assert measured(tmp_path / "used", changed).rows == measured(tmp_path / "empty", changed).rows
    after = written(tmp_path / "used")
    assert after["per_topic.json"][1] != before  # written again
    assert {name: file[0] for name, file in after.items()} == {
        name: file[0] for name, file in written(tmp_path / "empty").items()
    }


def test_another_run_of_the_same_name_is_measured(tmp_path: Path) -> None:
    measured(tmp_path / "used")
    assert measured(tmp_path / "used", None, Words(-1.0)).rows == measured(tmp_path / "empty", None, Words(-1.0)).rows


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["cut", "removed"])
def test_a_damaged_file_of_results_is_written_again(tmp_path: Path, name: str, harm: str) -> None:
    measured(tmp_path)
    path = tmp_path / DRINKS / name
    before = path.read_bytes()
    if harm == "cut":
        path.write_bytes(before[:-9])
    else:
        path.unlink()
    measured(tmp_path)
    assert path.read_bytes() == before


def test_results_whose_writing_was_stopped_are_written_again(tmp_path: Path) -> None:
    """A kill between two files leaves both whole, but not of one experiment."""

    @measure("stopping", config=1)
    def stopping(run: object, qrels: object) -> dict[str, float]:
        raise KeyboardInterrupt

    measured(tmp_path)
    with pytest.raises(KeyboardInterrupt), experiment(tmp_path) as stopped:
        stopped.evaluate(stopped.retrieve(Words(-1.0)), measures=[stopping])
    refresh(tmp_path / DRINKS)
    assert read_tree(tmp_path / DRINKS)[0].rows == list(measured(tmp_path / "other", None, Words(-1.0)).rows)
    measured(tmp_path)
    measured(tmp_path / "empty")
    assert written(tmp_path)["summary.json"][0] == written(tmp_path / "empty")["summary.json"][0]


@pytest.mark.parametrize("elsewhere", [{}, {"original": {"1": {"c": 1.0, "b": 2.0, "a": 2.0}}}])
def test_the_report_of_runs_in_memory_is_that_of_their_files(
    tmp_path: Path, elsewhere: dict[str, dict[str, dict[str, float]]]
) -> None:
    """Those that ran elsewhere may come in another order than their file has."""
    with experiment(tmp_path) as asked:
        systems = [asked.retrieve(Words())]
        asked.evaluate(systems + ([asked.add("added", elsewhere)] if elsewhere else []))
    report = (tmp_path / DRINKS / "report.html").read_text()
    assert report == page(read_tree(tmp_path / DRINKS), tmp_path / DRINKS)


def test_figures_of_earlier_runs_are_not_shown(tmp_path: Path) -> None:
    """A kill between runs and figures leaves both whole."""
    measured(tmp_path)
    with experiment(tmp_path) as asked:
        asked.retrieve(Words(-1.0))  # and no evaluate()
    refresh(tmp_path / DRINKS)
    assert read_tree(tmp_path / DRINKS)[0].rows == list(measured(tmp_path / "other", None, Words(-1.0)).rows)


def test_a_run_that_was_changed_in_memory_is_measured_as_it_is_there(tmp_path: Path) -> None:
    measured(tmp_path)
    with experiment(tmp_path) as asked:
        words: SystemRuns = asked.retrieve(Words())
        words["original"]["1"]["b"] = 9.0
        assert asked.evaluate(words).per_topic("words", "original", "AP") == {"1": pytest.approx((1 / 2 + 2 / 3) / 2)}
    assert measured(tmp_path).per_topic("words", "original", "AP") != {"1": pytest.approx((1 / 2 + 2 / 3) / 2)}


def test_a_reused_run_whose_file_was_changed_before_it_is_read_is_an_error(tmp_path: Path) -> None:
    measured(tmp_path)
    words = experiment(tmp_path).retrieve(Words())
    path = tmp_path / DRINKS / "words.original.run"
    path.write_text(path.read_text().replace("Q0 a", "Q0 b"))
    with pytest.raises(DataError, match=r"words\.original\.run: was changed since"):
        words["original"]


def test_a_topic_for_which_nothing_is_found_is_told_each_time(tmp_path: Path) -> None:
    class Nothing(Words):
        def search(self, queries: object, depth: int) -> dict[str, dict[str, float]]:
            return {}

    told = [measured(tmp_path, None, Nothing()).warnings for _ in range(2)]
    assert told[0] == told[1] and any("words.query.run: nothing found for 1 of 1 topics: 1" in one for one in told[0])


class Flat:
    """A reranker with one score for all."""

    name = "flat"

    def __init__(self, config: object) -> None:
        if config:
            self.config = config

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        return [0.5] * len(documents)


@pytest.mark.parametrize("config", [{"flat": 1}, None])
def test_one_score_for_all_documents_is_warned_of(config: object, tmp_path: Path) -> None:
    for _ in range(2):  # made, and used again
        assert_ties_are_warned_of(tmp_path, Flat(config))


@pytest.mark.parametrize(
    ("system", "empty"),
    [("polarity", "of the"), ("rank_bm25", "of the"), (Decompose(LetterCounts()), "…"), ("lsa", "ぬ")],
)
def test_a_query_without_a_term_is_warned_of_by_each_lexical_system(system: object, empty: str, tmp_path: Path) -> None:
    topics = [Topic("1", "eng", "tea with milk", {}), Topic("2", "eng", empty, {})]
    [line] = tie_warnings(tmp_path, topics, system)
    assert "one score for all documents in 1 of 2 topics (2): " in line
    assert line.endswith("; a lexical system gives it to a query of stop words alone")


class Local(Turned):
    """A chat that answers in this process, and not about coffee."""

    def answer(self, conversation: list[Message], ranking: str) -> str:
        return "No." if "coffee" in conversation[-1]["content"].partition("[1]")[0] else ranking


def test_a_local_model_is_not_asked_again_what_it_did_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = [Topic(qid, "eng", query, {}) for qid, query in (("1", "tea"), ("2", "coffee"))]
    chat = ListwiseReranker(Model("org/local"), Local(), "rank_zephyr")
    for again in (False, True):
        with experiment(tmp_path, collection(topics=topics)) as asked:
            runs = asked.rerank(chat, {"1": [*TEXTS], "2": [*TEXTS]})
        said = capsys.readouterr().err
        line = "local.query.run: replies that name no document: 1, in 1 of 2 topics (2), refused, empty, cut off, or a"
        assert f"{line} thought without end; the pool's order stays there\n" in said
        assert ("local.query.run: used again" in said, runs.entry["unanswered"]) == (again, 1)


def test_merged_lists_count_the_replies_of_each_language(tmp_path: Path) -> None:
    topics = [Topic(qid, "eng", query, {}) for qid, query in (("1", "tea"), ("2", "coffee"))]
    chat = ListwiseReranker(Model("org/local"), Local(), "rank_zephyr")
    with experiment(tmp_path / "part", collection(topics=topics)) as asked:
        runs = asked.rerank(chat, {"1": [*TEXTS], "2": [*TEXTS]})
    with experiment(tmp_path / "whole", collection(topics=topics)) as whole:
        of_languages = {"eng": [runs], "deu": [whole.add("local", {"query": {}})]}
        results = whole.evaluate(add_merged(whole, of_languages, "score"))
    [entry] = results.summary()["systems"]
    assert (entry["system"], entry["unanswered"], entry["documents"]) == ("local", 1, 6)
    assert "local: replies that name no document: 1, whose topics each language's results name" in results.warnings


def test_results_in_folders_below_are_in_the_report(tmp_path: Path) -> None:
    measured(tmp_path)
    below = tmp_path / DRINKS / "below"
    below.mkdir()
    other = (tmp_path / DRINKS / "summary.json").read_text().replace("drinks", "juices")
    (below / "summary.json").write_text(other)
    measured(tmp_path)
    assert "juices" in (tmp_path / DRINKS / "report.html").read_text()
