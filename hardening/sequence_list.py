"""Sequences of commands in one folder of results, each with what must be true after them."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from hardening.growing_folder import BM25, OWN, RESULTS, GrowingFolder

Steps = Callable[[GrowingFolder], None]
OVER = ("--reranker", "own:Over")
SHORT = ("--reranker", "own:Short")
WORDS = ("--retriever", "own:Words")
NONE = ("--reranker", "none")
TEN, TWENTY = ("--rerank-depth", "10"), ("--rerank-depth", "20")


def another_depth(place: GrowingFolder) -> None:
    """A reranker again with another depth of its pool, and back."""
    place.own(*OVER)
    deep = place.depth("over")
    place.own(*OVER, *TEN)
    place.expect("bm25 over", earlier="over", said=r"over10=|over_?\d*=|\w+=own:Over")
    place.own(*OVER, *TEN)
    place.expect("bm25 over", earlier="over")
    if (deep, place.depth("over")) != (1000, 10):
        place.problem(f"depths of the pools in summary.json are {deep} and {place.depth('over')}, expected 1000 and 10")


def a_day_later(place: GrowingFolder) -> None:
    """A first stage added a day later, so that the default pool grows; then a reranker over the first pool."""
    place.own(*OVER, *TEN)
    place.own(*WORDS, *OVER, *TEN)
    place.expect("bm25 words over", earlier="over", said="words|first stage|retriever|pool")
    place.own(*SHORT, *TEN)
    place.expect("bm25 words over short", earlier="over")


def first_stage_alone(place: GrowingFolder) -> None:
    """A first stage added alone, without a reranker; a reranker added without the first stages of before."""
    place.own(*OVER, *TEN)
    place.run(*OWN, *WORDS, *NONE)
    place.expect("bm25 words over")
    place.run(*OWN, *WORDS, *SHORT, *TEN)
    place.expect("bm25 words over short")


def another_condition(place: GrowingFolder) -> None:
    """One condition after the other."""
    place.own(*OVER, "--condition", "original")
    place.own(*OVER, "--condition", "changed")
    place.expect("bm25 over", earlier="")
    place.own(*OVER)  # what bm25 found by the query alone makes the pool larger
    place.expect("bm25 over", earlier="over", said="pool")
    pairs = {row["system"] for row in place.summary()["rows"] if row["condition"] == "original>changed"}
    if pairs != {"bm25", "over"}:
        place.problem(f"original>changed is measured of {sorted(pairs)}, expected bm25 and over")


def a_condition_of_two_pools(place: GrowingFolder) -> None:
    """All conditions, then one alone with another depth: the runs of a name move together."""
    place.own(*OVER)
    place.own(*OVER, *TEN, "--condition", "changed")
    place.expect("bm25 over", earlier="over")
    if [*place.results.glob("over.original.run")]:
        place.problem("over.original.run, of the earlier pool, stands beside over.changed.run of another")
    place.own(*OVER, *TEN)
    place.expect("bm25 over", earlier="over")


def edited_code(place: GrowingFolder) -> None:
    """A class edited under the same config, in its code, then in a comment, then back."""
    place.own(*OVER)
    place.edit("own.py", "return [common(query, document.text)", "return [-common(query, document.text)")
    place.own(*OVER)
    place.expect("bm25 over", earlier="over", said="code|source")
    place.edit("own.py", "return [-common", "# the opposite\n        return [-common")
    place.edit("own.py", 'name = "over"', '"""Counts words."""\n\n    name = "over"')
    place.own(*OVER)
    place.expect("bm25 over", earlier="over", said=r"over\.original\.run: used again")


def edited_retriever(place: GrowingFolder) -> None:
    """A retriever of one's own edited: its runs and those of the reranker over them."""
    place.run(*OWN, *WORDS, *OVER, *TEN)
    place.edit("own.py", "common(q, text) for", "len(text) for")
    place.run(*OWN, *WORDS, *OVER, *TEN)
    place.expect("words over", earlier="over words")


