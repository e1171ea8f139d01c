"""In a real Chromium: assessors and an adjudicator who are let in by links of their own, also behind nginx."""

import gzip
import json
import re
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from annotating import grade
from annotating_browser import CHROMIUM, ELSEWHERE, PATIENCE, Assessor
from conftest import ROOT, Heed, write_jsonl
from invited import PEOPLE, inviting
from release_facts import FACTS

from heed.files import write_json
from heed.formats.trec_files import read_qrels
from heed.web import _bind

if TYPE_CHECKING:
    from playwright.sync_api import Browser

from test_annotate_campaign import ANN, BOB, DECIDED, DOCIDS, ORIGINAL, campaign, decide, edit

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")


@contextmanager
def let_in(chromium: "Browser", link: str, drawn: str = "#document .facts") -> Iterator[Assessor]:
    """A browser of one's own in which a link has been opened, once ``drawn`` is on the page."""
    person = Assessor(chromium, None, "", address=link, drawn=drawn)
    try:
        yield person
    finally:
        person.context.close()


def invited(folder: Path) -> list[object]:
    pool, options = campaign(folder)
    (folder / "people.tsv").write_text(PEOPLE)
    return [pool, *options, "--assessors", folder / "people.tsv"]


def test_links_let_in_and_adjudicators_alone_see_agreement(chromium: "Browser", tmp_path: Path, heed: Heed) -> None:
    with (
        inviting(*invited(tmp_path)) as server,
        let_in(chromium, server.links["Ann"]) as ann,
        let_in(chromium, server.links["Bob"]) as bob,
    ):
        for person, name in ((ann, "Ann"), (bob, "Bob")):
            assert (person.text("#who"), person.page.is_disabled("#who")) == (name, True)
            assert "token" not in person.page.url and person.page.is_hidden("#agreement-button")
            assert person.page.evaluate("document.cookie") == "", "no script can read it"
            person.press("a")
            assert person.page.is_hidden("#agreement")
        ann.press(*ANN)
        bob.press(*BOB)
        ann.saved()
        bob.saved()
        bob.until("document.querySelector('#notice').innerText.includes('Others still judge or decide.')")
        bob.page.reload()
        bob.page.wait_for_selector("#document .facts")
        assert bob.text("#who") == "Bob"
        assert not [url for url in ann.asked if server.tokens()["Ann"] in url.partition("#")[0]]
        with let_in(chromium, server.links["Chair"]) as chair:
            decide(chair)

        assert heed("pipelines.annotate", "pool.jsonl", "--revoke", "Ann").returncode == 0
        ann.press("x")
        ann.until("document.querySelector('#alarm').innerText.includes('Open your own link')")
        assert "1 change is not saved yet" in ann.text("#alarm")
        ann.page.evaluate(f"location.hash = 'token={server.tokens()['Bob']}'")  # his link, opened in her tab
        ann.page.wait_for_selector("#who:has-text('Bob')")
        ann.saved()
    assert heed("pipelines.annotate", "pool.jsonl", "--export", "out").returncode == 0
    assert read_qrels(tmp_path / "out" / "original.qrels")["301"] == ORIGINAL
    judgements = map(json.loads, (tmp_path / "out" / "judgements.jsonl").read_text().splitlines())
    assert {line["decided_by"] for line in judgements if line["assessor"] == "adjudicated"} == {"Chair"}


def test_an_assessor_without_a_topic_is_told(chromium: "Browser", tmp_path: Path) -> None:
    (tmp_path / "assigned.tsv").write_text("301\tAnn\n")
    with inviting(*invited(tmp_path), "--assign", tmp_path / "assigned.tsv") as server:
        page = chromium.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.links["Bob"])
        page.wait_for_selector("text=No topic is assigned to you.")
        page.goto(server.links["Bob"][:-3])
        page.wait_for_selector("#alarm:has-text('This link is not valid any more; ask who sent it for a new one.')")
        assert page.locator("#top button:visible").count() == 0, "there is nothing to open"
        page.close()


