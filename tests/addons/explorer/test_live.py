"""``python -m pipelines.explore`` as other programs meet it: whole runs, searches, changed topics."""

import contextlib
import http.client
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import ROOT, Heed, write_jsonl
from explored_results import own_copy
from processes import until
from serving import Running, serving

from heed.addons.explorer.explored import Explored
from heed.addons.explorer.live_systems import Choice, LiveSystems, Question, answer, search
from heed.errors import DataError, UsageError
from heed.formats.trec_files import read_run
from heed.ranking import ranked
from heed.report.results import read_tree
from heed.types import Span

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def runs(sample_runs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_copy(sample_runs("fas"), tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Running]:
    with serving("explore", runs, kind=Running) as process:
        yield process


@pytest.fixture(scope="module")
def live(runs: Path) -> Iterator[LiveSystems]:
    systems = LiveSystems(Explored(read_tree(runs)[0]), Choice())
    yield systems
    systems.close()


def asked(live: LiveSystems, qid: str, condition: str) -> Question:
    """The topic as it is."""
    topic = live.explored.topics[qid]
    return Question(qid, condition, topic.query, topic.instructions.get(condition, ""))


def post(server: Running, path: str, body: object) -> tuple[int, dict]:
    status, _, text = server.request("POST", path, body)
    return status, json.loads(text)


def test_unchanged_topics_are_answered_as_in_the_runs(live: LiveSystems, runs: Path) -> None:
    assert live.names == ["bm25", "lsa", "polarity"]
    for name in live.names:
        for condition in ("query", "original", "changed"):
            run = read_run(runs / f"{name}.{condition}.run")
            for qid in ("01", "02"):
                assert live.scores(name, asked(live, qid, condition)) == run[qid], (name, condition, qid)


def test_systems_that_the_user_names_answer_beside_those_of_the_runs(live: LiveSystems, runs: Path) -> None:
    named = LiveSystems(Explored(read_tree(runs)[0]), Choice(["b=bm25"], ["pol=polarity"]))
    question = asked(live, "01", "changed")
    assert named.names == ["bm25", "lsa", "b", "polarity", "pol"] and named.explains("pol")
    assert named.scores("pol", question) == live.scores("polarity", question)
    assert named.scores("b", question) == live.scores("bm25", question)
    named.close()
    with pytest.raises(UsageError, match=r"system b: named twice \(b=bm25, b=lsa\); name one, as in b-2=lsa"):
        LiveSystems(Explored(read_tree(runs)[0]), Choice(["b=bm25", "b=lsa"]))


def test_a_reranker_keeps_its_pool_whatever_another_one_rescored_later(runs: Path, heed: Heed, tmp_path: Path) -> None:
    folder = own_copy(runs, tmp_path / "copy")
    common = ("--lang", "fas", "--collection", "sample", "--indexes", folder.parents[2] / "indexes")
    later = ("--out", folder.parents[1], "--retriever", "bm25", "--reranker", "rank_bm25", "--rerank-depth", "10")
    result = heed("pipelines.neuclir", *common, *later)
    assert result.returncode == 0, result.stderr
    live = LiveSystems(Explored(read_tree(folder)[0]), Choice())
    for name, least in (("polarity", 11), ("rank_bm25", 10)):
        run = read_run(folder / f"{name}.original.run")
        assert least <= len(run["01"]) and live.scores(name, asked(live, "01", "original")) == run["01"], name
    live.close()


def test_a_changed_instruction_is_answered_as_the_command_runs_it(
    live: LiveSystems, runs: Path, heed: Heed, tmp_path: Path
) -> None:
    topics = [json.loads(line) for line in (ROOT / "topics/neuclir-sample/fas.jsonl").read_text().splitlines()]
    changed = topics[0]["instructions"]["original"] + " اخبار سیاسی را کنار بگذارید."
    topics[0]["instructions"]["changed"] = changed
    write_jsonl(tmp_path / "t.jsonl", topics)
    indexes = runs.parents[2] / "indexes"
    common = ("--lang", "fas", "--collection", "sample", "--topics", "t.jsonl", "--indexes", indexes, "--quiet")
    result = heed("pipelines.neuclir", *common)
    assert result.returncode == 0, result.stderr
    question = Question("01", "changed", topics[0]["query"], changed)
    for name in live.names:
        run = read_run(tmp_path / f"runs/neuclir-sample/fas/{name}.changed.run")
        assert live.scores(name, question) == run["01"], name
        assert live.scores(name, question) != live.scores(name, asked(live, "01", "changed")), name


def test_topics_that_share_a_query_share_their_pool_as_in_the_command(heed: Heed, tmp_path: Path) -> None:
    """FollowTable's layout: the query alone is a topic of its own; a changed instruction changes its siblings' pool."""
    common = ("--subset", "sample", "--depth", "5", "--quiet")  # pools that are cut
    assert heed("pipelines.tables", *common).returncode == 0
    explored = Explored(read_tree(tmp_path / "runs")[0])
    live = LiveSystems(explored, Choice())
    topics = [json.loads(line) for line in (ROOT / "topics/tables-sample/eng.jsonl").read_text().splitlines()]
    changed = next(topic for topic in topics if topic["qid"] == "1_0")
    changed["instructions"]["original"] = "Only prices in euros and warranty terms; no laboratory measurements."
    write_jsonl(tmp_path / "t.jsonl", topics)
    again = heed("pipelines.tables", *common, "--topics", "t.jsonl", "--out", "again")
    assert again.returncode == 0, again.stderr
    question = Question("1_0", "original", changed["query"], changed["instructions"]["original"])
    [folder] = (tmp_path / "again").glob("*/*")
    for name in live.names:
        assert live.scores(name, question) == read_run(folder / f"{name}.original.run")["1_0"], name
    live.close()


def test_fields_of_tables_have_the_weights_of_the_runs(heed: Heed, tmp_path: Path) -> None:
    systems = ("--retriever", "fields=bm25+fields", "--reranker", "none", "--field-weights", "5", "0", "0.5")
    assert heed("pipelines.tables", "--subset", "sample", *systems, "--quiet").returncode == 0
    explored = Explored(read_tree(tmp_path / "runs")[0])
    live = LiveSystems(explored, Choice())
    run = read_run(explored.path / "fields.original.run")  # as the user named it
    qid = next(iter(run))
    assert live.scores("bm25+fields", asked(live, qid, "original")) == run[qid]
    # the index of fields has no whole texts
    query = explored.topics[qid].query
    assert live.search(query, 20) == ranked(live.scores("bm25+fields", Question(qid, "query", query, "")))[:20]
    with pytest.raises(DataError, match="no index for polarity here"):
        live.scores("polarity", asked(live, qid, "original"))
    assert {path.name for path in (tmp_path / "indexes/tables-sample/eng").glob("bm25*")} == {
        "bm25-fields",
        "bm25-fields-postings",
    }
    told = answer(live, "bm25+fields", asked(live, qid, "original"))
    assert told["after"]["words"][0]["query"]
    live.close()


def test_an_answer_says_what_moved_and_which_words_a_document_holds(live: LiveSystems) -> None:
    before = asked(live, "01", "original")
    documents = {document.docid: document for document in live.documents}
    word = "هواپیما"  # aeroplane
    question = before._replace(instruction=f"{before.instruction} {word} را کنار بگذارید.")
    told = answer(live, "polarity", question, shown=200)
    for side, asked_for in (("before", before), ("after", question)):
        order = [told["docids"][place] for place in told[side]["ranking"]["documents"]]  # type: ignore[literal-required]
        assert order == ranked(live.scores("polarity", asked_for))
    holding = {docid for docid, document in documents.items() if word in document.contents().split()}
    marked = {
        docid for docid, words in zip(told["docids"], told["after"]["words"], strict=True) if word in words["excluded"]
    }
    assert holding and holding <= marked
    assert not any(word in words["excluded"] for words in told["before"]["words"])
    assert live.explored.grades(live.explored.topics["01"], "original") == {
        docid: grade for docid, grade in zip(told["docids"], told["grades"], strict=True) if grade is not None
    }


def test_a_corrected_reading_wins_over_the_reader(server: Running, live: LiveSystems) -> None:
    question = asked(live, "01", "original")
    clause = "اخبار هواپیما را کنار بگذارید"  # leave out news of aeroplanes
    question = question._replace(instruction=f"{question.instruction} 🚢 {clause}.")
    start = question.instruction.index("هواپیما")
    end = start + len("هواپیما")
    read = {"folder": ".", "instruction": question.instruction}
    status, narrative = post(server, "/api/read", read)
    assert status == 200 and narrative["text"] == question.instruction and narrative["corrected"] == []
    assert any(from_ <= start and end <= to and kind == "excluded" for from_, to, kind in narrative["spans"])
    correction = [start, end, "asked"]
    status, narrative = post(server, "/api/read", read | {"reading": [correction]})
    assert status == 200 and narrative["corrected"] == [correction] and correction in narrative["spans"]
    # the answer is that of a topic with these spans in its file
    reading = tuple(Span(*span) for span in narrative["spans"])
    corrected = question._replace(corrections=(Span(*correction),))
    assert live.query(corrected).reading == live.query(question._replace(corrections=reading)).reading
    assert live.scores("polarity", corrected) != live.scores("polarity", question)
    assert live.scores("bm25", corrected) == live.scores("bm25", question)
    body = {"system": "polarity", "topic": "01", "condition": "original", "query": question.query}
    told = post(server, "/api/ask", read | body | {"reading": [correction]})[1]
    words = [side for side in told["after"]["words"] if "هواپیما" in side["asked"]]
    assert words and not any("هواپیما" in side["excluded"] for side in told["after"]["words"])


def test_the_reading_of_a_topics_file_stands_until_its_text_is_changed(live: LiveSystems) -> None:
    question = asked(live, "01", "original")
    topic, reading = live.explored.topics["01"], (Span(0, 8, "excluded"),)
    live.explored.topics["01"] = topic._replace(readings={"original": reading})
    try:
        told = answer(live, "polarity", question)
        assert told["before"]["ranking"] != told["after"]["ranking"], "the reader's, since none is sent"
        told = answer(live, "polarity", question._replace(corrections=reading))
        assert told["before"]["ranking"] == told["after"]["ranking"]
    finally:
        live.explored.topics["01"] = topic


def test_polarity_says_which_words_of_which_clause_count_for_and_against(server: Running, live: LiveSystems) -> None:
    clause, aeroplanes = "اخبار هواپیما را کنار بگذارید", "هواپیما"  # leave out news of aeroplanes
    document = next(document for document in live.documents if aeroplanes in document.contents().split())
    docid, words = document.docid, document.contents().split()[:20]
    question = asked(live, "01", "original")
    question = question._replace(
        query=" ".join(
            word for word in words if aeroplanes not in word
        ),  # it is on the topic, or nothing counts against it
        instruction=f"{question.instruction} {clause}.",
    )
    scores = live.scores("polarity", question)
    body = {"folder": ".", "system": "polarity", "topic": "01", "docid": docid} | question._asdict()
    del body["qid"], body["corrections"]
    status, told = post(server, "/api/why", body)
    assert status == 200 and told["score"] == scores[docid]
    [against] = [one for one in told["contributions"] if "هواپیما" in one["words"]]
    assert against["part"] == "excluded" and against["value"] < 0 and "هواپیما" in against["clauses"][0]
    status, told = post(server, "/api/why", body | {"system": "bm25"})
    assert (status, told["error"]) == (400, "bm25: gives no reasons; polarity does")
    assert "document n999 is not among the" in post(server, "/api/why", body | {"docid": "n999"})[1]["error"]


SLOW = """
import time
from pathlib import Path

from heed import DataError
from heed.files import locked

FOLDER = Path({folder!r})


class Slow:
    name = "slow"

    def load(self):
        for _ in range(200):
            try:
                with locked({index!r}):  # which a command can have meanwhile
                    return (FOLDER / "loaded").touch()
            except DataError:  # while another system opens it
                time.sleep(0.1)

    def score(self, query, documents):
        with (FOLDER / "asked").open("a") as stream:
            print(query.instruction, file=stream)
        for _ in range(1000):
            if not (FOLDER / "go").exists():
                time.sleep(0.02)
        return [0.0] * len(documents)
"""


def test_a_question_whose_page_asks_another_meanwhile_is_never_computed(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = runs.parents[2] / "indexes/neuclir-sample/fas"
    code = SLOW.format(folder=str(tmp_path), index=index).replace("PosixPath", "Path")
    (tmp_path / "slow_system.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    with serving("explore", runs, "--reranker", "slow_system:Slow", kind=Running) as server:
        told = server.get("/api/folder?folder=.")
        assert told["playground"][-1] == "slow", told
        body = QUESTION | {"system": "slow"}
        with sent(server, body | {"instruction": "first"}) as first:
            until((tmp_path / "asked").exists)
            with sent(server, body | {"instruction": "second"}):
                pass  # left before the answer, as a page does when somebody types on
            with sent(server, body | {"instruction": "third"}) as third:
                assert post(server, "/api/ask", QUESTION)[0] == 200  # the others answer meanwhile
                (tmp_path / "go").touch()
                assert [json.loads(each.getresponse().read())["system"] for each in (first, third)] == ["slow"] * 2
    lines = (tmp_path / "asked").read_text().splitlines()
    assert "first" in lines and "third" in lines and "second" not in lines
    assert (tmp_path / "loaded").exists()


def sent(server: Running, body: object) -> "contextlib.closing[http.client.HTTPConnection]":
    """A question on its way; its answer is not read."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Cookie": f"heed-{server.port}={server.token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/ask", json.dumps(body), headers)
    return contextlib.closing(connection)


def test_an_answer_takes_less_than_a_third_of_a_second(live: LiveSystems) -> None:
    """Processor time of BM25 and polarity together, so that other programs of a busy machine do not count."""
    question = asked(live, "02", "original")
    live.load(live.names)
    seconds = []
    for number in range(4):
        started = time.process_time()
        for name in ("bm25", "polarity"):
            answer(live, name, question._replace(instruction=f"{question.instruction} {number} انتخابات"))
        seconds.append(time.process_time() - started)
    assert min(seconds) < 0.3, seconds


def test_a_topic_comes_with_as_much_of_its_lists_as_is_asked_for(server: Running, runs: Path) -> None:
    run = read_run(runs / "polarity.original.run")["01"]
    first = server.get("/api/topic?folder=.&id=01")["rankings"]["polarity"]["original"]
    assert (
        first["length"] == len(run) > 20 and first["ranks"][:20] == [*range(1, 21)] and len(first["ranks"]) < len(run)
    )
    whole = server.get("/api/topic?folder=.&id=01&depth=1000")
    ranking = whole["rankings"]["polarity"]["original"]
    assert [whole["docids"][place] for place in ranking["documents"]] == ranked(run)
    assert server.get("/api/topic?folder=.&id=01&depth=99999999999")["docids"], "a number like that is none"


def test_a_search_finds_topics_by_all_words_and_documents_by_the_index(server: Running, live: LiveSystems) -> None:
    query = live.explored.topics["03"].query
    found = server.get(f"/api/search?folder=.&q={quote(query)}")
    assert [topic["qid"] for topic in found["topics"]] == ["03"]
    assert [document["docid"] for document in found["documents"]] == [*live.search(query, 20)]
    assert found["way"] == "Documents by BM25, best first."
    assert server.get("/api/search?folder=.&q=n005")["documents"][0]["docid"] == "n005"
    assert server.get("/api/search?folder=.&q=")["documents"] == []


@pytest.mark.parametrize("folder", ["..", "../neuclir-sample/fas", "/etc", "fas%00", "", "%2e%2e", "./."])
def test_folders_are_names_of_the_tree_and_no_paths(server: Running, folder: str) -> None:
    for path in (f"folder?folder={folder}", f"topic?folder={folder}&id=01", f"search?folder={folder}&q=a"):
        assert server.request("GET", f"/api/{path}")[0] == 404


def test_unknown_topics_and_documents_are_not_found(server: Running) -> None:
    status, _, text = server.request("GET", "/api/topic?folder=.&id=99")
    assert (status, text) == (404, "No topic is called '99'.")
    for docid in ("../../summary.json", "/etc/passwd", "n005\x00", "' OR 1=1 --"):
        status, _, text = server.request("GET", f"/api/document?folder=.&docid={quote(docid)}")
        assert status == 400 and "no document" in json.loads(text)["error"] and "root:" not in text
    assert server.request("DELETE", "/api/folder")[0] == 405


QUESTION = {"folder": ".", "system": "bm25", "topic": "01", "condition": "original", "query": "a", "instruction": "b"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "Expected `object`"),
        ({}, "missing required field `folder`"),
        (QUESTION | {"system": "nothing"}, "system 'nothing': not loaded here; expected one of bm25, lsa, polarity"),
        (QUESTION | {"topic": "99"}, "no topic '99'"),
        (QUESTION | {"condition": "reversed"}, "topic 01: it is not asked under 'reversed'"),
        (QUESTION | {"query": 1}, "Expected `str`, got `int`"),
        (QUESTION | {"instruction": "x" * 20_001}, "length <= 20000"),
        (QUESTION | {"instruction": "\ud800"}, "surrogate"),
        (QUESTION | {"reading": [[0, 1, "wanted"]]}, "Invalid enum value 'wanted'"),
        (QUESTION | {"reading": [[0, 2, "asked"]]}, "reading: found [0, 2, 'asked'], expected a span from 0 to 1"),
        (QUESTION | {"reading": [[0, 0, "asked"]]}, "reading: found [0, 0, 'asked'], expected a span from 0 to 1"),
        (
            QUESTION | {"instruction": "a b", "reading": [[1, 3, "asked"], [0, 2, "neutral"]]},
            "reading: found [1, 3, 'asked'], expected a span from 2 to 3",
        ),
    ],
)
def test_a_question_that_cannot_be_asked_is_an_error(server: Running, body: object, said: str) -> None:
    status, told = post(server, "/api/ask", body)
    assert status == 400 and said in told["error"], told


def test_documents_and_indexes_that_are_gone_are_named_and_nothing_is_built(runs: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(runs, tmp_path / "runs/neuclir-sample/fas")
    with pytest.raises(DataError, match="The documents are no longer in"):
        LiveSystems(Explored(read_tree(moved)[0]), Choice())
    documents = Path("indexes/neuclir-sample/fas/documents")
    shutil.copytree(runs.parents[2] / documents, tmp_path / documents)
    live = LiveSystems(Explored(read_tree(moved)[0]), Choice())
    no_index = "no index for bm25 here; run the command that made them once more"
    with pytest.raises(DataError, match=no_index):
        live.scores("bm25", asked(live, "01", "original"))
    found = search(live.explored, live.search, "n005")
    assert [each["docid"] for each in found["documents"]] == ["n005"] and no_index in found["way"]
    live.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--annotate", "javascript:alert(1)"), "--annotate 'javascript:alert(1)': expected the link that a running"),
        (("--port", "80"), "--port: found 80, expected 1024 to 65535"),
        (("--allow-host", "evil"), "--allow-host: found 'evil', expected HOST:PORT"),
        (("--reranker", "bge-rerank"), "bge-rerank: no system, no folder and no hub id"),
        (("--retriever", "polarity"), "polarity: a reranker, no retriever; give --reranker polarity"),
    ],
)
def test_options_that_cannot_be_are_one_line(runs: Path, heed: Heed, options: tuple[str, str], said: str) -> None:
    result = heed("pipelines.explore", runs, *options)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {said}")
