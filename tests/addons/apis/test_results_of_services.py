"""What a results folder says of systems that run at a service or as a program."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from drinks import DRINKS, Words, assert_ties_are_warned_of, collection, experiment
from openai_server import Server

from heed import ModelError, Topic
from heed.addons.apis.listwise import api_listwise
from heed.addons.apis.rerank import ApiReranker
from heed.models.registry.entries import Model


def printing(folder: Path, _: Server) -> str:
    text = "import json, sys\nfor line in sys.stdin:\n    topic = json.loads(line)\n"
    answer = '    print(json.dumps({"qid": topic["qid"], "scores": [7] * len(topic["documents"])}), flush=True)\n'
    path = folder / "score"
    path.write_text(f"#!{sys.executable} -IS\n{text}{answer}")
    path.chmod(0o755)
    return f"flat=command:{path}"


def served(_: Path, server: Server) -> ApiReranker:
    server.score = lambda _, texts: [0.0] * len(texts)
    return ApiReranker(Model("org/flat", family="api-rerank", status="api"))


@pytest.mark.parametrize("source", [printing, served])
def test_one_score_for_all_documents_is_warned_of_from_services_and_programs(
    source: Callable[[Path, Server], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Server().running() as server:
        monkeypatch.setenv("RERANK_BASE_URL", server.url)
        for _ in range(2):  # made, and used again
            assert_ties_are_warned_of(tmp_path, source(tmp_path, server))


def test_replies_that_are_no_answers_are_counted_in_the_summary_and_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Server().running() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.say = lambda said: None if "no milk" in json.dumps(said) else "[2] > [1] > [3]"
        for _ in range(2):  # the same command asks again
            chat = api_listwise(Model("openai/tiny", family="api-chat", status="api", max_length=100_000))
            with experiment(tmp_path, collection()) as asked:
                runs = [asked.retrieve(Words()), asked.add("other", {"original": {"1": {"a": 1.0}}})]
                with pytest.raises(ModelError, match=r"tiny.changed.run: no reply names a document, of 1 \(refused"):
                    asked.rerank(chat, runs[:1])
        assert server.calls == 4 and not (tmp_path / DRINKS / "tiny.changed.run").exists()
        topics = [collection().topics[0], Topic("2", "eng", "coffee", {"original": "milk", "changed": "any milk"})]
        with experiment(tmp_path, collection(topics=topics)) as asked:
            results = asked.evaluate([asked.retrieve(Words()), asked.rerank(chat, [asked.retrieve(Words())])])
    summary = json.loads((tmp_path / DRINKS / "summary.json").read_text())
    line = "tiny.changed.run: replies that name no document: 1, in 1 of 2 topics (1), refused, empty, cut off"
    assert {each["system"]: each["unanswered"] for each in summary["systems"]} == {"words": 0, "tiny": 1}
    assert summary["systems"] == results.systems
    assert [each for each in summary["warnings"] if each.startswith(line)]
    assert line in (tmp_path / DRINKS / "report.html").read_text()