def same_bytes(place: GrowingFolder) -> None:
    """A class edited so that its scores stay the same: nothing is moved."""
    place.own(*OVER)
    place.edit("own.py", "return [common(query, document.text)", "return [0 + common(query, document.text)")
    place.own(*OVER)
    place.expect("bm25 over", earlier="")


def two_at_once(place: GrowingFolder) -> None:
    """Two commands at once, with two rerankers, then with two depths of one."""
    place.own(*NONE)
    place.at_once((*OWN, *BM25, *OVER), (*OWN, *BM25, *SHORT))
    place.expect("bm25 over short")
    place.at_once((*OWN, *BM25, *OVER, *TEN), (*OWN, *BM25, *OVER, *TWENTY))
    place.expect("bm25 over short", earlier="over")


def other_documents(place: GrowingFolder) -> None:
    """Documents edited in their place: all runs are of other documents."""
    place.own(*OVER, *WORDS)
    place.edit("docs.jsonl", "ferry", "airship")
    place.own(*OVER)
    place.expect("bm25 over", earlier="bm25 over words")


def other_topics(place: GrowingFolder) -> None:
    """A narrative edited: the runs of its conditions are of other topics."""
    place.own(*OVER, *WORDS)
    place.edit("topics.jsonl", '"changed": "', '"changed": "Only ferries in winter. ')
    place.own(*OVER)
    place.expect("bm25 over", earlier="bm25 over words")


def other_judgements(place: GrowingFolder) -> None:
    """Judgements edited: every system is measured again, and no run moves."""
    place.own(*OVER, *WORDS)
    place.own(*SHORT)
    place.edit("changed.qrels", "01 0 n025 3", "01 0 n025 0")
    place.own(*NONE)
    place.expect("bm25 over short words")


def deleted_and_moved_back(place: GrowingFolder) -> None:
    """Runs deleted, and earlier ones moved back: report and comparison are of the files."""
    place.own(*OVER, *SHORT)
    first = _figures(place, "over")
    place.own(*OVER, *TEN)
    place.expect("bm25 over short", earlier="over")
    place.delete("short.*.run")
    _expect_commands(place, "bm25 over")
    place.delete("over.*.run")
    _expect_commands(place, "bm25")
    place.move_back(1, "over.*.run")
    _expect_commands(place, "bm25 over")
    place.own(*NONE)
    place.expect("bm25 over")
    if _figures(place, "over") != first:
        place.problem("over was moved back and has other figures than at first")


def moved_back_without_notes(place: GrowingFolder) -> None:
    """Runs moved back without their notes are measured, or a line names them; they are not overwritten."""
    place.own(*OVER)
    place.own(*OVER, *TEN)
    place.delete("over.*.run")
    place.unnoted = True
    place.move_back(1, "over.*.run", notes=False)
    place.own(*NONE)
    place.own(*OVER, *TEN)


def a_run_of_another_tool(place: GrowingFolder) -> None:
    """A run made elsewhere, then another one of its name, then other systems without it."""
    for name, keys in (("first", lambda docid: docid), ("second", lambda docid: docid[::-1])):
        for condition in ("original", "changed"):
            place.write(f"{name}.{condition}.txt", _run(place, keys))
    place.own(*NONE, "--run", "elsewhere=first.{condition}.txt")
    place.expect("bm25 elsewhere")
    place.own(*OVER)
    place.expect("bm25 over elsewhere")
    place.own(*NONE, "--run", "elsewhere=second.{condition}.txt")
    place.expect("bm25 over elsewhere", earlier="elsewhere")


def a_second_person(place: GrowingFolder) -> None:
    """Somebody else in another directory, with documents of their own copy, into the same results."""
    place.own(*OVER)
    (place.work / "other").mkdir()
    for name in ("docs.jsonl", "topics.jsonl", "original.qrels", "changed.qrels", "own.py"):
        place.write(f"other/{name}", (place.work / name).read_text())
    place.run(*OWN, *BM25, *SHORT, "--out", "../runs", "--indexes", "indexes", cwd="other")
    place.expect("bm25 over short")
    place.run(*OWN, *BM25, *OVER, *TEN, "--out", str(place.work / "runs"), cwd="other")
    place.expect("bm25 over short", earlier="over")


