"""Assessors with links of their own: who is let in as whom, what they see, and where the links are not."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from annotating import annotation_files, grade
from conftest import Heed
from invited import PEOPLE, inviting

from heed.addons.judging.annotate.people import read_people
from heed.errors import HeedError, UsageError
from heed.web import check_host


def campaign(folder: Path, people: str = PEOPLE) -> list[object]:
    """A pool of one topic with two documents, and the people; the arguments of a start."""
    topics = [{"qid": "1", "lang": "eng", "query": "ferries", "instructions": {"original": "Sunk ferries."}}]
    files = annotation_files(folder, topics, [{"id": docid, "text": f"text {docid}"} for docid in "ab"])
    (folder / "people.tsv").write_text(people)
    return [*files, "--assessors", folder / "people.tsv"]


def test_a_link_lets_in_one_person_as_what_he_is(tmp_path: Path) -> None:
    with inviting(*campaign(tmp_path)) as server:
        assert [*server.links] == ["Ann", "Bob", "Chair"]
        assert all(link.startswith(f"http://127.0.0.1:{server.port}/#token=") for link in server.links.values())
        status, headers, _ = server.enter(server.tokens()["Ann"])
        cookie = f"heed-{server.port}={server.tokens()['Ann']}; Path=/; HttpOnly; SameSite=Strict"
        assert (status, headers["set-cookie"]) == (200, cookie)
        assert server.enter("wrong")[0] == server.enter("")[0] == 403
        assert server.request("GET", "/", Cookie="")[0] == 200, "the page itself is no secret"
        assert server.request("GET", "/api/task", Cookie="")[0] == 403
        task = server.asked("Ann", "/api/task")
        assert [task[key] for key in ("assessor", "known", "adjudicates", "assessors")] == ["Ann", True, False, []]
        assert server.asked("Chair", "/api/task")["adjudicates"]

        assert server.send("Ann", grade("1", "a", 3))[0] == server.send("Bob", grade("1", "a", 0))[0] == 200
        status, text = server.send("Ann", grade("1", "b", 3), assessor="Bob")
        assert status == 403 and text == "this browser has opened the link of Ann; open the one of Bob"
        for person, by in (("Ann", "Ann"), ("Ann", "Chair"), ("Chair", "Ann"), ("Chair", "")):
            status, text = server.send(person, grade("1", "a", 3), assessor="adjudicated", by=by)
            assert status == 400 and f"{person} does not decide here" in text, "with 403 it would wait for ever"
        assert server.as_person("Ann", "GET", "/api/topic?qid=1&assessor=Bob")[0] == 403
        assert server.as_person("Ann", "GET", "/api/agreement?assessor=Ann")[::2] == (
            403,
            "agreement is shown to adjudicators",
        )
        [differing] = server.asked("Chair", "/api/agreement")["disagreements"]
        assert differing["grades"] == {"Ann": 3, "Bob": 0}
        assert server.send("Chair", grade("1", "a", 3), assessor="adjudicated", by="Chair")[0] == 200
        assert server.asked("Chair", "/api/agreement")["open"] == 0


def test_who_does_not_adjudicate_learns_of_the_others_only_that_they_are_not_done(tmp_path: Path) -> None:
    with inviting(*campaign(tmp_path)) as server:
        for person, first in (("Ann", 3), ("Bob", 0)):
            server.send(person, grade("1", "a", first), grade("1", "b", 0))
        assert server.asked("Ann", "/api/progress")["missing"] == "Others still judge or decide."
        assert server.asked("Chair", "/api/progress")["missing"] is None, "the chair could judge them too"


def test_a_link_is_revoked_or_replaced_while_the_server_runs(tmp_path: Path, heed: Heed) -> None:
    with inviting(*campaign(tmp_path)) as server:
        server.send("Ann", grade("1", "a", 3))
        revoked = heed("pipelines.annotate", "pool.jsonl", "--revoke", "Ann")
        assert (
            revoked.returncode == 0 and "Ann: the link lets nobody in any more; the judgements stay" in revoked.stderr
        )
        status, _, text = server.as_person("Ann", "GET", "/api/task")
        assert status == 403 and text == "open your own link; this address lacks its token\n"
        assert server.enter(server.tokens()["Ann"])[0] == 403

        again = heed("pipelines.annotate", "pool.jsonl", "--new-link", "Bob", "--allow-host", "https://judge.example")
        name, _, link = again.stdout.strip().partition("\t")
        assert (name, link.partition("#token=")[0]) == ("Bob", "https://judge.example/")
        assert server.as_person("Bob", "GET", "/api/task")[0] == 403, "the earlier link is of no use"
        assert server.as_person("Bob", "GET", "/api/task", token=link.partition("#token=")[2])[0] == 200
        unknown = heed("pipelines.annotate", "pool.jsonl", "--revoke", "Dan")
        assert unknown.returncode == 1 and "Dan has no link; who has: Ann, Bob, Chair" in unknown.stderr
    with inviting(tmp_path / "pool.jsonl", "--allow-host", "https://judge.example") as server:
        assert server.links == {}, "each is printed once"
        assert "\thttps://judge.example/#" in heed("pipelines.annotate", "pool.jsonl", "--new-link", "Bob").stdout
        server.waits_for("2 names, each with a link")
    exported = heed("pipelines.annotate", "pool.jsonl", "--export", "out")
    assert exported.returncode == 0
    [line] = map(json.loads, (tmp_path / "out" / "judgements.jsonl").read_text().splitlines())
    assert (line["assessor"], line["grade"]) == ("Ann", 3)


def test_no_token_is_in_the_database_an_export_a_message_or_a_backup(tmp_path: Path, heed: Heed) -> None:
    with inviting(*campaign(tmp_path)) as server:
        server.send("Ann", grade("1", "a", 3))
        with closing(sqlite3.connect(tmp_path / "pool.db")) as db:
            [(page_token,)] = db.execute("SELECT value FROM kept WHERE name = 'token'")
        saved = heed("pipelines.annotate", "pool.jsonl", "--backup", "copy.db")
        assert (saved.returncode, saved.stdout) == (0, "copy.db: a copy of pool.db\n"), saved.stderr
        heed("pipelines.annotate", "pool.jsonl", "--export", "out")
        tokens = [token.encode() for token in server.tokens().values()]
        for path in (path for path in tmp_path.rglob("*") if path.is_file()):
            content = path.read_bytes()
            assert not any(token in content for token in tokens), path
            assert path.name != "copy.db" or page_token.encode() not in content
        assert not any(token.decode() in line for token in tokens for line in server.messages)
    assert {path.name for path in tmp_path.glob("copy*")} == {"copy.db"}, "one whole file"
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert "copy.db: is there already" in heed("pipelines.annotate", "pool.jsonl", "--backup", "copy.db").stderr
    with inviting(tmp_path / "pool.jsonl", "--database", tmp_path / "copy.db") as restored:
        restored.links = server.links
        assert restored.asked("Ann", "/api/topic?qid=1")["documents"][0]["original"]["grade"] == 3, "links go on"


def test_an_assignment_of_an_older_database_gives_each_name_a_link_once(tmp_path: Path) -> None:
    pool, *files, _, _ = campaign(tmp_path)
    (tmp_path / "assigned.tsv").write_text("1\tAnn\n1\tBob\n")
    with inviting(pool, *files, "--assign", tmp_path / "assigned.tsv") as server:
        server.waits_for("nobody decides where assessors differ")
        assert [*server.links] == ["Ann", "Bob"]
    with closing(sqlite3.connect(tmp_path / "pool.db")) as db:
        db.execute("DROP TABLE people")  # as Heed 0.2 left it
        db.commit()
    with inviting(pool) as server:
        assert [*server.links] == ["Ann", "Bob"]
        assert server.send("Bob", grade("1", "a", 1))[0] == 200
    with inviting(pool) as server:
        assert [*server.links] == []


def test_names_are_not_given_twice(tmp_path: Path, heed: Heed) -> None:
    pool, *rest = campaign(tmp_path)
    result = heed("pipelines.annotate", pool, *rest, "--assessor", "Ann", "--no-browser")
    assert result.returncode == 1 and "assessors are known by their links here; leave it out" in result.stderr
    result = heed("pipelines.annotate", pool, *rest, "--export", "out")
    assert result.returncode == 1 and "--assessors: not used here; links are printed when" in result.stderr
    result = heed("pipelines.annotate", pool, "--backup", "copy.db", "--export", "out")
    assert result.returncode == 1 and "--export: not used here; one thing at a time" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "people.tsv: empty; expected lines of a name, or of a name, a tab and a role"),
        ("Ann\tboss\n", "line 1: role 'boss', expected assessor or adjudicator after a tab"),
        ("Ann\n\nANN\n", "line 3: ANN is there before; one line for each"),
        ("adjudicated\n", "line 1: assessor adjudicated: this name is reserved"),
    ],
)
def test_a_file_of_people_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "people.tsv"
    path.write_text(text)
    with pytest.raises(HeedError) as error:
        read_people(path)
    assert message in str(error.value)


def test_behind_a_proxy_the_address_needs_no_port_and_the_cookie_is_for_https_alone(tmp_path: Path) -> None:
    with inviting(*campaign(tmp_path), "--allow-host", "https://Judge.Example.org/") as server:
        assert server.links["Ann"].startswith("https://judge.example.org/#token=")
        proxied = {"Host": "judge.example.org", "Origin": "https://judge.example.org"}
        status, headers, _ = server.enter(server.tokens()["Ann"], **proxied)
        assert (status, headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Secure")) == (200, True)
        cookie = headers["set-cookie"].partition(";")[0]
        body = {"id": "12345678", "assessor": "Ann", "changes": [grade("1", "a", 1)]}
        assert server.request("POST", "/api/changes", body, Cookie=cookie, **proxied)[0] == 200
        for other in ("http://judge.example.org", "https://judge.example.org:8443", "https://other.example.org"):
            assert server.request("POST", "/api/changes", body, Cookie=cookie, **{**proxied, "Origin": other})[0] == 403


def test_an_allowed_host_is_a_host_with_a_port_or_an_address_of_https() -> None:
    right = ("localhost:9000", "https://judge.example.org", "https://judge.example.org:8443")
    assert [check_host(text) for text in right] == [*right]
    for text in ("localhost", "http://judge.example.org", "https://judge.example.org/page", "https://a:0", "a:1/"):
        with pytest.raises(UsageError, match="allow_host: found"):
            check_host(text)
