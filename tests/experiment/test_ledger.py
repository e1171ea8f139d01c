"""A results folder is a ledger: finished runs stay, and all systems in it are measured together."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from drinks import Twice, Words, collection

from heed import Collection, Document, Documents, Experiment, Query, Results, UsageError, measure
from heed.errors import BusyError
from heed.experiment import ledger, run_files
from heed.experiment.measuring import refresh
from heed.files import locked
from heed.formats.trec_files import read_run
from heed.report.results import read_tree
from heed.reranking.maxp import Cut
from heed.types import SubtopicGrades, Topic
from pipelines import compare, report

DRINKS = Path("runs/drinks/eng")
CONDITIONS = ("changed", "original", "query")
UNDER = "query, original, changed"
WORDS, TWICE, OVER = ([f"{name}.{condition}" for condition in CONDITIONS] for name in ("words", "twice", "over"))


class Over:
    """A reranker whose scores are the words in common, times ``weight``."""

    name = "over"
    config: Any = None

    def __init__(self, weight: float = 1.0, config: Any = 1) -> None:
        self._weight = weight
        if config:
            self.config = {"weight": weight}

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        return [self._weight * len({*query.text.split()} & {*document.text.split()}) for document in documents]


def evaluate(
    folder: Path,
    *systems: Any,
    of: Collection | None = None,
    conditions: Sequence[str] = (),
    depth: int = 3,
    maxp: Cut | None = None,
) -> Results:
    """Return the results of retrievers, and of rerankers over their pool."""
    with Experiment(
        of or collection(), indexes=folder / "indexes", out=folder / "runs", conditions=conditions
    ) as asked:
        searched = [asked.retrieve(system) for system in systems if isinstance(system, Words)]
        reranked = [asked.rerank(system, searched, depth, maxp) for system in systems if isinstance(system, Over)]
        return asked.evaluate([*reversed(reranked), *reversed(searched)])  # their order decides nothing


def runs(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder / DRINKS).as_posix()[:-4] for path in (folder / DRINKS).rglob("*.run"))


def measured(folder: Path) -> list[str]:
    """Return the systems of summary.json, each of which has its runs with their notes."""
    summary = json.loads((folder / DRINKS / "summary.json").read_text())
    systems = [entry["system"] for entry in summary["systems"]]
    assert list(dict.fromkeys(row["system"] for row in summary["rows"] if ">" not in row["condition"])) == systems
    for run in (folder / DRINKS).rglob("*.run"):
        assert (run.parent / ".made" / f"{run.name}.json").exists()
    return systems


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of results but for times and locks."""
    paths = (path for path in (folder / DRINKS).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.name != "timings.json"}


def test_all_systems_of_the_folder_are_measured_in_the_order_of_their_names(tmp_path: Path) -> None:
    for folder, commands in (("one", ((Words(), Over()), (Twice(),))), ("two", ((Twice(),), (Words(), Over())))):
        for systems in commands:
            results = evaluate(tmp_path / folder, *systems)
        assert [entry["system"] for entry in results.systems] == ["twice", "words", "over"]
        assert measured(tmp_path / folder) == ["twice", "words", "over"]
    before, one, two = content(tmp_path / "one"), content(tmp_path / "one"), content(tmp_path / "two")
    for files in (one, two):  # the first baseline is one of those that came first, and is in the report, too
        name = f"{DRINKS}/summary.json"
        files[name] = json.dumps(json.loads(files[name]) | {"first_baseline": ""}).encode()
    assert {name for name in one if one[name] != two[name]} <= {f"{DRINKS}/manifest.yml", f"{DRINKS}/report.html"}
    assert evaluate(tmp_path / "one", Twice()).rows == results.rows and content(tmp_path / "one") == before


