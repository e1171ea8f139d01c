"""Mistakes that people make: each message names what was found, what was expected and what to type, in a few lines."""

import json
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl

import heed
from heed.errors import DataError, HeedError, fail

TOPIC = {"qid": "1", "query": "ferry", "instructions": {"original": "At sea.", "changed": "In a harbour."}}
SEARCH = ("--docs", "docs.jsonl", "--topics", "topics.jsonl", "--retriever", "bm25", "--reranker", "none")
SCORES = "class Nan:\n    name = 'n'\n    def score(self, query, documents): return [float('nan') for _ in documents]\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of small files, and a summary of what is in it: documents, topics, judgements, a run, other things."""
    write_jsonl(tmp_path / "docs.jsonl", [{"id": f"d{number}", "text": f"ferry {number}"} for number in range(5)])
    write_jsonl(tmp_path / "topics.jsonl", [TOPIC])
    write_jsonl(tmp_path / "german.jsonl", [{**TOPIC, "lang": "deu"}])
    write_jsonl(tmp_path / "pool.jsonl", [{"qid": "1", "docids": ["d1", "gone"]}])
    write_jsonl(tmp_path / "keys.jsonl", [{"topic": "1", "docs": ["d1"]}])
    (tmp_path / "q").write_text("1 0 d1 1\n")
    (tmp_path / "a.run").write_text("".join(f"1 Q0 d{number} 1 {9 - number} t\n" for number in range(5)))
    (tmp_path / "three.q").write_text("1 0 d1\n1 0 d2\n1 0 d3\n1 0 d4\n1 0 d5\n1 0 d6\n")
    (tmp_path / "words.json").write_text(json.dumps({"1": {"d1": "high"}}))
    (tmp_path / "manifest.yml").write_text("schema: 1\n  actor: x\n    team: y\n")
    (tmp_path / "topics.docx").write_bytes(b"PK\x03\x04\0\0")
    (tmp_path / "docs.pdf").write_bytes(b"%PDF-1.7\n\xff")
    (tmp_path / "own.py").write_text(SCORES)
    write_jsonl(tmp_path / "title.jsonl", [{"qid": "1", "title": "ferry"}])
    for name in ("model", "folder/eng"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def trec(*changes: str) -> tuple[str, ...]:
    return ("trec", *SEARCH, *changes)


RUN = ("--topics", "topics.jsonl", "--docs", "docs.jsonl", "--reranker", "polarity", "--out", "o.run")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (trec("--topics", "german.jsonl"), 'give --lang deu if the documents are in German too, else take "lang" out'),
        (trec("--topics", "topics.docx"), "topics.docx: cannot be read (a ZIP archive, as .docx and .xlsx are: unpack"),
        (trec("--docs", "docs.pdf"), "docs.pdf: cannot be read (a PDF: save its text)"),
        (trec("--docs", "manifest.yml"), "manifest.yml, line 1: not JSON (Expecting value, column 1); expected one"),
        (trec("--qrels", "three.q"), "expected 4 (topic 0 docid grade); the same in line 2, line 3, line 4 and 2 more"),
        (trec("--retriever", "./model"), "./model: no config.json in this folder; expected one as save_pretrained"),
        (trec("--retriever", "polarity"), "polarity: a reranker, no retriever; give --reranker polarity"),
        (trec("--reranker", "own:Nan"), "score nan, expected a finite number; the same in document d1, document d2, "),
        (trec("--rerank-depth", "10"), "--rerank-depth: not used here; --reranker none rescores nothing"),
        (trec("--reranker", "own:Nan(0.5)"), "for other arguments make the object in own, and name it: own:NAME"),
        (trec("--run", "t=a.{conditon}.run"), "--run: t=a.{conditon}.run: found {conditon}, expected {condition}"),
        (trec("--run", "t.orignal=a.run"), "which condition is it a run of? did you mean original?"),
        (
            trec("--topics", "title.jsonl"),
            "title.jsonl, line 1: key 'title' of the topic is not known; did you mean query",
        ),
        (trec("--k1", "-1"), "--k1: found -1.0, expected a number from 0 to 1000"),
        (trec("--encoding", "utf9"), "--encoding: found 'utf9', expected one such as gb18030 or cp1251"),
        (trec("--out", "q"), "q: is a file, expected a folder; choose another folder"),
        (trec("--indexes", "q/indexes"), "q: is a file, expected a folder; choose another folder"),
        (("report", "a.run"), "a.run: is a file; give a results folder, such as runs/neuclir-sample/zho, or a tree"),
        (("report", "folder"), "folder: no summary.json in it or below it; give a folder that a collection command"),
        (("report", "folder", "--plot-format", "png"), "--plot-format: not used here; it is that of --plots"),
        (("compare", "floder/eng"), "floder/eng: no such file or folder; did you mean folder/eng?"),
        (("annotate", "a.run"), "a.run: a run, expected a pool; make one: python -m pipelines.pool a.run --depth 100"),
        (("annotate", "keys.jsonl"), 'keys.jsonl: found topic, docs, expected a pool: {"qid": …, "docids": […]}'),
        (("annotate", "pool.jsonl", *RUN[:4]), "not in docs.jsonl: gone; give --docs PATH, the documents that were"),
        (("compare", "words.json", "--qrels", "q"), 'words.json: no run in it; expected {"qid": {"docid": score}}'),
        (("compare", "q", "--qrels", "q"), "q, line 1: 4 columns, as judgements have, expected 6 (topic Q0 docid rank"),
        (("rerank", "a.run", *RUN, "--condition", "reversed"), "--condition: found reversed, but none of the 1 topics"),
        (("rerank", "a.run", *RUN, "--docs", "keys.jsonl"), "keys.jsonl, line 1: found topic, docs, expected an id"),
        (("publish", "folder", "--facts", "facts", "--out", "o"), "folder: no judgements.jsonl; expected a database"),
    ],
)
def test_a_mistake_is_answered_with_what_to_type(files: Path, heed: Heed, line: tuple[str, ...], said: str) -> None:
    names = ("title", "licence of texts", "description", "purpose", "documents", "topics", "assessors", "people")
    facts = dict.fromkeys((*names, "uses", "maintenance"), "text") | {"name": "mine", "version": "1.0"}
    facts |= {"date": "2027-03-01", "creators": "A B", "licence": "CC-BY-4.0"}
    (files / "facts").write_text(json.dumps(facts))
    result = heed(f"pipelines.{line[0]}", *line[1:], "--quiet")
    assert result.returncode == 1 and said in result.stderr, result.stderr
    assert 1 <= len(result.stderr.splitlines()) <= 3
    assert "own:Nan" in line or not [*files.glob("runs/docs/eng/*.run")]


