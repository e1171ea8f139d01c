"""``python -m pipelines.check`` as a user runs it, over planted faults and over the runs of every command."""

import gzip
import json
from pathlib import Path

import pytest
from conftest import ROOT, Heed, write_jsonl
from planted_faults import RERANKED, TAG, clean, everywhere, put, uuid

from heed.addons.submission.tracks import TRACKS
from heed.errors import did_you_mean
from pipelines.check import main


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(lines))
    return path


def test_a_clean_run_gives_0_and_says_what_was_not_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / TAG, clean())
    assert main([str(run), "--track", "neuclir-2023", "--quiet"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        f"{run}: tag {TAG}, 3 topics, 12 documents, 4 a topic: no problem",
        "not checked: topics that are missing or not the track's (--topics); membership of documents (--docs); "
        "the team's name (--team)",
        "not known, so not checked: how long a tag may be; see the track's guidelines",
    ]
    assert told.err == ""


def test_errors_give_1_and_warnings_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "a.run", put(4, 2, "q0")(clean()))
    assert main([str(run), "--track", "neuclir-2023"]) == 1
    told = capsys.readouterr()
    assert told.out.splitlines()[0].endswith("12 documents, 4 a topic: 1 error (q0); 1 warning (file-name)")
    assert told.err.splitlines() == [
        f"warning: {run}: found file name a.run, expected the tag, {TAG} or {TAG}.gz; "
        "rename the file (a corrected copy and a package have it)",
        f"error: {run}, line 4: found 'q0' in column 2, expected 'Q0'; write Q0 (fixable)",
        "error: fixable: --fix PATH writes corrected copies",
    ]
    write(run, clean())
    assert main([str(run), "--track", "neuclir-2023", "--quiet"]) == 0
    assert capsys.readouterr().err.startswith(f"warning: {run}: found file name a.run")
    assert main([str(run), "--track", "neuclir-2023", "--named-as-tag"]) == 1


def test_every_run_is_reported_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = write(tmp_path / "one", put(4, 2, "q0")(clean())), write(tmp_path / "other", clean(tag="b"))
    (tmp_path / "ids").write_text("200\n201\n202\n203\n")
    arguments = ["--topics", str(tmp_path / "ids"), "--json", str(tmp_path / "found.json")]
    assert main([str(one), str(other), *arguments]) == 1
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["track"] == "trec"
    assert [run["file"] for run in found["runs"]] == [str(one), str(other)]
    assert [run["errors"] for run in found["runs"]] == [{"missing": 1, "q0": 1}, {"missing": 1}]
    assert found["runs"][0]["problems"][1] == {
        "line": 4,
        "kind": "q0",
        "severity": "error",
        "message": "found 'q0' in column 2, expected 'Q0'; write Q0 (fixable)",
    }
    assert (found["runs"][1]["tag"], found["runs"][1]["lines"], found["runs"][1]["topics"]) == ("b", 12, 3)


def test_the_languages_of_a_multilingual_run_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag = "mlir-TEAM3-AEND_x"
    run = write(tmp_path / tag, clean(tag=tag))
    places = []
    for place, language in enumerate(("zho", "fas", "rus")):
        ids = tmp_path / f"{language}.txt"
        ids.write_text("".join(f"{uuid(99 - 10 * place - rank)}\n" for rank in range(1, 5)))
        places.append(f"{language}={ids}")
    assert main([str(run), "--track", "mlir", "--docs", *places]) == 0
    assert "12 documents, 4 a topic; documents by language: fas 4, rus 4, zho 4: no problem" in capsys.readouterr().out


def test_the_reranking_task_takes_a_run_or_a_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag = "zho-TEAM3-2A_x"
    run = write(tmp_path / tag, put(4, 3, uuid(7))(clean(tag=tag)))
    official = write(tmp_path / "official.run", clean(tag="official"))
    pool = write_jsonl(tmp_path / "pool.jsonl", [{"qid": qid, "docids": sorted(ids)} for qid, ids in RERANKED.items()])
    for listed in (official, pool):
        assert main([str(run), "--track", "neuclir-2023", "--reranking", str(listed)]) == 1
        assert f"line 4: found document {uuid(7)}, which is not among the 4" in capsys.readouterr().err