def test_the_report_says_how_many_of_the_topics_are_judged(tmp_path: Path) -> None:
    topics = [Topic(qid, "eng", "tea", {"original": "milk"}) for qid in ("1", "2", "3")]
    evaluate(tmp_path, Words(), of=collection(topics=topics))
    assert "1 of 3 topics · 3 documents · 1 system" in (tmp_path / DRINKS / "report.html").read_text(encoding="utf-8")


def test_a_reranker_again_with_another_depth_moves_the_first_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(tmp_path, Words(), Over())
    before = content(tmp_path)
    capsys.readouterr()
    evaluate(tmp_path, Words(), Over(), depth=1)
    assert runs(tmp_path) == [*(f"earlier/1/{name}" for name in OVER), *OVER, *WORDS]
    for name in OVER:
        for path in (f"{name}.run", f".made/{name}.run.json"):
            assert (tmp_path / DRINKS / "earlier/1" / path).read_bytes() == before[f"{DRINKS}/{path}"]
    assert (
        f"over: the pool is now of words under {UNDER} to depth 1 (1 document), was of words under {UNDER} to depth 3 "
        f"(3 documents); its earlier runs are in {tmp_path / DRINKS}/earlier/1; to keep both in one report, give one "
        "of them another name: NAME=SYSTEM"
    ) in capsys.readouterr().err
    assert measured(tmp_path) == ["words", "over"]


def test_a_retriever_that_is_added_changes_the_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(tmp_path, Words(), Over(), depth=2)
    results = evaluate(tmp_path, Words(), Twice(), Over(), depth=3)
    assert (
        f"over: the pool is now of twice and words under {UNDER} to depth 3 (3 documents), was of words under {UNDER} "
        "to depth 2 (2 documents)"
    ) in capsys.readouterr().err
    assert results.systems[2]["first_stages"] == ["twice", "words"] and len(runs(tmp_path)) == 12


@pytest.mark.parametrize("config", [1, None])
def test_runs_of_the_same_bytes_are_not_moved(tmp_path: Path, config: Any) -> None:
    evaluate(tmp_path, Words(), Over(2.0, config))
    before = content(tmp_path)
    evaluate(tmp_path, Words(), Over(2.0, config))
    assert content(tmp_path) == before
    evaluate(tmp_path, Words(), Over(3.0, config), conditions=["original"])  # other scores
    assert runs(tmp_path) == [*(f"earlier/1/{name}" for name in OVER), "over.original", *WORDS]


@pytest.mark.parametrize(("maxp", "name"), [(None, "over"), (Cut(), "over+maxp")])
def test_another_condition_alone_completes_a_system(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, maxp: Cut | None, name: str
) -> None:
    """The pool stays that of the first command, so that both runs rescore the same documents."""
    of = collection(topics=[Topic("1", "eng", "tea", {"original": "milk", "changed": "with coffee"})])
    finished = [f"{name}.changed", f"{name}.original", *WORDS[:2]]
    said = f"{name}: rescores the pool of its finished runs, made under original; another name has its own"
    for conditions, times in (("original", 0), ("changed", 1), ("original", 2)):
        results = evaluate(tmp_path, Words(), Over(), of=of, conditions=[conditions], depth=2, maxp=maxp)
        assert caplog.text.count(said) == times
    assert runs(tmp_path) == finished
    assert {row["condition"] for row in results.rows if row["system"] == name} == {
        "original", "changed", "original>changed"
    }  # fmt: skip
    caplog.clear()
    evaluate(tmp_path, Words(), Over(), of=of, depth=1, maxp=maxp)
    evaluate(tmp_path, Words(), Over(), of=of, depth=1, maxp=maxp)
    assert f"{name}: the pool is now" in caplog.text and said not in caplog.text, "its own pool is no news"


def test_the_line_of_a_change_has_the_system_as_it_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (2, 3):
        with Experiment(collection(), indexes=tmp_path / "indexes", out=tmp_path / "runs") as asked:
            asked.rerank("mine=rank_bm25", {"1": ["a", "b"]}, maxp=Cut(words, 1))
    assert "mine+maxp: maxp was" in (err := capsys.readouterr().err) and "another name: NAME=rank_bm25\n" in err


