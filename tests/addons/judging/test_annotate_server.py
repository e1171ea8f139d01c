"""The annotation server as other programs meet it: who is let in, what it answers, many at once, killed."""

import json
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from annotating import Judging, Running, annotation_files, grade, running, sample_pool
from conftest import Heed

from heed.addons.judging.annotate.server import page_files
from heed.addons.judging.annotate.store import Store


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("annotate") / "pool.jsonl"
    sample_pool(path)
    return path


@pytest.fixture(scope="module")
def server(pool: Path) -> Iterator[Running]:
    with running(pool, "--lang", "zho", "--grades", "0,1,3") as process:
        yield process


def test_a_port_forward_works_under_the_name_that_was_allowed_and_no_other(pool: Path) -> None:
    database = pool.with_name("forward.db")
    allowed = ("--allow-host", "localhost:9000", "--allow-host", "Judging.Example:80")
    with running(pool, "--lang", "zho", "--database", database, *allowed) as server:
        assert server.process.stdout
        links = [server.process.stdout.readline().strip() for _ in range(2)]
        assert links == [f"http://{host}/?token={server.token}" for host in ("localhost:9000", "judging.example:80")]
        for host, port in (("localhost:9000", 9000), ("judging.example", 80)):  # browsers leave out port 80
            status, headers, _ = server.request("GET", f"/?token={server.token}", Host=host, Cookie="")
            assert (status, headers["set-cookie"].partition("=")[0]) == (200, f"heed-{port}")
            cookie = f"heed-{port}={server.token}"
            asked = {"Host": host, "Cookie": cookie}
            assert server.request("GET", "/api/task", **asked, Origin=f"http://{host}")[0] == 200
            assert server.request("GET", "/api/task", **asked, Origin=f"http://127.0.0.1:{server.port}")[0] == 403
            assert server.request("GET", "/api/task", **asked, Origin="http://localhost:9001")[0] == 403
            assert server.request("GET", "/api/task", **{**asked, "Cookie": ""})[0] == 403, "the token is needed"
        assert server.request("GET", "/api/task")[0] == 200
        for host in ("localhost:9001", "127.0.0.1:9000", "judging.example:81", "localhost"):
            assert server.request("GET", "/api/task", Host=host)[0] == 403


def test_the_page_names_nothing_outside_and_holds_nothing_inline() -> None:
    for path in page_files():
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text), path.name
        assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), path.name
    page = next(path for path in page_files() if path.name == "index.html").read_text()
    assert not re.findall(r"<style|\sstyle=|\son\w+=|<script(?! type=\"module\" src)", page)


DOCID = "n005"


def sent(*changes: object, **fields: object) -> dict:
    return {"id": "12345678", "assessor": "a", "changes": list(changes), **fields}


def note(text: object) -> dict:
    return {"qid": "01", "kind": "note", "condition": "original", "docid": DOCID, "note": text}


def narrative(text: object, base: object) -> dict:
    return {"qid": "01", "kind": "narrative", "text": text, "base": base}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "Expected `object`, got `array`"),
        ({"id": "12345678"}, "missing required field `assessor`"),
        (sent(id="x"), "Expected `str` matching regex"),
        (sent(id="12345678\n"), "at `$.id`"),
        (sent(batch=""), "at `$.batch`"),
        (sent(assessor=" "), "assessor is ' '"),
        (sent(assessor="a" * 41), "at most 40 characters"),
        (sent(assessor="a\u202eb"), "assessor is"),
        (sent(wording="x" * 20_001), "length <= 20000 - at `$.wording`"),
        ({**sent(), "changes": {}}, "Expected `array`, got `object` - at `$.changes`"),
        (sent(grade("99", DOCID, 1)), "topic is '99', expected one of the pool"),
        (sent({"qid": "01", "kind": "drop"}), "Invalid enum value 'drop' - at `$.changes[0].kind`"),
        (sent(grade("01", DOCID, 2)), "grade is 2, expected one of 0, 1, 3"),
        (sent(grade("01", DOCID, True)), "got `bool` - at `$.changes[0].grade`"),
        (sent(grade("01", "gone", 1)), "document 'gone' is not to be judged"),
        (sent(grade("01", DOCID, 1, "query")), "condition is 'query'"),
        (sent(note("x" * 4_001)), "length <= 4000 - at `$.changes[0].note`"),
        (sent(note("\ud800")), "half of a surrogate pair"),
        (sent(narrative("x" * 20_001, 0)), "length <= 20000 - at `$.changes[0].text`"),
        (sent(narrative("x", "0")), "Expected `int`, got `str` - at `$.changes[0].base`"),
        (sent(*[grade("01", DOCID, 1)] * 2001), "length <= 2000 - at `$.changes`"),
    ],
)
def test_what_does_not_fit_the_task_is_an_error_and_not_stored(server: Running, body: object, message: str) -> None:
    status, _, text = server.request("POST", "/api/changes", body)
    assert status == 400
    assert message in json.loads(text)["error"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "missing required field `texts`"),
        ({"texts": [1]}, "Expected `str`, got `int`"),
        ({"texts": ["a"] * 11}, "Expected `array` of length <= 10"),
    ],
)
def test_what_is_no_text_has_no_terms(server: Running, body: object, message: str) -> None:
    status, _, text = server.request("POST", "/api/terms", body)
    assert status == 400 and message in json.loads(text)["error"]