def test_fix_writes_copies_under_the_tag_and_lists_the_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "a.run.gz"
    run.write_bytes(gzip.compress("".join(everywhere(2, "0")(clean())).encode()))
    assert main([str(run), "--track", "neuclir-2023", "--fix", f"{tmp_path / 'fixed'}/"]) == 0
    assert f"{tmp_path / 'fixed' / TAG}.gz: 12 lines with Q0 in column 2" in capsys.readouterr().out
    assert gzip.decompress((tmp_path / "fixed" / f"{TAG}.gz").read_bytes()).decode() == "".join(clean())
    other = write(tmp_path / "b.run", put(3, 5, "nan")(clean(tag="b")))
    assert main([str(run), str(other), "--fix", str(tmp_path / "both")]) == 1
    assert [path.name for path in (tmp_path / "both").iterdir()] == ["a.run.gz"]
    assert f"{other}: not fixed" in capsys.readouterr().err
    assert main([str(other), "--tag", "c", "--fix", str(tmp_path / "c.run")]) == 1
    (tmp_path / "x").mkdir()
    twin = write(tmp_path / "x" / "b.run", clean())
    assert main([str(other), str(twin), "--fix", str(tmp_path / "twins")]) == 1
    assert "two runs would be written to b.run" in capsys.readouterr().err


def test_what_cannot_be_read_is_not_called_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut, ids = tmp_path / "cut.run.gz", tmp_path / "ids"
    cut.write_bytes(gzip.compress("".join(clean() * 3000).encode())[:-12])  # a block of lines comes before the cut
    ids.write_text("200\n201\n202\n")
    assert main([str(tmp_path / "absent"), str(cut), "--topics", str(ids), "--docs", str(ids)]) == 1
    told = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("not checked: "))
    absent, after = told.removeprefix("not checked: ").split("; ")
    assert absent == f"{tmp_path / 'absent'}, which cannot be read"
    assert after.startswith(f"{cut} after line ") and after.endswith(", which cannot be read")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", "b", "--tag", "t"), "--tag t with 2 runs: a tag names one run"),
        (("a", "--tag", "my tag"), "--tag 'my tag': found blanks, expected one word"),
        (
            ("a", "--docs", "chinese=there.ids"),
            "chinese=there.ids: chinese is no code of a language; did you mean zho?",
        ),
        (("a", "--condition", "query"), "--condition query without --topics"),
        (("a", "--topics-format", "tsv"), "--topics-format tsv without --topics"),
        (("a", "--metadata", "m.yml"), "--metadata belongs to --submission"),
        (("a", "--submission", "s"), "--submission for the track trec: its form is not known"),
        (("a", "--track", "mlir", "--fix", "f", "--submission", "s"), "--fix with --submission"),
        (("absent",), "absent: no such file; give the path of a run"),
        ((".",), ".: is a folder, expected a file; give the path of a run"),
        ((".", "--fix", "x"), ".: not fixed\n"),
        (("a", "--track", "neuclir-2024", "--submission", "s"), "its form is not known"),
        (("a", "--topics", "absent"), "absent: no such file"),
        (("a", "--docs", "zho=absent"), "absent: no such file"),
        (("a", "--docs", "."), ".: no .jsonl, .parquet, .json"),
        (("a", "--reranking", "absent"), "absent: no such file"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a", clean())
    write(tmp_path / "there.ids", ["a\n"])
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert said in told
    assert all(line.startswith("error: ") for line in told.splitlines())


def test_the_depths_of_topics_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "a", clean()[:-3])
    assert main([str(run), "--quiet"]) == 0
    assert f"{run}: tag {TAG}, 3 topics, 9 documents, 1 to 4 a topic: no problem\n" in capsys.readouterr().out


def test_a_folder_is_checked_under_two_tracks_by_one_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / TAG, clean())
    for track, note in {
        "neuclir-2023": "; membership of documents (--docs)\n",
        "neuclir-2024": "; --team TEAM3: no rule of neuclir-2024 asks for a team's name in a tag\n",
    }.items():
        assert main([str(run), "--team", "TEAM3", "--track", track]) == 0
        assert note in capsys.readouterr().out


TAKEN = {  # a docid of each collection, as ir_datasets and the tracks' pages show them, and one of another collection
    "robust-2004": ("FR940104-0-00001", "CR93E-1", "apl04rsTDNfw"),
    "core-2017": ("1001536", "FT911-1", "sab17coreE1"),
    "core-2018": ("9171debc316e5e2782e0d2404ca7d09d", "1001536", "anserini_bm25"),
    "dl-2019": ("D1555982", "1555982", "idst_bert_v1"),
    "dl-2019-passages": ("8841780", "D1555982", "TUA1-1"),
    "dl-2020": ("D1555982", "1555982", "fr_doc_roberta"),
    "dl-2020-passages": ("8841780", "D1555982", "rr-pass-roberta"),
    "dl-2021": ("msmarco_passage_02_179207466", "8841780", "webis-dl1"),
    "dl-2023": ("msmarco_doc_31_726131", "D1555982", "cip_run_1"),
    "rag-2024": ("msmarco_v2.1_doc_29_562342450#2_1173481706", "msmarco_doc_31_726131", "baseline_rag24"),
    "rag-2025": ("msmarco_v2.1_doc_29_562342450#2_1173481706", "msmarco_doc_31_726131", "baseline_rag25"),
}