def from_python(place: GrowingFolder) -> None:
    """Commands and Python in turns: both read and write the same runs."""
    place.own(*OVER, *TEN)
    place.call("Python: short, depth 10", _python_short)
    place.expect("bm25 over short")
    place.own(*SHORT, *TEN)
    place.expect("bm25 over short", said=r"short\.original\.run: used again")
    place.call("Python: over, depth 20", _python_over)
    place.expect("bm25 over short", earlier="over")


def a_program(place: GrowingFolder) -> None:
    """A program with a version, with another one, and without any."""
    place.own("--reranker", "long=command:./score.py", "--config", "v1")
    place.own("--reranker", "long=command:./score.py", "--config", "v1")
    place.expect("bm25 long", said=r"long\.original\.run: used again")
    place.own("--reranker", "long=command:./score.py", "--config", "v2")  # the same scores: not moved
    place.expect("bm25 long")
    place.edit("score.py", "len(document", "-len(document")
    place.own("--reranker", "long=command:./score.py", "--config", "v3")
    place.expect("bm25 long", earlier="long", said="config|version|v2")
    place.own("--reranker", "command:./score.py")
    place.expect("bm25 long score.py", earlier="long")


def two_names(place: GrowingFolder) -> None:
    """One class by two names with two depths, in one report."""
    place.own("--reranker", "over10=own:Over", *TEN)
    place.own("--reranker", "over20=own:Over", *TWENTY)
    place.expect("bm25 over10 over20")
    if (depths := (place.depth("over10"), place.depth("over20"))) != (10, 20):
        place.problem(f"depths of the pools in summary.json are {depths}, expected 10 and 20")
    compared = place.compared("--baseline", "over10")
    if compared and not any(
        "over20" in line and "pool" in line for line in compared["sentences"] + compared["warnings"]
    ):
        place.problem(f"no sentence says that over20 has another pool: {compared['sentences']}")


def stopped_in_the_middle(place: GrowingFolder) -> None:
    """A reranker killed in its second condition, another command, then the first again: it goes on where it was."""
    place.write("stop", "")
    place.own(*NONE)
    place.own("--reranker", "own:Stops", fails=True)
    place.own(*OVER)
    place.expect("bm25 over stops" if [*place.results.glob("stops.query.run")] else "bm25 over")
    (place.work / "stop").unlink()
    place.own("--reranker", "own:Stops")
    place.expect("bm25 over stops")
    scored = (place.work / "scored").read_text().splitlines()
    if len(scored) != len(set(scored)):
        place.problem(f"topics were scored twice: {scored}")


def read_while_another_works(place: GrowingFolder) -> None:
    """Report and comparison of a folder in which a reranker is at work for hours: of what was measured before."""
    place.own(*OVER)
    place.write("wait", "")
    works = place.begin(*OWN, *BM25, "--reranker", "own:Stops")
    while not (place.work / "third").exists():
        time.sleep(0.05)
    for command in (("report", str(RESULTS)), ("compare", str(RESULTS), "--baseline", "bm25")):
        said = place.quietly(*command)
        if said.status or "over" not in said.out:
            place.problem(f"heed {command[0]} while a reranker works: status {said.status}, {said.err[-300:]}")
    (place.work / "wait").unlink()
    said = works.end()
    if said.status:
        place.problem(f"status {said.status}: {said.err[-300:]}")
    place.check()
    place.expect("bm25 over stops")


def one_run_reranked(place: GrowingFolder) -> None:
    """``heed rerank`` writes into the folder of results, twice by one name: the first file is not lost."""
    options = ("--topics", "topics.jsonl", "--docs", "docs.jsonl", "--name", "own", "--condition", "original")
    place.own(*NONE)
    for depth in (TEN, TWENTY):
        rerank = (
            "rerank",
            str(RESULTS / "bm25.original.run"),
            *options,
            *OVER,
            depth[0].replace("rerank-", ""),
            depth[1],
        )
        place.run(*rerank, "--out", str(RESULTS / "over.original.run"))
    place.own(*OVER, *TEN)
    place.expect("bm25 over", earlier="over")


