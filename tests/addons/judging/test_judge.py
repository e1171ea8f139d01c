import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Heed, write_jsonl
from openai_server import Reply, Server
from processes import until

from heed.addons.judging.model import conversation, parse_grade
from heed.formats.trec_files import read_qrels, write_run

GOLDEN = json.loads((Path(__file__).parents[2] / "data/golden/umbrela_judge.json").read_text(encoding="utf-8"))
KEY = "sk-very-secret-0123456789"
MODEL = {"openai/gpt-tiny": {"family": "api-chat", "status": "api", "price": [2, 8], "max_length": 100_000}}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        running.say = by_grade
        yield running


def by_grade(messages: list[dict[str, str]]) -> str:
    """The grade that stands in the passage; one more where the query has the changed instruction."""
    asked = messages[-1]["content"]
    found = re.search(r"^Passage: .*?grade (\d)", asked, re.MULTILINE | re.DOTALL)
    if found is None:
        return "I cannot judge that."
    return f"##final score: {min(int(found[1]) + ('only new' in asked), 3)}"


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    """A pool of two topics with eight documents each, as arguments of the command."""
    documents = [{"id": f"d{at}", "title": f"Title {at}", "text": f"grade {at % 4} {at}"} for at in range(8)]
    topics = [
        {"qid": qid, "lang": "eng", "query": query, "instructions": {"original": "only old", "changed": "only new"}}
        for qid, query in (("1", "ferries"), ("2", "boats"))
    ]
    docs = write_jsonl(tmp_path / "docs.jsonl", documents)
    pool = [{"qid": qid, "docids": [f"d{at}" for at in range(7, -1, -1)]} for qid in ("1", "2")]
    (tmp_path / "models.json").write_text(json.dumps(MODEL))
    return [
        *(str(write_jsonl(tmp_path / "pool.jsonl", pool)), "--topics", str(write_jsonl(tmp_path / "t.jsonl", topics))),
        *("--docs", str(docs), "--models", "models.json", "--model", "openai/gpt-tiny"),
    ]


@pytest.fixture
def environment(environment: dict[str, str], server: Server) -> dict[str, str]:
    return {**environment, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}


def test_a_pool_is_judged_into_files_of_its_own(server: Server, small: list[str], tmp_path: Path, heed: Heed) -> None:
    result = heed("pipelines.judge", *small)
    assert result.returncode == 0, result.stderr
    assert "gpt-tiny.original: 16 calls with about " in result.stderr
    path = tmp_path / "pool.gpt-tiny.original.qrels"
    lines = path.read_text().splitlines()
    assert lines[:3] == ["1 0 d7 3", "1 0 d6 2", "1 0 d5 1"] and len(lines) == 16
    note = json.loads((tmp_path / f"{path.name}.json").read_text())
    assert note["judge"]["model"] == "openai/gpt-tiny" and note["judge"]["prompt"] == "umbrela"
    assert note["condition"] == "original" and note["pool"]["file"] == "pool.jsonl"
    assert note["counts"] == {
        **{"documents": 16, "judged": 16, "refused": 0, "cut": 0},
        "grades": {"0": 4, "1": 4, "2": 4, "3": 4},
    }
    tokens = note["cost"]["input_tokens"], note["cost"]["output_tokens"]
    assert note["cost"]["requests"] == 16 and tokens[1] == 16 * 4  # "##final score: 0" has 16 letters
    assert note["cost"]["dollars"] == pytest.approx((tokens[0] * 2 + tokens[1] * 8) / 1_000_000)
    assert note["agreement"] is None
    _, _, body = server.requests[0]
    assert body["model"] == "gpt-tiny" and body["temperature"] == 0
    assert "Query: ferries only old\nPassage: Title 7\ngrade 3 7\n" in body["messages"][1]["content"]
    assert KEY not in json.dumps(note) + result.stderr