def test_terms_are_the_analysers_with_the_places_that_javascript_counts(server: Running) -> None:
    """Chinese: pairs of characters; what is beyond 16 bits counts two, and Java is started by the first request."""
    status, _, text = server.request("POST", "/api/terms", {"texts": ["", "😀，火车 GDP"]})
    assert (status, json.loads(text)) == (200, {"terms": [[], [[0, 2, "😀"], [3, 5, "火车"], [6, 9, "gdp"]]]})


def test_a_narrative_is_read_as_it_is_typed(server: Running) -> None:
    narrative = "Find 🚢 ships.\nLeave out ferries."
    status, _, text = server.request("POST", "/api/reading", {"text": narrative})
    spans = json.loads(text)["spans"]
    assert status == 200 and ("ferries.", "excluded") in [(narrative[start:end], kind) for start, end, kind in spans]
    assert json.loads(server.request("POST", "/api/reading", {"text": " "})[2]) == {"spans": []}
    status, _, text = server.request("POST", "/api/reading", {"text": "x" * 20_001})
    assert status == 400 and "length <= 20000" in json.loads(text)["error"]


def test_all_changes_that_do_not_fit_are_reported_together(server: Running) -> None:
    body = sent(grade("01", DOCID, 2), grade("99", DOCID, 1), grade("01", "gone", 2, "query"))
    status, _, text = server.request("POST", "/api/changes", body)
    assert status == 400
    assert json.loads(text)["error"].splitlines() == [
        "grade is 2, expected one of 0, 1, 3",
        "topic is '99', expected one of the pool",
        "condition is 'query', expected original or changed",
        "document 'gone' is not to be judged for topic 01",
    ]


def test_unknown_topics_and_documents_are_not_found(server: Running) -> None:
    assert server.request("GET", "/api/topic?qid=99&assessor=a")[0] == 404
    assert server.request("GET", f"/api/document?docid={quote('../pool.jsonl')}")[0] == 404
    assert server.request("GET", "/api/topic?qid=01")[0] == 400
    assert server.request("DELETE", "/api/task")[0] == 405


def test_an_assessor_sees_no_judgement_of_another(server: Running) -> None:
    docids = [document["docid"] for document in server.get("/api/topic?qid=02&assessor=Other")["documents"]]
    assert server.change("Secret", grade("02", docids[0], 3))[0] == 200
    other = server.get("/api/topic?qid=02&assessor=Other")
    assert all("original" not in document for document in other["documents"])
    own = server.get("/api/topic?qid=02&assessor=Secret")["documents"][0]
    assert own["original"] == {"grade": 3, "note": "", "stale": False}
    assert server.get("/api/progress?assessor=Other")["topics"]["02"]["original"] == 0
    assert server.get("/api/progress?assessor=Secret")["topics"]["02"]["original"] == 1


def test_an_open_page_learns_each_change_of_another_process(pool: Path) -> None:
    database = pool.with_name("other.db")
    with running(pool, "--lang", "zho", "--database", database) as server, closing(Store(database)) as store:
        other = Judging(store)

        def progress(assessor: str) -> tuple[int, bool]:
            topic = server.get(f"/api/progress?assessor={assessor}")["topics"]["01"]
            return topic["original"], topic["edited"]

        assert progress("ann") == (0, True), "the sample's narratives are edited"
        other.grade("ann", "01", DOCID, 1)
        assert (progress("ann"), progress("bela")) == ((1, True), (0, True))
        other.edit("ann", "01", server.get("/api/topic?qid=01&assessor=ann")["original"])
        assert progress("ann") == (1, False)
        other.undo("ann")
        assert progress("ann") == (1, True)


def test_disagreements_are_shown_of_documents_that_one_has_graded(server: Running) -> None:
    first, second = (document["docid"] for document in server.get("/api/topic?qid=03&assessor=x")["documents"][:2])
    server.change("D1", grade("03", first, 3), grade("03", second, 3))
    server.change("D2", grade("03", first, 0), grade("03", second, 0))
    server.change("D3", grade("03", second, 1))
    shown = {who: server.get(f"/api/agreement?assessor={who}") for who in ("D3", "Organiser")}
    assert [item["docid"] for item in shown["D3"]["disagreements"]] == [second]
    assert [item["docid"] for item in shown["Organiser"]["disagreements"] if item["qid"] == "03"] == sorted(
        [first, second]
    )
    assert shown["Organiser"]["open"] == shown["Organiser"]["count"]