@pytest.mark.parametrize("track", TAKEN)
def test_the_docids_of_a_track_are_known(tmp_path: Path, capsys: pytest.CaptureFixture[str], track: str) -> None:
    docid, foreign, tag = TAKEN[track]
    (tmp_path / "ids").write_text("301\n")
    run = write(tmp_path / "a", [f"301 Q0 {docid} 1 2 {tag}\n"])
    checked = [str(run), "--track", track, "--topics", str(tmp_path / "ids")]
    assert main(checked) == 0
    assert capsys.readouterr().out.startswith(f"{run}: tag {tag}, 1 topic, 1 document, 1 a topic: no problem\n")
    write(run, [f"301 Q0 {foreign} 1 2 {tag}\n"])
    assert main(checked) == 1
    assert f"found document '{foreign}', expected" in capsys.readouterr().err


def test_what_is_no_run_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "docs", ['{"id": "1", "text": "a"}\n'] * 30)
    assert main([str(path)]) == 1
    told = capsys.readouterr()
    assert told.err.count("expected 6") == 1 and "; so in 30 of 30 lines: is this a run?" in told.err
    assert f"not checked: {path}, which cannot be read" in told.out
    path = write(tmp_path / "a.run.gz", clean())
    assert main([str(path)]) == 1
    assert "; if it is plain text, rename it to a.run" in capsys.readouterr().err
    assert "did you mean neuclir-2022?" in did_you_mean("neuclir-22", list(TRACKS))
    assert did_you_mean("BM25", ["lsa", "bm25"]) == "did you mean bm25?"


def test_two_runs_of_one_tag_are_an_error_of_a_track(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(write(tmp_path / f"{name}.run", clean())) for name in "ab"]
    track, fix = ("--track", "neuclir-2023"), ("--fix", f"{tmp_path}/fixed/")
    assert main([*runs, *track]) == 1
    told = capsys.readouterr()
    assert f"{runs[0]}: found tag {TAG!r} in {runs[1]} too, expected one run by each tag" in told.err
    assert told.out.count("1 error (same-tag)") == 2
    assert main([*runs, *track, *fix]) == 1 and not (tmp_path / "fixed").exists()
    assert main(runs) == 0 and "too, expected one run by each tag" in capsys.readouterr().err


def test_ranks_that_are_the_only_order_are_not_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"1 Q0 {docid} {rank} 1.0 t\n" for rank, docid in enumerate("acb", 1)]
    assert main([str(write(tmp_path / "a.run", lines)), "--fix", f"{tmp_path}/b.run"]) == 1
    assert "a.run: not fixed; its ranks are the only order, which a copy, sorted by score" in capsys.readouterr().err
    lines = [f"1 Q0 {docid} {rank} 1.0 t\n" for rank, docid in enumerate("cba")]  # by docid: only ranks are wrong
    assert main([str(write(tmp_path / "a.run", lines)), "--fix", f"{tmp_path}/b.run"]) == 0


def test_a_tag_with_blanks_is_one_problem_and_can_be_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{qid} Q0 d{rank} {rank} {9 - rank} acme bm25 v 1\n" for qid in (1, 2) for rank in (1, 2)]
    run = str(write(tmp_path / "a.run", lines))
    assert main([run]) == 1
    told = capsys.readouterr()
    assert "1 error (name)" in told.out and "found tag 'acme bm25 v 1', expected 1 to 150 letters" in told.err
    assert main([run, "--tag", "acme", "--fix", f"{tmp_path}/b.run"]) == 0
    assert "4 lines with the tag acme" in capsys.readouterr().out
    assert (tmp_path / "b.run").read_text() == "".join(lines).replace("acme bm25 v 1", "acme")