def test_a_campaigns_scale_is_asked_for_and_no_other_grade_is_one(
    server: Server, small: list[str], tmp_path: Path, heed: Heed
) -> None:
    scale = "0=off topic,1=mentioned,9=central"
    server.say = lambda messages: "9" if "Title 7" in messages[-1]["content"] else by_grade(messages)
    assert heed("pipelines.judge", *small, "--grades", scale).returncode == 0
    _, _, body = server.requests[0]
    question = body["messages"][1]["content"]
    assert "a score of 0, 1 or 9 with the following meanings:\n0 = off topic\n1 = mentioned\n9 = central\n" in question
    assert "Assign category" not in question and question.endswith("without providing any reasoning.")
    # of d7 9, of d6 and d2 2, of d5 and d1 1, of d3 3, of d4 and d0 0
    assert read_qrels(tmp_path / "pool.gpt-tiny.original.qrels")["1"] == {"d7": 9, "d5": 1, "d4": 0, "d1": 1, "d0": 0}
    note = json.loads((tmp_path / "pool.gpt-tiny.original.qrels.json").read_text())
    assert note["counts"]["grades"] == {"0": 4, "1": 4, "9": 2} and note["counts"]["refused"] == 6
    assert note["judge"]["messages"]["user"].startswith("Given a query and a passage, you must provide a score of 0, 1")
    assert heed("pipelines.judge", *small, "--grades", "1,2").returncode == 1


def test_each_condition_is_asked_and_kept_apart(server: Server, small: list[str], tmp_path: Path, heed: Heed) -> None:
    for condition in ("query", "original", "changed"):
        assert heed("pipelines.judge", *small, "--condition", condition, "--quiet").returncode == 0
    asked = {re.search("Query: (.*)", body["messages"][1]["content"])[1] for _, _, body in server.requests}  # type: ignore[index]
    assert asked == {f"{query}{more}" for query in ("ferries", "boats") for more in ("", " only old", " only new")}
    original, changed = (read_qrels(tmp_path / f"pool.gpt-tiny.{name}.qrels") for name in ("original", "changed"))
    assert (original["1"]["d1"], changed["1"]["d1"]) == (1, 2)
    assert server.calls == 48


def test_the_cost_comes_first_and_a_dry_run_sends_nothing(
    server: Server, small: list[str], tmp_path: Path, heed: Heed
) -> None:
    result = heed("pipelines.judge", *small, "--dry-run", "--quiet")
    assert result.returncode == 0
    assert re.match(r"gpt-tiny.original: 16 calls with about [\d,]+ tokens and 64 of answers", result.stdout)
    assert ", $0.01; 0 answers are cached" in result.stdout
    assert server.calls == 0 and not list(tmp_path.glob("*.qrels*"))
    heed("pipelines.judge", *small, "--quiet")
    again = heed("pipelines.judge", *small, "--dry-run", "--quiet")
    assert again.stdout == "gpt-tiny.original: all 16 answers are in the cache, nothing is paid\n"


def test_an_answer_without_a_grade_is_no_judgement(
    server: Server, small: list[str], tmp_path: Path, heed: Heed
) -> None:
    says = {"d7": None, "d6": "I cannot judge that.", "d5": "##final score: 7"}
    by_passage = {f"Title {docid[1:]}": answer for docid, answer in says.items()}

    def say(messages: list[dict[str, str]]) -> str | None:
        title = re.search("Passage: (.*)", messages[1]["content"])[1]  # type: ignore[index]
        return by_passage.get(title, "##final score: 1")

    server.say = say
    result = heed("pipelines.judge", *small)
    assert result.returncode == 0
    assert (
        "warning: gpt-tiny: 6 of 16 answers hold no grade and judge nothing, such as that for topic 1, document d7: ''"
        in (result.stderr)
    )
    qrels = read_qrels(tmp_path / "pool.gpt-tiny.original.qrels")
    assert {docid: list(qrels["1"]).count(docid) for docid in says} == {"d7": 0, "d6": 0, "d5": 0}
    note = json.loads((tmp_path / "pool.gpt-tiny.original.qrels.json").read_text())
    assert (note["counts"]["judged"], note["counts"]["refused"], note["counts"]["grades"]["0"]) == (10, 6, 0)
    assert note["refused"][1] == {"qid": "1", "docid": "d6", "answer": "I cannot judge that."}
    assert len(note["warnings"]) == 1
    server.say, calls = lambda _: "##final score: 1", server.calls
    assert "6 calls with about" in heed("pipelines.judge", *small).stderr and server.calls == calls + 6
    assert len(read_qrels(tmp_path / "pool.gpt-tiny.original.qrels")["1"]) == 8
    server.say = lambda _: "no"
    result = heed("pipelines.judge", *small, "--condition", "changed", "--quiet")
    assert result.returncode == 1 and "gpt-tiny: no answer holds a grade; try another model" in result.stderr
    assert not (tmp_path / "pool.gpt-tiny.changed.qrels").exists()


