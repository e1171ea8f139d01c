"""Ids and texts that mean to reach files, shells, terminals and browsers; keys that must not be told."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hardening.jobs import environment

SCRIPT = "<script>alert(1)</script>"
AIM = "/tmp/heed-escaped"  # noqa: S108 (what an attack would write)
IDS = (
    *("../../escaped", f"../../../../../..{AIM}", AIM, "..", "-rf", "~root", "$(touch${IFS}ran)", "`touch${IFS}ran`"),
    *(";touch${IFS}ran;", SCRIPT, "<img/src=x/onerror=alert(1)>", "\"'><b>", "\u202eevil", "%s%n", "{qid}"),
    *("__class__", "con.txt", "'||(SELECT/**/1)||'", "＜script＞", "é" * 200),
)
BROKEN = ("\x1b[2J", "a\x07", "a\x00b", "a\nb", "a\rb", "a b", "a\u2028b", "", " ", "\ud800")
KEY = "sk-hostile-4f7e2d9c81"
WHERE = {"docs.jsonl": f"docs.jsonl, line {len(IDS) + 1}", "topics.jsonl": "topic"}  # what is told
TERMINAL = ("\x1b", "\x07", "\u202e")


def _heed(folder: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def _write(path: Path, records: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")


def _collection(folder: Path) -> list[str]:
    """Files of a tiny collection with hostile ids and texts; gives back the options that name them."""
    documents = [{"id": one, "title": SCRIPT, "text": f"water river {one} {SCRIPT}"} for one in IDS]
    _write(folder / "docs.jsonl", documents)
    told = {"original": f"rivers {SCRIPT} $(touch ran)", "changed": "not water; `touch ran`"}
    _write(folder / "topics.jsonl", [{"qid": one, "query": f"water {SCRIPT}", "instructions": told} for one in IDS])
    lines = [f"{qid}\t{docid}\t{at % 2}\n" for qid in IDS for at, docid in enumerate(IDS)]
    (folder / "qrels.tsv").write_text("".join(["query-id\tcorpus-id\tscore\n", *lines]), encoding="utf-8")
    given = ("--docs", "docs.jsonl", "--topics", "topics.jsonl", "--qrels", "qrels.tsv", "--changed-qrels", "qrels.tsv")
    return ["pipelines.trec", *given, "--retriever", "lsa", "--reranker", "polarity"]


def _ids(folder: Path) -> list[str]:
    """From documents to the report, everything stays in the output folder and nothing is taken for markup."""
    place = folder / "a/b/c"
    place.mkdir(parents=True)
    before = {*folder.rglob("*")}
    command = _collection(place)
    done = _heed(place, *command)
    problems = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr[-300:]}"]
    allowed = (place / "runs", place / "indexes")
    given = {place / name for name in ("docs.jsonl", "topics.jsonl", "qrels.tsv")}
    outside = [
        path
        for path in {*folder.rglob("*")} - before - given
        if not any(path == one or one in path.parents for one in allowed)
    ]
    problems += [f"{path} was written" for path in outside]
    problems += [f"{path} was written" for path in Path(AIM).parent.glob(f"{Path(AIM).name}*")]
    pages = [*(place / "runs").rglob("*.html"), *(place / "runs").rglob("*.svg")]
    raw = [f"{page.name} holds {one}" for page in pages for one in (SCRIPT, "<img/src=x") if one in page.read_text()]
    problems += raw if pages else ["no report was written"]
    problems += [f"the terminal is sent {one!r}" for one in TERMINAL if one in done.stderr + done.stdout]
    return problems


def _broken_ids(folder: Path) -> list[str]:
    """Ids that no run file can hold are refused, with one line each and no traceback."""
    problems = []
    command = _collection(folder)
    for name, field in (("docs.jsonl", "id"), ("topics.jsonl", "qid")):
        good = (folder / name).read_text()
        for one in BROKEN:
            record = {"id": "1", "qid": "1", "text": "water", "query": "water"} | {field: one}
            (folder / name).write_text(good + json.dumps(record) + "\n")
            done = _heed(folder, *command)
            if done.returncode != 1 or "Traceback" in done.stderr or WHERE[name] not in done.stderr:
                problems.append(f"{field} {one!r}: status {done.returncode}, {done.stderr[-200:]}")
        (folder / name).write_text(good)
    return problems


def _told_terminals(folder: Path) -> list[str]:
    """An error that quotes a hostile file sends nothing but text to the terminal."""
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e"
    collection = _collection(folder)
    _write(folder / "topics.jsonl", [{"qid": f"1{hostile}", "query": "water"}])
    run = f"1 Q0 {hostile} 1 1 t\n1 Q0 {hostile} 2 1 t\n1 Q0 d 3 {hostile} t\n"
    (folder / "a.run").write_text(run, encoding="utf-8")
    (folder / "b.qrels").write_text(f"1 0 {hostile} 1\n1 0 {hostile} 2\n", encoding="utf-8")
    problems = []
    for command in (
        ("pipelines.compare", "a.run", "a.run", "--qrels", "b.qrels", "--new-qrels", "b.qrels"),
        ("pipelines.check", "a.run"),
        collection,
    ):
        done = _heed(folder, *command)
        sent = [one for one in TERMINAL if one in done.stderr + done.stdout]
        problems += [f"{command[0]}: {sent}"] if sent or done.returncode not in (1, 2) else []
    return problems


def _keys(folder: Path) -> list[str]:
    """A key is in no file, line or error, whatever the server says of it."""
    from tests.support.openai_server import Reply, Server

    _write(folder / "docs.jsonl", [{"id": f"d{at}", "text": f"water weight {at}"} for at in range(30)])
    _write(folder / "topics.jsonl", [{"qid": "1", "query": "water", "instructions": {"original": "rivers"}}])
    command = ["pipelines.trec", "--docs", "docs.jsonl", "--topics", "topics.jsonl", "--retriever", "lsa"]
    models = {"openai/tiny": {"family": "api-chat", "status": "api"}}
    (folder / "models.json").write_text(json.dumps(models))
    command += ["--reranker", "openai/tiny", "--models", "models.json", "--debug"]
    echo = json.dumps({"error": {"message": f"key {KEY} is wrong", "key": KEY}}).encode()
    problems = []
    scripts = ([Reply(401, echo)], [Reply(400, KEY.encode())], [Reply(302, headers=(("Location", f"/{KEY}"),))], [])
    with Server().running() as server:
        for script in scripts:
            server.script = list(script)
            done = _heed(folder, *command, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.url)
            expected = 1 if script else 0
            if done.returncode != expected:
                problems.append(f"status {done.returncode}, expected {expected}: {done.stderr[-300:]}")
            problems += [f"told on {name}" for name in ("stdout", "stderr") if KEY in getattr(done, name)]
        if not any(KEY in headers.get("Authorization", "") for _, headers, _ in server.requests):
            problems.append("the key never reached the server")
    files = [path for path in folder.rglob("*") if path.is_file()]
    return problems + [f"{path} holds the key" for path in files if KEY.encode() in path.read_bytes()]


CASES: dict[str, Callable[[Path], list[str]]] = {
    "ids": _ids,
    "broken-ids": _broken_ids,
    "terminal": _told_terminals,
    "keys": _keys,
}