def test_assigned_topics_are_judged_blind_and_decided_by_another(
    chromium: "Browser", tmp_path: Path, heed: Heed
) -> None:
    pool, options = campaign(tmp_path)
    second = {"qid": "302", "lang": "eng", "query": "kelp", "instructions": {"original": "Farms."}}
    first = {"qid": "301", "lang": "eng", "query": "ferry accidents", "description": "Which ferries sank?"}
    first["instructions"] = {"original": "Sinkings of ferries."}
    write_jsonl(tmp_path / "topics.jsonl", [first, second])
    write_jsonl(pool, [{"qid": "301", "docids": DOCIDS}, {"qid": "302", "docids": ["D6"]}])
    options[1] = tmp_path / "topics.jsonl"
    people = tmp_path / "people.tsv"
    people.write_text("Chair\tadjudicator\n")
    (tmp_path / "assessors.tsv").write_text("301\tAnn\n301\tBob\n302\tAnn\n")
    with (
        inviting(pool, *options, "--assign", tmp_path / "assessors.tsv", "--assessors", people) as server,
        let_in(chromium, server.links["Ann"]) as ann,
        let_in(chromium, server.links["Bob"]) as bob,
    ):
        server.waits_for("Bob, 1 topic: 0 of 6 judged")
        assert [ann.page.locator("#topics li").count(), bob.page.locator("#topics li").count()] == [2, 1]
        assert server.as_person("Bob", "GET", "/api/topic?qid=302&assessor=Bob")[0] == 404
        status, answer = server.send("Bob", grade("302", "D6", 1))
        assert status == 400 and "topic 302 is assigned to Ann, not to Bob" in answer
        ann.press(*ANN, "n")
        ann.page.wait_for_selector("#topics [data-qid='302'][aria-current]")
        ann.press("1")
        bob.press(*BOB)
        ann.saved()
        bob.saved()
        bob.until("document.querySelector('#notice').innerText.includes('for you. Others still judge or decide.')")
        with let_in(chromium, server.links["Chair"], drawn=".disagreement[aria-current] .document .text") as chair:
            assert "Ann, 2 topics: 7 of 7 judged" in chair.text("#agreement .progress")
            for value in DECIDED.values():
                chair.page.wait_for_selector(".disagreement[aria-current] .document .text")
                chair.page.keyboard.press(str(value))
                chair.page.wait_for_timeout(100)
            chair.saved()
        server.kill()
    with inviting(pool) as server:  # the assignment is in the database
        server.waits_for("Ann, 2 topics: 7 of 7 judged")
        server.kill()
    result = heed("pipelines.annotate", "pool.jsonl", "--export", "out")
    assert "Bob, 1 topic: 6 of 6 judged" in result.stdout
    assert read_qrels(tmp_path / "out" / "original.qrels") == {"301": ORIGINAL, "302": {"D6": 1}}
    with closing(sqlite3.connect(tmp_path / "pool.db")) as db:
        rows = db.execute("SELECT json_extract(after, '$.by') FROM log WHERE assessor = 'adjudicated'").fetchall()
    assert rows == [("Chair",)] * 3


NGINX = shutil.which("nginx")


def free_port() -> int:
    with _bind(0) as sock:
        return int(sock.getsockname()[1])