def test_original_grades_are_shown_to_who_has_given_ones_or_judges_nothing(server: Running) -> None:
    topic = server.get("/api/topic?qid=03&assessor=x")
    docid, narrative = topic["documents"][2]["docid"], f"{topic['changed']} Only ferries."
    server.change("O1", grade("03", docid, 3))
    edit = {"qid": "03", "kind": "narrative", "text": narrative, "base": topic["version"]}
    assert server.change("O1", edit)[0] == 200
    for name, value in (("O1", 3), ("O2", 0)):
        assert server.change(name, grade("03", docid, value, "changed"), wording=narrative)[0] == 200

    def shown(name: str) -> dict | None:
        items = server.get(f"/api/agreement?assessor={name}")["disagreements"]
        [original] = [item["original"] for item in items if (item["docid"], item["condition"]) == (docid, "changed")]
        return original

    assert [shown(name) for name in ("O1", "O2", "Organiser")] == [{"O1": 3}, None, {"O1": 3}]


def test_a_change_is_taken_whatever_a_browsers_clock_says_of_its_age(server: Running) -> None:
    for name, waited in (("Late", -1000), ("Early", 10**16)):  # ms; a browser's clock ends at 8.64e15
        assert server.change(name, grade("01", DOCID, 3), waited=waited)[0] == 200, waited


def test_a_narrative_that_was_edited_elsewhere_is_a_conflict_with_its_text(server: Running) -> None:
    status, answer = server.change("N1", {"kind": "narrative", "qid": "01", "text": "first", "base": 0})
    assert status == 200
    version = answer["done"][0]["version"]
    status, answer = server.change("N2", {"kind": "narrative", "qid": "01", "text": "second", "base": 0})
    assert (status, answer["text"], answer["version"]) == (409, "first", version)
    server.change("N2", grade("01", DOCID, 1, "changed"), wording="first")
    status, _ = server.change("N2", {"kind": "narrative", "qid": "01", "text": "second", "base": version})
    assert status == 200
    entry = next(
        document for document in server.get("/api/topic?qid=01&assessor=N2")["documents"] if document["docid"] == DOCID
    )
    assert entry["changed"] == {"grade": 1, "note": "", "stale": True}


def test_a_restart_keeps_port_and_token_and_ends_well_on_interrupt(pool: Path) -> None:
    database = pool.with_name("again.db")
    with running(pool, "--lang", "zho", "--database", database) as server:
        address = server.address
        server.kill()
    with running(pool, "--database", database) as server:
        assert server.address == address
        with running(pool, "--database", database) as second:  # the port is taken now: another one
            assert second.port != server.port
            assert second.request("GET", "/")[0] == 200
        assert server.stop() == 0
        server.waits_for("stopped; the same command goes on")


def test_sigterm_says_how_to_go_on_and_clients_that_hang_up_leave_no_traceback(pool: Path) -> None:
    with running(pool, "--lang", "zho", "--database", pool.with_name("hangs.db")) as server:
        head = f"POST /api/changes HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        head += f"Cookie: heed-{server.port}={server.token}\r\nContent-Length: 100\r\n\r\n"
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
                client.sendall(f'{head}{{"id"'.encode())
        assert server.request("GET", "/api/task")[0] == 200
        assert server.stop(signal.SIGTERM) == 143
        server.waits_for("stopped; the same command goes on; with --export DIR")
        assert not any("Traceback" in line or "ClientDisconnect" in line for line in server.messages)


def test_a_taken_port_is_told_and_only_one_that_was_opened_is_remembered(
    pool: Path, server: Running, heed: Heed
) -> None:
    database = pool.with_name("ports.db")
    with running(pool, "--lang", "zho", "--database", database) as first:
        port = first.port
    for refused, message in (
        (server.port, "Address already in use); choose another, or 0 for any"),
        (80, "lower ones are the system's"),
    ):
        result = heed("pipelines.annotate", pool, "--database", database, "--port", refused, "--no-browser")
        assert result.returncode == 1 and "port: " in result.stderr and message in result.stderr
    with running(pool, "--database", database) as again:
        assert again.port == port


def test_a_document_is_told_with_its_date_and_as_a_table(tmp_path: Path) -> None:
    table = "<table><caption>C</caption><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    documents = [
        {"id": "news", "title": "T", "text": "a | b", "time": "2020-05-06T10:00:00+00:00"},
        {"id": "odd/id?", "text": "<script>alert(1)</script>", "date": " spring 2021 "},
        {"id": "table", "title": "C", "text": table},
    ]
    topics = [{"qid": "q", "lang": "rus", "query": "вопрос"}]
    with running(*annotation_files(tmp_path, topics, documents), "--lang", "rus") as server:
        assert server.get("/api/task")["topics"][0]["documentLanguage"] == {"tag": "ru", "dir": "ltr"}
        news = server.get("/api/document?docid=news")
        assert (news["title"], news["date"], news["table"]) == ("T", "2020-05-06", None)
        odd = server.get(f"/api/document?docid={quote('odd/id?')}")
        assert (odd["text"], odd["date"]) == ("<script>alert(1)</script>", "spring 2021")
        drawn = server.get("/api/document?docid=table")["table"]
        assert drawn == {"caption": "C", "header": [["A", "B"]], "body": [["1", "2"]]}