def test_a_changed_narrative_moves_all_conditions_and_takes_back_what_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(tmp_path, Words(), Twice())
    edited = collection().topics[0]._replace(instructions={"original": "milk", "changed": "coffee"})
    evaluate(tmp_path, Words(), of=collection(topics=[edited]))
    assert runs(tmp_path) == [*(f"earlier/1/{name}" for name in TWICE + WORDS), *WORDS]
    said = capsys.readouterr().err
    assert f"twice: its runs are of other documents or topics; they are in {tmp_path / DRINKS}/earlier/1" in said
    assert f"words: the topics have changed; its earlier runs are in {tmp_path / DRINKS}/earlier/1\n" in said
    assert measured(tmp_path) == ["words"]
    fewer = Documents([Document("a", "", "tea"), Document("b", "", ""), Document("c", "", "")])
    evaluate(tmp_path, Words(), of=collection(source=fewer), conditions=["query"])
    assert "words: the documents have changed" in capsys.readouterr().err
    assert runs(tmp_path)[-4:] == [*(f"earlier/2/{name}" for name in WORDS), "words.query"]


def test_topics_that_lose_an_instruction_are_named_as_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(tmp_path, Words())
    shorter = collection().topics[0]._replace(instructions={"original": "milk"})
    evaluate(tmp_path, Words(), of=collection(topics=[shorter]))
    assert f"words: the topics have changed; its earlier runs are in {tmp_path / DRINKS}/earlier/1\n" in (
        capsys.readouterr().err
    )


def test_more_topics_are_other_topics(tmp_path: Path) -> None:
    evaluate(tmp_path, Words(), Twice())
    one = collection().topics[0]
    evaluate(tmp_path, Twice(), of=collection(topics=[one, one._replace(qid="2")]), conditions=["changed"])
    assert runs(tmp_path) == [*(f"earlier/1/{name}" for name in TWICE + WORDS), "twice.changed"]


def test_runs_that_nobody_knows_are_not_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(tmp_path, Words())
    folder = tmp_path / DRINKS
    (folder / "mine.original.run").write_text("1 Q0 a 1 1.0 mine\n")
    (folder / "twice.original.run").write_text("1 Q0 a 1 1.0 mine\n")
    (folder / "notes.run").write_text("not a condition's\n")
    (folder / "words.original.run").write_text("1 Q0 a 1 1.0 changed\n")
    with Experiment(collection(), indexes=tmp_path / "indexes", out=tmp_path / "runs") as asked:
        asked.evaluate([asked.retrieve(Twice())])
    assert [path for path in runs(tmp_path) if "earlier" in path] == ["earlier/1/twice.original"]
    assert (
        f"{folder}: not measured, no note in .made/NAME.run.json says what it was made of: mine.original.run, "
        "words.original.run; copy the notes too, or give it as a run made elsewhere"
    ) in capsys.readouterr().err
    assert "words, original" not in [f"{row['system']}, {row['condition']}" for row in read_tree(folder)[0].rows]