def test_a_home_folder_behind_an_equals_sign_is_the_home_folder(files: Path, heed: Heed) -> None:
    (files / "home").mkdir()
    line = ["--docs=~/docs.jsonl", "--topics", "~/topics.jsonl", "--run", "mine.original=~/a.run", "--out=~/runs"]
    for name in ("docs.jsonl", "topics.jsonl", "a.run"):
        (files / name).rename(files / "home" / name)
    given = heed("pipelines.trec", *line, "--retriever", "none", HOME=str(files / "home"))
    assert given.returncode == 0, given.stderr
    assert [path.name for path in (files / "home/runs/docs/eng").glob("*.run")] == ["mine.original.run"]
    assert not (files / "~").exists()


def test_the_same_problem_of_many_lines_is_told_once_with_their_places() -> None:
    problems = [f"a, line {number}: no tab, column {number}" for number in range(1, 8)]
    others = ["a, line 3: no id", "b, line 1: no tab", "c: absent", "c: absent"]
    with pytest.raises(DataError) as raised:
        fail([*problems, *others])
    assert str(raised.value).splitlines() == [
        "a, line 1: no tab, column 1; the same in line 2, line 3, line 4 and 3 more",
        "a, line 3: no id",
        "b, line 1: no tab",
        "c: absent",
    ]


def test_wrong_values_in_python_are_named_by_their_arguments() -> None:
    with pytest.raises(HeedError, match="lang: found '', expected zho, fas or rus"):
        heed.load("neuclir-sample")
    with pytest.raises(HeedError, match="depth: found '10', expected a whole number from 1"):
        heed.Experiment(heed.load("neuclir-sample", lang="zho"), depth="10")  # type: ignore[arg-type]
    with pytest.raises(HeedError, match=r"k: found 'At sea\.', expected a whole number from 1; is it the instruction"):
        heed.Experiment(heed.load("neuclir-sample", lang="zho")).search("ferry", "At sea.")  # type: ignore[arg-type]
    with pytest.raises(HeedError, match=r"found dict, expected heed\.Document\(docid, title, text\)"):
        heed.Documents([{"id": "1", "text": "x"}])  # type: ignore[list-item]


def test_values_of_a_repeated_option_are_asked_for_only_where_it_is_typed(heed: Heed) -> None:
    line = heed("pipelines.fetch", "followir", "infosearch").stderr
    assert line.startswith("error: unrecognized arguments: infosearch; python -m pipelines.fetch --help")