@pytest.mark.parametrize(("parallel", "number", "status"), [(1, signal.SIGKILL, -9), (4, signal.SIGTERM, 143)])
def test_a_killed_command_goes_on_and_gives_the_same_bytes(
    server: Server,
    small: list[str],
    tmp_path: Path,
    heed: Heed,
    environment: dict[str, str],
    parallel: int,
    number: int,
    status: int,
) -> None:
    heed("pipelines.judge", *small, "--indexes", "other", "--out", "other.qrels", "--quiet")
    expected = [(tmp_path / f"other.qrels{suffix}").read_bytes() for suffix in ("", ".json")]
    server.requests.clear()
    server.silent_from = 5
    command = [sys.executable, "-m", "pipelines.judge", *small, "--parallel", str(parallel), "--quiet"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until(lambda: server.calls >= 5 + parallel)
        os.kill(process.pid, number)
        assert process.wait(15) == status  # without waiting for answers
    finally:
        process.kill()
        process.communicate()
    assert server.calls == 5 + parallel and not list(tmp_path.glob("pool.gpt*"))
    server.silent_from = -1
    result = heed("pipelines.judge", *small)
    assert "11 calls with about" in result.stderr and "; 5 answers are cached" in result.stderr
    found = [(tmp_path / f"pool.gpt-tiny.original.qrels{suffix}").read_bytes() for suffix in ("", ".json")]
    assert found == expected
    assert server.calls == 5 + parallel + 11


def test_requests_are_in_flight_together_and_give_the_same_bytes(
    server: Server, small: list[str], tmp_path: Path, heed: Heed
) -> None:
    assert heed("pipelines.judge", *small, "--indexes", "one", "--out", "one.qrels", "--quiet").returncode == 0
    assert server.most_in_flight == 1
    four = threading.Barrier(4)  # the server takes 0.1 s, and answers once four requests are there: 16 in four rounds

    def together(messages: list[dict[str, str]]) -> str:
        time.sleep(0.1)
        four.wait(60)
        return by_grade(messages)

    server.say = together
    result = heed("pipelines.judge", *small, "--parallel", "4", "--indexes", "four", "--out", "four.qrels")
    assert result.returncode == 0, result.stderr
    assert (server.most_in_flight, server.calls) == (4, 32)
    for suffix in ("", ".json"):
        assert (tmp_path / f"four.qrels{suffix}").read_bytes() == (tmp_path / f"one.qrels{suffix}").read_bytes()


def test_the_price_needs_no_key(small: list[str], heed: Heed, environment: dict[str, str]) -> None:
    del environment["OPENAI_API_KEY"], environment["OPENAI_BASE_URL"]
    result = heed("pipelines.judge", *small, "--dry-run", "--quiet")
    assert (result.returncode, result.stderr) == (0, "") and ", $0.01; 0 answers are cached" in result.stdout
    result = heed("pipelines.judge", *small, "--quiet")
    assert result.returncode == 1 and "openai/gpt-tiny: OPENAI_API_KEY is not set" in result.stderr


def test_an_entry_with_a_family_alone_is_the_name_that_a_server_gives(
    server: Server, small: list[str], tmp_path: Path, heed: Heed
) -> None:
    (tmp_path / "models.json").write_text('{"my-llama": {"family": "api-chat"}, "lost": {"family": "causal"}}')
    result = heed("pipelines.judge", *small[:-1], "my-llama", "--quiet")
    assert result.returncode == 0 and server.requests[0][2]["model"] == "my-llama", result.stderr
    result = heed("pipelines.judge", *small[:-1], "lost", "--quiet")
    assert result.stderr.startswith(
        "error: lost: there is no folder lost here; correct its source: a folder, or owner/"
    )


def test_only_its_own_files_are_replaced(server: Server, small: list[str], tmp_path: Path, heed: Heed) -> None:
    people = tmp_path / "people.qrels"
    people.write_text("1 0 d1 1\n")
    result = heed("pipelines.judge", *small, "--out", "people.qrels", "--quiet")
    assert result.returncode == 1 and "people.qrels: is there already, and is not what a model judged" in result.stderr
    result = heed("pipelines.judge", *small, "--qrels", "people.qrels", "--out", "people.qrels", "--quiet")
    assert "--out: people.qrels: is given to this command, and would be overwritten" in result.stderr
    assert people.read_text() == "1 0 d1 1\n" and server.calls == 0
    for _ in range(2):  # its own is replaced
        assert heed("pipelines.judge", *small, "--quiet").returncode == 0
    own = tmp_path / "pool.gpt-tiny.original.qrels"
    own.unlink()  # as a kill between the note and the judgements leaves it
    assert heed("pipelines.judge", *small, "--quiet").returncode == 0
    own.write_text(own.read_text().replace("1 0 d7 3", "1 0 d7 0"))
    assert "or was changed since" in heed("pipelines.judge", *small, "--quiet").stderr


def test_topics_without_the_narrative_are_left_out(small: list[str], tmp_path: Path, heed: Heed) -> None:
    path = tmp_path / "t.jsonl"
    first, second = map(json.loads, path.read_text().splitlines())
    del first["instructions"]["changed"]
    write_jsonl(path, [first, second])
    result = heed("pipelines.judge", *small, "--condition", "changed", "--dry-run")
    assert result.returncode == 0, result.stderr
    assert f"1 topic is left out, without changed instruction: {first['qid']}" in result.stderr


def test_topics_that_were_withdrawn_are_left_out_with_a_line(small: list[str], tmp_path: Path, heed: Heed) -> None:
    """As in the topics of an export, which have no withdrawn ones, and beside the pool of before."""
    pool = [json.loads(line) for line in (tmp_path / "pool.jsonl").read_text().splitlines()]
    write_jsonl(tmp_path / "more.jsonl", [*pool, {"qid": "de04", "docids": ["x"]}])
    result = heed("pipelines.judge", "more.jsonl", *small[1:], "--dry-run")
    assert result.returncode == 0, result.stderr
    assert "1 topic is left out, in the pool and not among the topics: de04\n" in result.stderr


def test_a_server_s_own_name_needs_no_entry_with_its_family(small: list[str], heed: Heed) -> None:
    result = heed("pipelines.judge", *small, "--model", "my-llama", "--family", "api-chat", "--dry-run")
    assert result.returncode == 0 and result.stdout.startswith("my-llama.original: "), result.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--run", "a.run", "b.run"), "--run: .* give people's with --qrels"),
        (("--run", "a.run", "--qrels", "q"), "--run: one system has no order"),
        (("--model", "intfloat/e5-base-v2"), "of family bi-encoder, which answers no question; expected api-chat, cau"),
        (("--model", "openai/gpt-nano-typo/x"), "no system, no folder and no hub id"),
        (("--model", "openai/gpt-nano"), "openai/gpt-nano: .*; give --family api-chat for a model behind an API"),
        (("--condition", "reversed"), "topic 1: has no reversed instruction"),
    ],
)
def test_what_cannot_be_judged_is_told_before(
    server: Server, small: list[str], heed: Heed, options: tuple[str, ...], problem: str
) -> None:
    result = heed("pipelines.judge", *small, *options, "--quiet")
    assert result.returncode == 1 and re.search(problem, result.stderr)
    assert server.calls == 0