def no_config(place: GrowingFolder) -> None:
    """A class without a config: its runs are made anew; the same bytes are not moved, others are."""
    place.edit("own.py", 'name = "over"\n    config = {"version": 1}', 'name = "over"')
    place.own(*OVER)
    place.own(*OVER)
    place.expect("bm25 over", earlier="")
    place.own(*OVER, *TEN)
    place.expect("bm25 over", earlier="over")
    place.own(*SHORT)
    place.expect("bm25 over short", earlier="over")


def three_moves(place: GrowingFolder) -> None:
    """The same name by four recipes: three earlier ones, and the first again."""
    for depth in ("10", "20", "30", "10"):
        place.own(*OVER, "--rerank-depth", depth)
    place.expect("bm25 over", earlier="over")
    numbers = sorted(path.name for path in (place.results / "earlier").glob("*"))
    if numbers != ["1", "2", "3"]:
        place.problem(f"earlier/ has {numbers}, expected 1, 2 and 3")


def one_command_alone(place: GrowingFolder) -> None:
    """All systems in one command, and in three: the same summary."""
    place.run(*OWN, *WORDS, *BM25, *OVER, *SHORT, *TEN)
    place.own(*WORDS, *SHORT, *OVER, *TEN)
    place.expect("bm25 words over short", earlier="")


SEQUENCES: tuple[Steps, ...] = (
    *(another_depth, a_day_later, first_stage_alone, another_condition, a_condition_of_two_pools, edited_code),
    *(edited_retriever, same_bytes, two_at_once, other_documents, other_topics, other_judgements),
    *(deleted_and_moved_back, moved_back_without_notes, a_run_of_another_tool, a_second_person, from_python, a_program),
    *(
        two_names,
        stopped_in_the_middle,
        read_while_another_works,
        one_run_reranked,
        no_config,
        three_moves,
        one_command_alone,
    ),
)


def _figures(place: GrowingFolder, system: str) -> list[tuple[str, str, float]]:
    rows = place.summary()["rows"]
    return [(row["condition"], row["measure"], row["value"]) for row in rows if row["system"] == system]


def _expect_commands(place: GrowingFolder, systems: str) -> None:
    """The report and the comparison are of ``systems``, though the last command that measured had others."""
    compared = place.compared()
    if compared and (found := {row["system"] for row in compared["rows"]}) != set(systems.split()):
        place.problem(f"heed compare of the files has {sorted(found)}, expected {systems}")
    printed = place.quietly("report", str(RESULTS), "--format", "csv")
    found = {line.split(",")[2] for line in printed.out.splitlines()[1:]}
    if printed.status or found != set(systems.split()):
        place.problem(f"heed report of the files has {sorted(found)}, expected {systems}; {printed.err[-200:]}")


def _run(place: GrowingFolder, key: Callable[[str], str]) -> str:
    """A run of all documents for each topic, in the order of ``key``."""
    docids = sorted((json.loads(line)["id"] for line in (place.work / "docs.jsonl").read_text().splitlines()), key=key)
    qids = [json.loads(line)["qid"] for line in (place.work / "topics.jsonl").read_text().splitlines()]
    lines = [(qid, docid, rank) for qid in qids for rank, docid in enumerate(docids, 1)]
    return "".join(f"{qid} Q0 {docid} {rank} {-rank} other-tool\n" for qid, docid, rank in lines)


def _python_short() -> int:
    return _from_python("Short", 10)


def _python_over() -> int:
    return _from_python("Over", 20)


def _from_python(name: str, depth: int) -> int:
    """What a script of the user's does."""
    import sys

    import heed

    sys.path.insert(0, str(Path.cwd()))
    import own  # type: ignore[import-not-found]

    files = ("docs.jsonl", "topics.jsonl", "original.qrels")
    collection = heed.load_files(*files, changed_qrels="changed.qrels", lang="eng", name="own")
    with heed.Experiment(collection) as experiment:
        bm25 = experiment.retrieve("bm25")
        experiment.evaluate([bm25, experiment.rerank(getattr(own, name)(), [bm25], depth=depth)])
    return 0
