"""Files that a command's options name are not overwritten where they are inputs, or something else."""

import json
import os
from pathlib import Path

import pytest
from conftest import Heed

LINE = "1 Q0 a 1 2.0 t\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """Inputs, and notes of the user's."""
    texts = {"a.run": LINE, "b.run": LINE.replace("2.0", "1.0"), "q.qrels": "1 0 a 1\n", "notes.txt": "mine\n"}
    texts["t.jsonl"] = json.dumps({"qid": "1", "lang": "eng", "query": "tea"}) + "\n"
    texts["d.jsonl"] = json.dumps({"id": "a", "text": "tea"}) + "\n"
    texts |= {"ann.csv": "qid,docid,grade\n1,a,1\n", "p.jsonl": json.dumps({"qid": "1", "docids": ["a"]}) + "\n"}
    texts |= {"original.qrels": "1 0 a 1\n", "ann.labels.json": "[]\n"}
    texts["package.json"] = json.dumps({"mine": 1}, indent=2) + "\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    os.link(tmp_path / "q.qrels", tmp_path / "link")
    return {name: (tmp_path / name).read_bytes() for name in texts}


COMPARE = ("compare", "a.run", "b.run", "--qrels", "q.qrels", "--baseline", "a.run")
TREC = ("trec", "--topics", "t.jsonl", "--docs", "d.jsonl", "--retriever", "bm25", "--reranker", "none")
EXPORT = ("pool", "a.run", "--out", "new.jsonl", "--export")
GIVEN = "is given to this command, and would be overwritten; give another: "


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("check", "--json", "a.run", "b.run"), "--json: a.run: is no JSON that Heed wrote"),
        (("check", "a.run", "--json", "a.run"), f"--json: a.run: {GIVEN}--json a-new.json"),
        ((*COMPARE, "--json", "q.qrels"), f"--json: q.qrels: {GIVEN}--json q-new.json"),
        ((*COMPARE, "--json", "link"), f"--json: link: {GIVEN}--json link-new.json"),
        ((*COMPARE, "--json", "package.json"), "--json: package.json: is no JSON that Heed wrote"),
        ((*COMPARE, "--json", "."), "--json: .: is no file"),
        ((*TREC, "--json", "t.jsonl"), f"--json: t.jsonl: {GIVEN}--json t-new.json"),
        ((*TREC, "--run", "x=a.run", "--json", "a.run"), f"--json: a.run: {GIVEN}--json a-new.json"),
        ((*TREC, "--out", "new", "--json", "new"), f"--json: new: {GIVEN}--json new-new.json"),
        (("models", "--json", "notes.txt"), "--json: notes.txt: is no JSON that Heed wrote, and would be overwritten"),
        (("pool", "a.run", "--out", "t.jsonl"), "--out: t.jsonl: is no pool, and would be overwritten"),
        (("pool", "a.run", "--out", "a.run"), f"--out: a.run: {GIVEN}--out a-new.jsonl"),
        (("pool", "a.run", "b.run", "--fused", "a.run"), f"--fused: a.run: {GIVEN}--fused a-new.run"),
        (("judgements", "ann.csv", "--out", "ann.csv"), f"--out: ann.csv: {GIVEN}--out ann-new.qrels"),
        (("judgements", "ann.csv", "--out", "t.jsonl"), "--out: t.jsonl: is no qrels file"),
        (("pool", "a.run", "b.run", "--fused", "notes.txt"), "--fused: notes.txt: is no run"),
        ((*EXPORT, "trec-pool=notes.txt"), "notes.txt: notes.txt is there already, and is no export"),
        ((*EXPORT, "qrels-template=q.qrels"), "q.qrels: q.qrels is there already, and is no export"),
        ((*EXPORT, "doccano=ann.jsonl"), "ann.jsonl: ann.labels.json is there already, and is no export"),
        ((*EXPORT, "mteb=."), "is there already and not empty"),
        (("report", "runs", "--out", "notes.txt"), "--out: notes.txt: is no table that Heed wrote"),
        (("report", "runs", "--format", "latex", "--out", "notes.txt"), "give another: --out notes-new.tex"),
        (("report", "runs", "--html", "notes.txt"), "--html: notes.txt: is no page that Heed wrote"),
        (("annotate", "p.jsonl", "--export", "csv=ann.csv"), "ann.csv: ann.csv is there already, and is no export"),
        (("annotate", "p.jsonl", "--export", "."), ".: has original.qrels, of no earlier export; name another folder"),
    ],
)
def test_what_would_be_overwritten_is_refused_before_any_work(
    files: dict[str, bytes], command: tuple[str, ...], said: str, heed: Heed, tmp_path: Path
) -> None:
    result = heed(f"pipelines.{command[0]}", *command[1:])
    assert result.returncode == 1 and said in result.stderr, result.stderr
    assert result.stdout == ""
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "link"} == files


def test_what_a_command_wrote_is_written_again(files: dict[str, bytes], heed: Heed, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(b"")
    for times in (1, 2):
        for command in (
            (*COMPARE, "--json", "c.json"),
            ("models", "BM25", "--json", "m.json"),
            ("pool", "a.run", "b.run", "--depth", str(times), "--out", "p.jsonl", "--json", "c.json"),
            ("pool", "a.run", "b.run", "--depth", str(times), "--fused", "f.run"),
            ("judgements", "ann.csv", "--out", "judged.qrels"),
            (*EXPORT, "trec-pool=pooled", "--depth", str(times)),
            (*TREC, "--qrels", "q.qrels"),
            ("report", "runs", "--out", "table.txt", "--html", "page.html"),
            ("report", "runs", "--out", "table.md", "--format", "markdown"),
            ("report", "runs", "--out", "table.tex", "--format", "latex"),
            ("report", "runs", "--out", "table.csv", "--format", "csv"),
        ):
            result = heed(f"pipelines.{command[0]}", *command[1:])
            assert result.returncode == 0, result.stderr


def test_an_export_that_was_filled_in_is_kept(files: dict[str, bytes], heed: Heed, tmp_path: Path) -> None:
    export = (*EXPORT, "csv=x.csv", "--topics", "t.jsonl", "--docs", "d.jsonl", "--export", "doccano=x.jsonl")
    result = heed("pipelines.pool", *export[1:])
    assert result.returncode == 0, result.stderr
    for name in ("x.csv", "x.labels.json"):
        written = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(written + b" ")
        refused = heed("pipelines.pool", *export[1:])
        assert refused.returncode == 1 and f"{name} is there already" in refused.stderr
        assert (tmp_path / name).read_bytes() == written + b" "
        (tmp_path / name).write_bytes(written)
    assert heed("pipelines.pool", *export[1:]).returncode == 0


def test_a_corrected_copy_overwrites_only_itself(files: dict[str, bytes], heed: Heed, tmp_path: Path) -> None:
    (tmp_path / "wrong.run").write_text(LINE.replace(" 1 ", " 7 "))
    for target in ("fixed.run", "fixed.run", "copies/"):
        result = heed("pipelines.check", "wrong.run", "--fix", target)
        assert result.returncode == 0 and (tmp_path / "fixed.run").read_text() == LINE, result.stderr
    for target in ("b.run", "notes.txt"):
        result = heed("pipelines.check", "--fix", target, "wrong.run")
        said = f"error: {target}: is there with other lines, and is not overwritten; give a new place, --fix PATH"
        assert result.returncode == 1 and said in result.stderr
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