def test_a_long_document_is_cut_and_never_the_query(
    server: Server, small: list[str], tmp_path: Path, heed: Heed
) -> None:
    entry = {**MODEL["openai/gpt-tiny"], "max_length": 450}
    (tmp_path / "models.json").write_text(json.dumps({"openai/gpt-tiny": entry}))
    write_jsonl(
        tmp_path / "docs.jsonl", [{"id": f"d{at}", "title": "", "text": "grade 2 " + "w" * 4000} for at in range(8)]
    )
    result = heed("pipelines.judge", *small)
    assert result.returncode == 0, result.stderr
    assert "gpt-tiny: 16 of 16 documents were too long and cut at their end" in result.stderr
    asked = server.requests[0][2]["messages"][1]["content"]
    assert "Query: ferries only old\nPassage: grade 2 wwww" in asked and asked.endswith(
        "without providing any reasoning."
    )
    # system 28 letters, user prompt and an answer of 16: 450 tokens of 4 letters, each text rounded up
    assert 445 <= sum(-(-len(text) // 4) for text in ("You are a helpful assistant.", asked, "##final score: 0")) <= 450
    (tmp_path / "models.json").write_text(json.dumps({"openai/gpt-tiny": {**entry, "max_length": 100}}))
    assert "leave no room for document d7; set a larger max_length" in heed("pipelines.judge", *small).stderr


def test_agreement_and_the_order_of_systems(server: Server, small: list[str], tmp_path: Path, heed: Heed) -> None:
    # people: equal but for d1 (1 by the model, people 0) and d6 (2 by the model, people 0); d0 only by the model
    grades = {f"d{at}": at % 4 for at in range(1, 8)} | {"d1": 0, "d6": 0}
    lines = [f"{qid} 0 {docid} {grade}\n" for qid in ("1", "2") for docid, grade in grades.items()]
    (tmp_path / "people.qrels").write_text("".join(lines) + "1 0 d0 -1\n")
    orders = {"a": ["d7", "d3", "d2"], "b": ["d6", "d1", "d2"], "c": ["d4"]}
    for name, docids in orders.items():
        run = {qid: {docid: float(9 - at) for at, docid in enumerate(docids)} for qid in ("1", "2")}
        write_run(tmp_path / f"{name}.run", run, name)
    result = heed("pipelines.judge", *small, "--qrels", "people.qrels", "--run", "a.run", "b.run", "c.run", "--quiet")
    assert result.returncode == 0, result.stderr
    note = json.loads((tmp_path / "pool.gpt-tiny.original.qrels.json").read_text())
    agreed: dict[str, Any] = note["agreement"]
    # by topic, people's and the model's: d1 0 1, d2 2 2, d3 3 3, d4 0 0, d5 1 1, d6 0 2, d7 3 3
    assert (agreed["documents"], agreed["topics"]) == (14, 2)
    assert agreed["grades"]["matrix"] == [[2, 2, 2, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 4]]
    # observed 10/14; by chance (6*2 + 2*4 + 2*4 + 4*4)/14² = 44/196; κ = (140 - 44)/(196 - 44)
    assert agreed["grades"]["observed"] == pytest.approx(10 / 14)
    assert agreed["grades"]["kappa"] == pytest.approx(96 / 152)
    # above 0: people 8 of 14, the model 12; equal 10; by chance (8*12 + 6*2)/196 = 108/196; κ = (140 - 108)/88
    assert agreed["relevance"]["kappa"] == pytest.approx(32 / 88)
    # AP by people: a 3 of 4 relevant at ranks 1, 2, 3 = 3/4; b (1/3)/4; c 0
    # by the model, 6 are relevant: a 3/6, b 3/6, c 0
    ap = agreed["systems"]["AP"]
    assert ap["human"] == pytest.approx({"a": 3 / 4, "b": 1 / 12, "c": 0})
    assert ap["model"] == pytest.approx({"a": 1 / 2, "b": 1 / 2, "c": 0})
    assert ap["tau"] == pytest.approx(2 / 6**0.5)  # two pairs agree, one is tied by the model: 2/√(3·2)
    assert "agreement with people over 14 documents of 2 topics\ngrades: equal 0.714, κ 0.632, " in result.stdout
    assert "AP ×100 of the systems by people and by the model, Kendall's tau 0.816" in result.stdout


@pytest.mark.golden(program="umbrela 0.0.7", compared="prompts and grades", systems=())
def test_people_s_scale_is_compared_before_the_first_request(small: list[str], tmp_path: Path, heed: Heed) -> None:
    (tmp_path / "people.qrels").write_text("1 0 d1 2\n")
    said = heed("pipelines.judge", *small, "--qrels", "people.qrels", "--dry-run").stderr
    assert "people.qrels: grades up to 2, the model's go to 3; --grades names yours" in said
    assert (
        "grades up to"
        not in heed("pipelines.judge", *small, "--qrels", "people.qrels", "--grades", "0,1,2", "--dry-run").stderr
    )


def test_prompts_and_grades_are_umbrelas() -> None:
    assert conversation(GOLDEN["query"], GOLDEN["passage"])[1]["content"] == GOLDEN["prompt"]
    for answer, grade, valid in GOLDEN["answers"]:
        assert parse_grade(answer) == (grade if valid else None), answer


@pytest.mark.golden(program="umbrela 16cba3e", compared="which grade counts in an answer with several", systems=())
@pytest.mark.parametrize(("answer", "grade"), GOLDEN["several"])
def test_of_several_grades_the_last_one_counts_as_in_umbrela(answer: str, grade: int) -> None:
    """The last by the first of its patterns that is there, not the last in the answer."""
    assert parse_grade(answer) == grade


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ("##M: 3\n##T: 2\n##final score: 1", 1),
        ("**Final score (O):** 2", 2),
        ("The final score is 3.", 3),
        ("##final score: 2/3", 2),
        ("3", 3),
        ("<think>final score: 0?</think>##final score: 2", 2),
        ("##final score: 10", None),
        ("##final score: 2.5", None),
        ("##final score: 1-2", None),
        ("##final score: 0 to 3", None),
        ("##final score: 2 - the passage answers it", 2),
        ("M score: 3", None),
        ("The passage of 2 pages has 3 parts.", None),
        ("<think>##final score: 2", None),
    ],
)
def test_the_grade_of_an_answer(answer: str, grade: int | None) -> None:
    assert parse_grade(answer) == grade