def test_other_files_and_ids_in_other_letters_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tarfile

    run, ids = write(tmp_path / "ok.run", ["1 Q0 D1 1 2 t\n"]), write(tmp_path / "ids", ["d1\n"])
    with tarfile.open(tmp_path / "runs.tar", "w") as archive:
        archive.add(run, "ok.run")
    (tmp_path / "a.parquet").write_bytes(b"PAR1\x15\x04\n\x00\x01PAR1")
    for given, said in (
        (["runs.tar"], "runs.tar: found a tar archive; unpack it"),
        (["a.parquet"], "a.parquet: found a Parquet table, which other commands read; write it as lines of six"),
        (["ok.rnu"], "ok.rnu: no such file; give the path of a run; did you mean "),
        (["ok.run", "--docs", str(ids)], "found document D1, which is none of the collection's 1; write it as the "),
    ):
        assert main([str(tmp_path / given[0]), *given[1:]]) == 1
        told = capsys.readouterr().err
        assert said in told and told.count("error:") == 1, told


def test_a_depth_of_the_users_own_is_a_limit_also_where_the_track_cuts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "zho-TEAM3-x", clean(tag="zho-TEAM3-x"))
    assert main([str(run), "--track", "neuclir-2023", "--depth", "1"]) == 1
    assert "expected at most 1, the depth that was asked for; cut it (fixable)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("track", "depth"), [("robust-2004", 1000), ("dl-2020", 100), ("dl-2020-passages", 1000), ("rag-2024", 100)]
)
def test_a_track_says_how_many_topics_and_documents_it_expects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], track: str, depth: int
) -> None:
    docid = {"robust-2004": "FT911-{}", "dl-2020": "D{}", "dl-2020-passages": "{}"}
    form = docid.get(track, "msmarco_v2.1_doc_29_1#2_{}")
    run = write(tmp_path / "a", [f"301 Q0 {form.format(n)} {n} {-n} tag\n" for n in range(1, depth + 2)])
    assert main([str(run), "--track", track]) == 1
    told = capsys.readouterr().err
    assert f"line {depth + 1}: found {depth + 1} documents in topic 301, expected at most {depth}" in told
    assert (
        f"found 1 topics, expected {TRACKS[track].topics}; a file of topics would name those that are missing" in told
    )


COMMANDS = {
    "neuclir": ("--lang", "zho", "--collection", "sample"),
    "trec": (),
    "tables": (),
    "infosearch": ("--dimension", "length"),
}
SAMPLES = {"neuclir": "zho", "trec": "eng", "tables": "eng", "infosearch": "length"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_runs_of_every_command_pass(
    tmp_path: Path, heed: Heed, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    made = heed(
        f"pipelines.{command}", *COMMANDS[command], "--retriever", "bm25", "--reranker", "none", "--out", "runs"
    )
    assert made.returncode == 0, made.stderr
    runs = sorted((tmp_path / "runs").rglob("*.run"))
    (documents,) = (tmp_path / "indexes").rglob("documents.sqlite")
    sample = "neuclir-sample" if command == "trec" else runs[0].parts[-3]
    topics = ROOT / "topics" / sample / f"{SAMPLES[command]}.jsonl"
    for run in runs:
        condition = run.name.split(".")[1]
        against = ["--topics", str(topics), "--condition", condition, "--docs", str(documents.parent)]
        assert main([str(run), *against, "--quiet"]) == 0
        told = capsys.readouterr()
        assert "no problem\nchecked all rules of trec that are known\nnot known, so not checked: your " in told.out
        assert told.err == ""
    assert len(runs) == {"neuclir": 3, "trec": 3, "tables": 2, "infosearch": 3}[command]


def test_a_merged_run_of_three_languages_is_corrected_and_passes_the_tracks_check(tmp_path: Path, heed: Heed) -> None:
    docids = {lang: [uuid(10 * at), uuid(10 * at + 1)] for at, lang in enumerate(("zho", "fas", "rus"))}
    for lang, both in docids.items():
        write_jsonl(tmp_path / f"{lang}.jsonl", [{"id": docid, "text": "x"} for docid in both])
    merged = [docid for both in docids.values() for docid in both]
    write(tmp_path / "merged.run", [f"7 Q0 {docid} {rank} {9 - rank}.0 t\n" for rank, docid in enumerate(merged, 1)])
    documents = ("--docs", *(f"{lang}={lang}.jsonl" for lang in docids))
    tag = "mlir-TEAM3-AN_bm25"
    fixed = heed("pipelines.check", "merged.run", "--track", "mlir", "--tag", tag, "--fix", "fixed/", *documents)
    assert fixed.returncode == 0, fixed.stdout
    checked = heed("pipelines.check", f"fixed/{tag}", "--track", "mlir", *documents)
    assert "6 documents, 6 a topic; documents by language: fas 2, rus 2, zho 2: no problem" in checked.stdout