def is_served(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def proxied(folder: Path, port: int, inner: int) -> Iterator[None]:
    """nginx as docs/judging.md configures it, for this machine's ports and with a certificate of its own."""
    page = (ROOT / "docs" / "judging.md").read_text()
    [location] = re.findall(r"^    (location / \{\n(?:    .*\n)+?    \})$", page, re.MULTILINE)
    configuration = (
        f"server {{\nlisten 127.0.0.1:{port} ssl;\nserver_name {ELSEWHERE};\n"
        f"ssl_certificate {folder}/cert.pem;\nssl_certificate_key {folder}/key.pem;\n"
        f"{location.replace('40000', str(inner))}\n}}"
    )
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={ELSEWHERE}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*request, *files], check=True, capture_output=True)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder / kind};\n" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\n{places}access_log {folder}/access.log;\n{configuration}\n}}\n"
    )
    process = subprocess.Popen([str(NGINX), "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 10
        while not is_served(port):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(not NGINX or not shutil.which("openssl"), reason="no nginx or openssl")
def test_judging_behind_nginx_as_the_guide_configures_it(chromium: "Browser", tmp_path: Path) -> None:
    (tmp_path / "nginx").mkdir()
    outer, inner = free_port(), free_port()
    address = f"https://{ELSEWHERE}:{outer}"
    with (
        inviting(*invited(tmp_path), "--port", inner, "--allow-host", address) as server,
        proxied(tmp_path / "nginx", outer, inner),
    ):
        assert server.links["Ann"].startswith(f"{address}/#token=")
        context = chromium.new_context(ignore_https_errors=True)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.links["Ann"])
        page.wait_for_selector("#document[data-shown]")
        page.keyboard.press("1")
        page.wait_for_selector("#strip [data-at='0']:has-text('1')")
        page.wait_for_selector("#saved[data-state=saved]")
        [cookie] = context.cookies()
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
        context.close()
        topic = server.asked("Ann", "/api/topic?qid=301")
        assert topic["documents"][0]["original"]["grade"] == 1
        assert server.tokens()["Ann"] not in (tmp_path / "nginx" / "access.log").read_text()


def test_a_campaign_changes_while_pages_are_open(chromium: "Browser", tmp_path: Path, heed: Heed) -> None:
    """A topic is added, one withdrawn, a narrative loaded from a file, a text corrected, a language added; released."""
    topics = {
        qid: {"qid": qid, "lang": "eng", "query": qid, "instructions": {"original": f"About {qid}."}}
        for qid in ("ferries", "kelp", "whales")
    }
    documents = {docid: {"id": docid, "text": f"text {docid}"} for docid in "ab"}

    def files(*qids: str) -> list[object]:
        write_jsonl(tmp_path / "topics.jsonl", [topics[qid] for qid in qids])
        write_jsonl(tmp_path / "docs.jsonl", [*documents.values()])
        write_jsonl(tmp_path / "pool.jsonl", [{"qid": qid, "docids": ["a", "b"]} for qid in qids])
        return [tmp_path / "pool.jsonl", "--topics", tmp_path / "topics.jsonl", "--docs", tmp_path / "docs.jsonl"]

    (tmp_path / "people.tsv").write_text(f"{PEOPLE}Cem\n")
    closed_at_last = ExitStack()
    with inviting(*files("ferries", "kelp"), "--assessors", tmp_path / "people.tsv", "--grades", "0,1") as server:
        links = server.links
        port = server.port
        ann = closed_at_last.enter_context(let_in(chromium, links["Ann"]))
        ann.press("1", "0", "n")
        ann.page.wait_for_selector("#topics [data-qid='kelp'][aria-current]")
        ann.press("1", "1")
        ann.saved()
        server.kill()
    documents["b"]["text"] = "text b, as it was printed"
    topics["ferries"]["instructions"] = {"original": "About ferries.", "changed": "About ferries, not liners."}
    (tmp_path / "withdrawn.tsv").write_text("kelp\n")
    options = ("--update", "--withdraw", tmp_path / "withdrawn.tsv", "--port", port)
    with inviting(*files("ferries", "kelp", "whales"), *options) as server, closed_at_last:
        server.waits_for("documents b are corrected; 2 judgements to be given again")
        ann.look()
        ann.page.wait_for_selector("#topics [data-qid='whales']")
        assert ann.page.locator("#topics li").count() == 2, "kelp is withdrawn"
        ann.page.click("#topics [data-qid='ferries']")
        ann.page.wait_for_selector("#strip [title='2. b: not relevant, graded before a correction']")
        assert ann.page.locator("#notice [data-action=keep]").inner_text() == "Keep 1 older"
        ann.press("n")
        assert ann.shown() == "b" and "as it was printed" in ann.text("#document")
        ann.press("0", "N")
        ann.until("document.querySelector('#tab-changed').ariaSelected === 'true'")
        assert ann.page.input_value("#editor") == "About ferries, not liners." and ann.shown() == "a"
        ann.press("0")
        ann.page.click("#topics [data-qid='whales']")
        ann.page.wait_for_selector("#topics [data-qid='whales'][aria-current]")
        ann.press("o", "1", "1")
        ann.saved()
        server.links = links
        for name, grades in (("Bob", "11"), ("Cem", "10")):
            with let_in(chromium, links[name]) as person:
                for qid in ("ferries", "whales"):
                    person.page.click(f"#topics [data-qid='{qid}']")
                    person.page.wait_for_selector(f"#topics [data-qid='{qid}'][aria-current]")
                    person.press("o", *grades)
                person.saved()
        with let_in(chromium, links["Chair"]) as chair:
            chair.press("a")
            for qid, value in (("ferries", "0"), ("whales", "1")):  # each of b
                chair.page.wait_for_selector(f".disagreement[aria-current]:has-text('{qid}') .document .text")
                chair.page.keyboard.press(value)
            chair.saved()
        server.kill()
    narratives = {"original": "کشتی‌های غرق شده."}
    persian = {"qid": "fas-1", "lang": "fas", "query": "کشتی", "instructions": narratives}
    write_jsonl(tmp_path / "fas-topics.jsonl", [persian])
    write_jsonl(tmp_path / "fas-docs.jsonl", [{"id": "p", "text": "کشتی غرق شد"}])
    write_jsonl(tmp_path / "fas.jsonl", [{"qid": "fas-1", "docids": ["p"]}])
    sources = ("--topics", tmp_path / "fas-topics.jsonl", "--docs", tmp_path / "fas-docs.jsonl", "--lang", "fas")
    database = ("--database", tmp_path / "pool.db", "--port", port)
    with inviting(tmp_path / "fas.jsonl", *sources, *database), let_in(chromium, links["Cem"]) as cem:
        cem.page.click("#topics [data-qid='fas-1']")
        cem.page.wait_for_selector("#document [dir=rtl]:has-text('کشتی غرق شد')")
        cem.press("1")
        edit(cem, " جز قایق‌ها.")
        cem.press("n", "0")
        cem.saved()
    narratives["changed"] = "کشتی‌های غرق شده. جز قایق‌ها."
    exported = heed("pipelines.annotate", "pool.jsonl", "--export", "out")
    assert exported.returncode == 0, exported.stderr
    judged = {"ferries": {"a": 1, "b": 0}, "whales": {"a": 1, "b": 1}, "fas-1": {"p": 1}}
    truth = {"original": judged, "changed": {"ferries": {"a": 0, "b": 0}, "fas-1": {"p": 0}}}
    assert {name: read_qrels(tmp_path / "out" / f"{name}.qrels") for name in truth} == truth

    write_json(tmp_path / "facts.json", FACTS)
    english = {qid: topics[qid] for qid in ("ferries", "whales")}
    for lang, topics, corpus in (
        ("eng", english, documents),
        ("fas", {"fas-1": persian}, {"p": {"id": "p", "text": "کشتی غرق شد"}}),
    ):
        release = tmp_path / lang
        published = heed("pipelines.publish", "pool.db", "--lang", lang, "--facts", "facts.json", "--out", release)
        assert published.returncode == 0, published.stderr
        for name, qrels in truth.items():
            lines = [f"{qid} 0 {d} {g}\n" for qid in qrels if qid in topics for d, g in qrels[qid].items()]
            assert (release / f"{name}.qrels").read_text() == "".join(lines)
        assert [json.loads(line) for line in (release / "topics.jsonl").read_text().splitlines()] == [*topics.values()]
        texts = map(json.loads, gzip.decompress((release / "corpus.jsonl.gz").read_bytes()).splitlines())
        assert {text["_id"]: text["text"] for text in texts} == {d: text["text"] for d, text in corpus.items()}