@pytest.mark.parametrize("noted", [True, False])
def test_somebodys_runs_under_the_same_names_are_moved_before_they_are_made(
    tmp_path: Path, noted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mate's runs were copied over those of the folder; or edited by hand."""
    evaluate(tmp_path, Words(), Over())
    before, folder = content(tmp_path), tmp_path / DRINKS
    for name in OVER:
        (folder / f"{name}.run").write_text("1 Q0 a 1 1.0 mate\n")
        if not noted:
            (folder / f".made/{name}.run.json").unlink()
    capsys.readouterr()
    evaluate(tmp_path, Words(), Over())
    why = "its note lists other bytes" if noted else "it has no note"
    said = (
        f"over: somebody changed or brought over.changed.run ({why}); its earlier runs are in {folder / 'earlier/1'}\n"
    )
    assert capsys.readouterr().err.count(said) == 1
    assert {(folder / f"earlier/1/{name}.run").read_text() for name in OVER} == {"1 Q0 a 1 1.0 mate\n"}
    now = content(tmp_path)
    assert {name: now[name] for name in before} == before
    evaluate(tmp_path, Words(), Over())
    assert content(tmp_path) == now


def test_runs_made_elsewhere_are_moved_only_where_their_bytes_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for scores, expected in (
        ({"c": 1.0, "a": 2.0}, ["added.original"]),
        ({"a": 2.0, "c": 1.0}, ["added.original"]),
        ({"a": 1.0, "c": 2.0}, ["added.original", "earlier/1/added.original"]),
    ):
        with Experiment(collection(), indexes=tmp_path / "indexes", out=tmp_path / "runs") as asked:
            added = asked.add("added", {"original": {"1": scores}})
            asked.evaluate(added)
            with pytest.raises(UsageError, match="system added: named twice"):
                asked.evaluate([added, added])
        assert runs(tmp_path) == expected
    assert "give one of them another name: NAME=FILE" in capsys.readouterr().err
    evaluate(tmp_path, Words())
    with Experiment(collection(), indexes=tmp_path / "indexes", out=tmp_path / "runs") as asked:
        asked.add("added", {"changed": {"1": {"a": 1.0}}})
        asked.evaluate([])
    assert measured(tmp_path) == ["words", "added"] and "added.changed" in runs(tmp_path)
    entries = json.loads((tmp_path / DRINKS / "summary.json").read_text())["systems"]
    assert ["pool" in entry for entry in entries] == [True, False], "what runs made elsewhere rescored is not known"


class Instructed(Words):
    """The same name, whose scores by the query alone stay what they are: the bytes of that run do too."""

    def search(self, queries: Sequence[Query], depth: int) -> Mapping[str, Mapping[str, float]]:
        found = super().search(queries, depth)
        return Words().search(queries, depth) if queries[0].condition == "query" else found


def _other_scores(folder: Path) -> None:
    evaluate(folder, Instructed(2.0))


def _other_scores_of_two_conditions(folder: Path) -> None:
    evaluate(folder, Instructed(2.0), conditions=["query", "changed"])


def _another_narrative(folder: Path) -> None:
    edited = collection().topics[0]._replace(instructions={"original": "milk", "changed": "coffee"})
    evaluate(folder, Instructed(), of=collection(topics=[edited]))


def _killed_before(last: int, patched: pytest.MonkeyPatch) -> None:
    """Interrupt just before the ``last`` time, from 1, that a run is copied, moved or removed."""
    changes = count(1)

    def watched(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(path: Path, *arguments: Any, **options: Any) -> Any:
            if path.suffix == ".run" and next(changes) == last:
                raise KeyboardInterrupt
            return change(path, *arguments, **options)

        return changed

    patched.setattr(ledger, "write_bytes", watched(ledger.write_bytes))
    for name in ("replace", "unlink"):
        patched.setattr(Path, name, watched(getattr(Path, name)))


@pytest.mark.parametrize("command", [_other_scores, _other_scores_of_two_conditions, _another_narrative])
def test_a_command_that_is_killed_at_any_moment_and_repeated_moves_the_same_runs(
    tmp_path: Path, command: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All conditions of a name move together, also those whose bytes or topics are the same."""
    before, after = tmp_path / "before", tmp_path / "after"
    evaluate(before, Instructed(), Twice())
    shutil.copytree(before, after)
    command(after)
    for last in count(1):
        folder = tmp_path / str(last)
        shutil.copytree(before, folder)
        try:
            with monkeypatch.context() as patched:
                _killed_before(last, patched)
                command(folder)
            break
        except KeyboardInterrupt:
            command(folder)
        found, expected = content(folder), content(after)
        different = [name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]
        assert not different, f"killed before change {last}: {sorted(different)}"
    assert last > len(CONDITIONS)


def test_a_run_outside_results_that_replaces_another_is_killed_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(folder: Path, score: float) -> None:
        out, about = folder / "p.run", {"condition": "original", "documents": "d", "topics": "t"}
        recipe = {"system": {"score": score}, **about}
        place = ledger.destination(out, recipe, {})
        ledger.replaced(out, run_files.run_to_file(place, {"1": {"a": score}}, "p", recipe, {}))

    def files(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    before, after = tmp_path / "before", tmp_path / "after"
    make(before, 1.0)
    shutil.copytree(before, after)
    make(after, 2.0)
    assert files(after)["earlier/1/p.run"] == files(before)["p.run"] and len(files(after)) == 4
    for last in count(1):
        folder = shutil.copytree(before, tmp_path / str(last))
        try:
            with monkeypatch.context() as patched:
                _killed_before(last, patched)
                make(folder, 2.0)
            break
        except KeyboardInterrupt:
            make(folder, 2.0)
        assert files(folder) == files(after), f"killed before change {last}"
    assert last > 3


def test_files_are_the_truth(tmp_path: Path) -> None:
    """What is deleted is gone, and what is moved back is there, at the next comparison or report."""
    folder = tmp_path / DRINKS
    evaluate(tmp_path, Words(), Over())
    evaluate(tmp_path, Words(), Over(2.0))
    of_both = content(tmp_path)
    later = {path: path.read_bytes() for path in folder.glob("over.*")}
    for path in later:
        path.unlink()
    assert compare.main([str(folder)]) == 0
    assert measured(tmp_path) == ["words"]
    for path in (folder / "earlier/1").glob("over.*"):
        path.rename(folder / path.name)
    refresh(folder)
    assert measured(tmp_path) == ["words", "over"]
    [entry] = [entry for entry in read_tree(folder)[0].systems if entry["system"] == "over"]
    assert entry["first_stages"] == ["words"] and entry["depth"] == 3
    before = content(tmp_path)
    refresh(folder)
    assert content(tmp_path) == before
    evaluate(tmp_path, Words(), Over(2.0))
    assert content(tmp_path) == of_both


@pytest.mark.parametrize("command", [compare, report])
def test_runs_of_one_name_that_were_made_in_different_ways_are_warned_of_once(
    tmp_path: Path, command: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(tmp_path, Words(), Over(), conditions=["original", "changed"])
    evaluate(tmp_path, Words(), Over(2.0), conditions=["original", "changed"])
    (tmp_path / DRINKS / "earlier/1/over.changed.run").rename(tmp_path / DRINKS / "over.changed.run")
    assert command.main([str(tmp_path / DRINKS)]) == 0
    warning = "over: its runs original and changed were made in different ways: weight was 2.0 and is now 1.0"
    assert capsys.readouterr().err.count(warning) == 1
    assert warning in read_tree(tmp_path / DRINKS)[0].warnings


def test_a_folder_says_all_that_its_figures_need(tmp_path: Path) -> None:
    """Measured again by its own files, all is as the experiment wrote it."""
    of = collection()
    grades = {"original": {"x": {"a": 1}, "y": {"c": 1}}, "changed": {"x": {"a": 0}, "y": {"c": 1}}}
    qrels = {condition: {"1": SubtopicGrades(subtopics)} for condition, subtopics in grades.items()}
    judging = of.judging._replace(traps={"1": {"b"}}, excluded={"1": {"c"}}, qrels=qrels)
    judging = judging.also(["P@1", "NFR", "alpha_nDCG@5"])
    evaluate(tmp_path, Words(), Over(), of=replace(of, judging=judging))
    evaluate(tmp_path, Twice(), of=replace(of, judging=judging))
    before = content(tmp_path)
    note = tmp_path / DRINKS / ".made/results.json"
    note.write_text('{"recipe": {"runs": {}}, "files": {}}')
    refresh(tmp_path / DRINKS)
    assert content(tmp_path) == before


def test_runs_in_memory_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(tmp_path, Twice())
    paths: list[str] = []
    monkeypatch.setattr(run_files, "read_run", lambda path, shared_ids: paths.append(path.name) or read_run(path))
    evaluate(tmp_path, Words(), Over())
    assert sorted(paths) == [f"{name}.run" for name in TWICE]


@pytest.mark.parametrize("importable", [True, False])
def test_figures_by_ones_own_measure_are_kept_where_it_cannot_be_imported(
    tmp_path: Path, importable: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    judging = collection().judging.also(
        ["own_length:length" if importable else measure("length")(lambda run, qrels: {"1": len(run["1"])})]
    )
    evaluate(tmp_path, Words(), Twice(), of=collection(judging=judging))
    evaluate(tmp_path, Over(), Words(), of=collection(judging=judging))
    folder = tmp_path / DRINKS
    before = {row["system"]: row["value"] for row in read_tree(folder)[0].rows if row["measure"] == "length"}
    assert before == {"twice": 3, "words": 3, "over": 3}
    for path in folder.glob("over.*"):
        path.rename(folder / path.name.replace("over", "elsewhere"))
    (folder / "twice.query.run").unlink()
    refresh(folder)
    after = {row["system"]: row["value"] for row in read_tree(folder)[0].rows if row["measure"] == "length"}
    assert after == ({"twice": 3, "words": 3} if importable else {"words": 3})
    said = "length: cannot be imported here, so that twice have no values; run their command"
    assert (said in capsys.readouterr().err) != importable


class Counted(Over):
    """The same, which counts its topics and is stopped before one of them."""

    def __init__(self, stop: int | None = None) -> None:
        super().__init__()
        self.topics: list[str] = []
        self._stop = stop

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        if len(self.topics) == self._stop:
            raise KeyboardInterrupt
        self.topics.append(f"{query.condition} {query.qid}")
        return super().score(query, documents)


def test_what_was_scored_before_a_kill_stays_while_others_work_in_the_folder(tmp_path: Path) -> None:
    topics = [collection().topics[0]._replace(qid=qid) for qid in "12"]
    of, whole = collection(topics=topics), Counted()
    evaluate(tmp_path / "whole", Words(), whole, of=of)
    evaluate(tmp_path, Words(), Over(), of=of, depth=1)
    with pytest.raises(KeyboardInterrupt):
        evaluate(tmp_path, Words(), Counted(stop=3), of=of)  # of the second condition one topic is done
    assert (tmp_path / DRINKS / "over.query.run").read_text().count("\n") == 2  # the finished one is there yet
    evaluate(tmp_path, Twice(), Over(), of=of, depth=2)  # over other documents
    again = Counted()
    evaluate(tmp_path, Words(), again, of=of)
    assert again.topics == whole.topics[3:]
    for name in OVER:
        assert (tmp_path / DRINKS / f"{name}.run").read_bytes() == (
            tmp_path / "whole" / DRINKS / f"{name}.run"
        ).read_bytes()
    assert len(list((tmp_path / DRINKS / "earlier").glob("*/over.query.run"))) == 2


def test_while_another_process_works_a_folder_is_as_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reranker may need a night; report and comparison are there meanwhile."""
    evaluate(tmp_path, Words(), Twice())
    folder, before = tmp_path / DRINKS, content(tmp_path)
    for path in folder.glob("twice.*"):
        path.unlink()
    with locked(folder):
        refresh(folder)
        assert json.loads((folder / "summary.json").read_text())["systems"][0]["system"] == "twice"
        assert "another process works there" in capsys.readouterr().err
        (folder / ".made/results.json").write_text('{"unfinished": true}')  # it is writing the figures
        with pytest.raises(BusyError):
            refresh(folder)
    refresh(folder)
    assert measured(tmp_path) == ["words"] and content(tmp_path) != before