def always_two(folder: Path) -> Path:
    """A real Llama that answers 2 and ends: every token leads to "2", and "2" to the end, whatever came before."""
    import torch
    from tiny_language_models import causal
    from transformers import AutoModelForCausalLM, AutoTokenizer

    causal("Llama", folder, max_position_embeddings=4096)
    network: Any = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    [two] = tokenizer.convert_tokens_to_ids(["2"])
    with torch.no_grad():
        for layer in network.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        rows, head = network.get_input_embeddings().weight.zero_(), network.lm_head.weight.zero_()
        rows[:, 0] = head[two, 0] = 1
        rows[two, 0], rows[two, 1], head[tokenizer.eos_token_id, 1] = 0, 1, 1
    network.save_pretrained(folder)
    return folder


def test_a_local_model_judges_and_its_answers_are_kept(
    small: list[str], tmp_path: Path, heed: Heed, server: Server
) -> None:
    options = [*small[:-1], str(always_two(tmp_path / "lm")), "--family", "causal", "--device", "cpu"]
    first = heed("pipelines.judge", *options)
    assert first.returncode == 0, first.stderr
    assert "lm.original: 16 calls with about" in first.stderr and "for free; 0 answers are cached" in first.stderr
    path = tmp_path / "pool.lm.original.qrels"
    assert set(read_qrels(path)["1"].values()) == {2}
    note = json.loads((tmp_path / f"{path.name}.json").read_text())
    assert (note["counts"]["grades"]["2"], note["cost"]["dollars"]) == (16, 0)
    written = path.read_bytes()
    again = heed("pipelines.judge", *options)
    assert "all 16 answers are in the cache" in again.stderr and path.read_bytes() == written
    refused = heed("pipelines.judge", *options, "--parallel", "2", "--quiet").stderr
    assert refused == "error: --parallel: found 2, expected 1; lm runs here, one document at a time\n"
    assert server.calls == 0


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_server_that_stops_answering_keeps_what_was_answered(
    server: Server, small: list[str], tmp_path: Path, heed: Heed, parallel: int
) -> None:
    server.script = [Reply(body=json.dumps({"choices": [{"message": {"content": "2"}}]}).encode())] * 3
    server.script += [Reply(401, b'{"error": {"message": "expired"}}')]
    result = heed("pipelines.judge", *small, "--parallel", parallel, "--quiet")
    assert result.returncode == 1 and "check OPENAI_API_KEY" in result.stderr
    assert not list(tmp_path.glob("*.qrels*"))
    answered = server.calls - 1  # those under way with the refused one too
    assert answered >= 3
    assert f"; {answered} answers are cached" in heed("pipelines.judge", *small, "--dry-run", "--quiet").stdout
