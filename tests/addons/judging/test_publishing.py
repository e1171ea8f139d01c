"""A release holds what was judged and nobody's name, and Heed, ir_datasets and MTEB read it as it was written."""

import contextlib
import gzip
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import annotation_pool
import pytest
import yaml
from annotating import Judging, annotation_files
from conftest import write_jsonl
from pool_inputs import write_lists
from release_facts import FACTS, QUESTIONS

import heed
from heed.addons.bridges.mteb import as_mteb
from heed.addons.judging.annotate.people import ASSESSOR, invite
from heed.addons.judging.annotate.store import Change, Store
from heed.addons.judging.annotate.task import ADJUDICATED, load_task
from heed.addons.judging.publishing.annotation import leaks, open_judged
from heed.addons.judging.publishing.description import SCRIPTS
from heed.addons.judging.publishing.records import Records, read_by_heed
from heed.formats.data_sets import read_parquet
from heed.formats.topics import record_of
from heed.formats.trec_files import read_qrels
from heed.languages import LANGUAGES
from heed.reuse import digests
from pipelines.annotate import main as annotate
from pipelines.annotate import open_given
from pipelines.annotate import parser as annotate_parser
from pipelines.compare import main as compare
from pipelines.publish import main

TOPICS = [
    {"qid": "1", "lang": "eng", "query": "ferry accidents", "instructions": {"original": "Any accident of a ferry."}},
    {"qid": "2", "lang": "eng", "query": "new ferries", "instructions": {"original": "A ferry that is built."}},
    {"qid": "3", "lang": "eng", "query": "old ferries", "instructions": {"original": "A ferry that is sold."}},
]
DOCUMENTS = [
    {"id": f"d{number}", "title": f"Ferry {number}", "text": f"A ferry of number {number}.{' It sank.' * number}"}
    for number in range(6)
]
# of topic 1 Zoe and Bela differ on d1, and the chair decides 2; d0 falls out by the edit, d1 stays, d5 is not relevant
GRADES = {"d0": 1, "d1": 2, "d2": 0, "d3": 0, "d4": 0, "d5": 0}
CHANGED = {**GRADES, "d0": 0}
NARRATIVE = "Any accident of a ferry, but for those without injured people."
# of "A ferry of number 1. It sank."
PASSAGE = {"part": "text", "start": 21, "end": 29, "text": "It sank."}
SECOND = {"d0": 3, "d1": 0, "d2": 0, "d3": 1, "d4": 0, "d5": 0}


class Campaign(Judging):
    """A judged database of three topics, the third of which nobody has judged."""

    def __init__(self, folder: Path) -> None:
        options = annotate_parser().parse_args(list(map(str, annotation_files(folder, TOPICS, DOCUMENTS))))
        self.task, store = open_given(options)
        super().__init__(store)
        for docid, grade in GRADES.items():
            self.grade("Zoe", "1", docid, grade)
            self.grade("Bela", "1", docid, 0 if docid == "d1" else grade)
            self.grade("Zoe", "2", docid, SECOND[docid])
        self.grade(ADJUDICATED, "1", "d1", 2)
        self.edit("Kim", "1", NARRATIVE)  # who judges nothing
        for docid in ("d0", "d1"):
            self.grade("Zoe", "1", docid, CHANGED[docid], "changed")
        self.record("Bela", Change("note", "1", "original", "d0", "dull but relevant"))
        marks = {"unsure": "true", "skipped": "true", "passage": json.dumps(PASSAGE)}
        self.record("Bela", *(Change(kind, "1", "original", "d1", value) for kind, value in marks.items()))
        store.set_property("guidelines", "Read all of it.")
        self.tokens = [store.properties()["token"], *invite(store, {"Lee": ASSESSOR}).values()]
        store.close()


class Made(NamedTuple):
    """A campaign's folder with its release, what the command said, and the secrets of the links."""

    folder: Path
    said: str
    tokens: list[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder, said = tmp_path_factory.mktemp("campaign"), io.StringIO()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as a user's
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        write_facts()
        tokens = Campaign(folder).tokens
        assert publish("pool.db") == 0
    return Made(folder, said.getvalue(), tokens)


@pytest.fixture
def release(made: Made) -> Path:
    """The release, which is only read."""
    return made.folder / "release"


@pytest.fixture
def campaign(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a copy of the folder, without its release."""
    shutil.copytree(made.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("release"))
    monkeypatch.chdir(tmp_path / "copy")


def write_facts(**more: object) -> None:
    Path("facts.yaml").write_text(yaml.safe_dump(FACTS | more), encoding="utf-8")


def publish(*arguments: object) -> int:
    return main([*map(str, arguments), "--facts", "facts.yaml", "--out", "release"])


def contents(folder: Path) -> dict[str, bytes]:
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: gzip.decompress(content) if name.endswith(".gz") else content for name, content in files.items()}


def test_a_release_is_what_was_judged_and_names_nobody(made: Made, release: Path) -> None:
    others = ", ir_datasets, MTEB (FollowIR), MTEB (mFollowIR)" if find_spec("mteb") else ""
    assert f"12 original and 6 changed judgements, 6 documents; read back by Heed, Heed (Parquet){others}" in made.said
    assert "1 topic not judged and left out: 3" in made.said
    assert "1 topic not judged under a changed narrative: 2" in made.said
    assert read_qrels(release / "original.qrels") == {"1": GRADES, "2": SECOND}
    assert read_qrels(release / "changed.qrels") == {"1": CHANGED}
    topics = [json.loads(line) for line in (release / "topics.jsonl").read_text().splitlines()]
    assert topics[0]["instructions"] == {"original": TOPICS[0]["instructions"]["original"], "changed": NARRATIVE}
    assert [topic["qid"] for topic in topics] == ["1", "2"]
    readme = (release / "README.md").read_text()
    assert "12 original judgements of 2 topics and 6 changed judgements of 1 topic (the table is with" in readme
    labels = {0: "not relevant", 1: "marginally relevant", 2: "relevant", 3: "highly relevant"}
    assert f"Grades: {', '.join(f'{grade} {label}' for grade, label in labels.items())}. The assessors' guide" in readme
    assert "Documents on which assessors differ and nobody decided are left out.\n" in readme
    assert (release / "guidelines.md").read_text() == "Read all of it."
    assert f"GRADES = { ({-1: 'not judged'} | labels)!r}" in (release / "ir_datasets_definition.py").read_text()
    assert (release / "pairs.tsv").read_text() == "1-changed\t1-og\n"
    corpus = [json.loads(line) for line in gzip.decompress((release / "corpus.jsonl.gz").read_bytes()).splitlines()]
    assert corpus == [{"_id": one["id"], "title": one["title"], "text": one["text"]} for one in DOCUMENTS]
    for name, content in contents(release).items():
        assert not re.search(rb"\b(Zoe|Bela|Kim|Lee)\b", content), name
        assert not any(token.encode() in content for token in made.tokens), name
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=release, check=True)
    listed = {line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert set(contents(release)) - listed == {"SHA256SUMS", "made.json"}


def test_assessors_are_numbered_by_how_much_they_judged_and_have_their_agreement(release: Path) -> None:
    judgements = [json.loads(line) for line in (release / "judgements.jsonl").read_text().splitlines()]
    # Zoe graded 6 + 6 + 2 times, Bela 6: Zoe is A1
    counts = {name: sum(one["assessor"] == name for one in judgements) for name in ("A1", "A2", ADJUDICATED)}
    assert counts == {"A1": 14, "A2": 6, ADJUDICATED: 1}
    assert set(judgements[0]) == {"qid", "docid", "condition", "assessor", "grade", "reworded"}
    [marked] = [one for one in judgements if set(one) > set(judgements[0])]
    assert (marked.pop("unsure"), marked.pop("passage")) == (True, PASSAGE) and set(marked) == set(judgements[0])
    assert (marked["assessor"], marked["docid"]) == ("A2", "d1")
    # rows are A1's grades 0 to 3, columns A2's: 2 and 0 on d1
    [pair] = json.loads((release / "agreement.json").read_text())["pairs"]
    assert (pair["first"], pair["second"]) == ("A1", "A2")
    assert pair["agreement"]["matrix"] == [[4, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    # equal on 5 of 6. Rows 4/6 of 0, 1/6 of 1, 1/6 of 2; columns 5/6 of 0, 1/6 of 1; expected equal (20 + 1) / 36.
    # κ = 1 − (1/6) / (15/36) = 0.6; linear: 1/6 · 2 observed, (4 · 1 + 1 · 5 + 1 · 10 + 1 · 1) / 36 expected: 1 − 12/20
    line = "- A1 and A2, original: 6 documents, equal 0.833, κ 0.600, linear κ 0.400"
    assert line in (release / "README.md").read_text(encoding="utf-8")


def test_the_readme_has_mfollowirs_second_table_and_a_head_in_yaml(release: Path) -> None:
    # topic 1 alone is judged under both: relevant d0 d1, then d1; 15, 24 and 62 characters
    assert [len(text) for text in ("ferry accidents", "Any accident of a ferry.", NARRATIVE)] == [15, 24, 62]
    readme = (release / "README.md").read_text(encoding="utf-8")
    assert "| English | 1 | 2.0 | 1.0 | 15 | 24 | 62 |" in readme
    assert yaml.safe_load(readme.split("---\n")[1])["pretty_name"] == FACTS["title"]


def test_the_folder_of_an_export_gives_the_same_bytes_and_a_changed_release_stays(
    campaign: None, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(["pool.jsonl", "--export", "judged"]) == 0
    arguments = "judged", "--docs", "docs.jsonl", "--pool", "pool.jsonl"
    assert publish(*arguments) == 0
    assert digests(Path("release")) == digests(release)
    Path("release/README.md").write_text("edited")
    assert publish(*arguments) == 1
    assert "is there already and not empty" in capsys.readouterr().err
    assert Path("release/README.md").read_text() == "edited"


def test_the_readme_names_the_rule_that_decided(campaign: None) -> None:
    with contextlib.closing(Store(Path("pool.db"))) as store:
        Judging(store).grade("Bela", "2", "d1", 2)  # Zoe: 0; a tie, for the highest
    assert annotate(["pool.jsonl", "--export", "judged", "--resolve", "majority"]) == 0
    assert publish("judged", "--docs", "docs.jsonl") == 0
    said = "Documents on which assessors differ and nobody decided have the grade by majority (1 grade).\n"
    assert said in Path("release/README.md").read_text()


def test_without_a_database_topics_and_both_qrels_are_enough(
    campaign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(["pool.jsonl", "--export", "judged"]) == 0
    files = ["--topics", "judged/topics.jsonl", "--docs", "docs.jsonl", "--qrels", "judged/original.qrels"]
    assert publish(*files) == 1
    assert "--changed-qrels: found none, and a release has judgements under both" in capsys.readouterr().err
    assert publish(*files, "--changed-qrels", "judged/changed.qrels", "--ids-only") == 0
    assert read_qrels(Path("release/changed.qrels")) == {"1": CHANGED}
    assert not Path("release/judgements.jsonl").exists()


def test_ids_alone_are_published_where_texts_may_not_be_given(
    campaign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish("pool.db", "--ids-only") == 0
    assert "read back by Heed" in capsys.readouterr().out
    assert Path("release/docids.txt").read_text().split() == [document["id"] for document in DOCUMENTS]
    assert not any(b"of number" in content or b"sank" in content for content in contents(Path("release")).values())
    assert b'"unsure"' in contents(Path("release"))["judgements.jsonl"]
    assert not Path("release/corpus").exists()
    assert "MTEB" not in Path("release/README.md").read_text(encoding="utf-8")
    assert publish("pool.db", "--ids-only", "--notes") == 1
    assert "--notes: they are of an annotation, and may quote its documents" in capsys.readouterr().err


def test_what_is_withdrawn_is_not_published(campaign: None) -> None:
    with contextlib.closing(Store(Path("pool.db"))) as store:
        store.withdraw({(topic["qid"], "d5") for topic in TOPICS})
    assert publish("pool.db", "--ids-only") == 0
    assert Path("release/docids.txt").read_text().split() == ["d0", "d1", "d2", "d3", "d4"]
    assert read_qrels(Path("release/original.qrels"))["1"].keys() == GRADES.keys() - {"d5"}


def test_a_version_is_published_once_and_what_a_kill_left_is_removed(
    campaign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".release.part").mkdir()
    Path(".release.part/topics.jsonl").write_text("half")
    write_facts(description="A draft.")
    assert publish("pool.db") == 0
    write_facts()  # other words about the same judgements
    assert publish("pool.db") == 0 and FACTS["description"] in Path("release/README.md").read_text()
    before = digests(Path("release"))
    with contextlib.closing(Store(Path("pool.db"))) as store:
        Judging(store).grade("Zoe", "2", "d3", 2)
    assert publish("pool.db") == 1
    said = f"release: version {FACTS['version']} is published there with other content of default/"
    assert said in capsys.readouterr().err and digests(Path("release")) == before
    write_facts(version="9.1")
    assert publish("pool.db") == 0 and read_qrels(Path("release/original.qrels"))["2"]["d3"] == 2
    assert not Path(".release.part").exists()


def test_the_readme_says_whether_another_system_can_be_judged(campaign: None) -> None:
    orders = {"s.original": "012", "s.changed": "120", "t.original": "021", "t.changed": "012"}
    lists = {name: {"1": [f"d{number}" for number in order]} for name, order in orders.items()}
    paths = write_lists(Path(), lists)
    Path("teams").write_text("s\tX\nt\tY\n")
    assert publish("pool.db", "--ids-only", "--teams", "teams", "--runs", *paths) == 0
    section = (
        Path("release/README.md").read_text(encoding="utf-8").partition("## Can it be used for another system?")[2]
    )
    assert all(
        text in section for text in ("each system left out", "each team left out", "p-MRR τ", "selectivity", "IRS")
    )


def test_runs_that_say_nothing_of_the_judgements_get_no_verdict_that_all_is_well(
    campaign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a judged document to lose every τ is 1 and every loss 0 %, as of judgements for any system."""
    documents = [document["id"] for document in DOCUMENTS]
    other = write_lists(Path(), {"s": {"91": documents}, "t": {"92": documents}})
    assert publish("pool.db", "--ids-only", "--runs", *other) == 1
    assert "--runs: their topics (91, 92) are none of those that are judged (1, 2)" in capsys.readouterr().err
    one = write_lists(Path(), {"s.original": {"1": documents}, "s.changed": {"1": documents}})
    assert publish("pool.db", "--ids-only", "--runs", *one) == 0
    assert "all runs are of one system, so none is left out" in capsys.readouterr().err
    assert "Can it be used" not in Path("release/README.md").read_text(encoding="utf-8")
    foreign = write_lists(Path(), {"s": {"1": ["x"]}, "t": {"1": documents, "2": documents}})
    assert publish("pool.db", "--ids-only", "--runs", *foreign) == 0
    assert "none of the 6 judged documents is in any list of the s run" in capsys.readouterr().err


def test_facts_that_only_people_know_are_asked_for_all_at_once(
    campaign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    write_facts(licence="", purpos="A misspelt one.", purpose="")
    assert publish("pool.db") == 1
    error = capsys.readouterr().err
    assert "facts.yaml: found 'purpos'" in error and "did you mean purpose?" in error
    assert "2 facts are missing that people alone know" in error
    assert f"  licence: {QUESTIONS['licence']}" in error and f"  purpose: {QUESTIONS['purpose']}" in error
    assert main(["pool.db", "--out", "release"]) == 1
    assert f"--facts: {len(QUESTIONS)} facts are missing" in capsys.readouterr().err
    assert not Path("release").exists()


def test_a_name_in_a_passage_is_the_documents_and_in_a_note_an_assessors(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "judgements.jsonl", [{"passage": {"text": "The Zoe sank."}}, {"note": "as Zoe says"}])
    [leak] = leaks(tmp_path, {"Zoe"}, (), ())
    assert leak.startswith("judgements.jsonl, line 2: holds 'Zoe'")


def test_what_documents_lack_is_no_passage_of_a_release(campaign: None) -> None:
    assert annotate(["pool.jsonl", "--export", "judged"]) == 0
    path = Path("judged/judgements.jsonl")
    others = {
        "d0": {"part": "text", "start": 0, "end": 10, "text": "Zoe was it"},
        "d2": PASSAGE | {"by": "Zoe"},
        "d3": "Zoe",
        "d4": {"part": "text", "start": -3, "end": 0, "text": "nk."},
        "d5": {"part": "title", "start": 0, "end": 7, "text": "Ferry 5"},
    }
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    write_jsonl(
        path, [line | ({"passage": others[line["docid"]]} if line["docid"] in others else {}) for line in lines]
    )
    assert publish("judged", "--docs", "docs.jsonl", "--pool", "pool.jsonl") == 0
    text = Path("release/judgements.jsonl").read_text(encoding="utf-8")
    assert "Zoe" not in text
    judgements = map(json.loads, text.splitlines())
    assert {one["docid"] for one in judgements if "passage" in one} == {"d1", "d5"}


def test_a_name_in_a_text_stops_the_release_unless_it_is_said_to_be_harmless(
    campaign: None, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    write_facts(topics="Bela and Kim wrote them, Zoeabel read them.")  # the last is nobody's name
    assert publish("pool.db") == 1
    error = capsys.readouterr().err
    assert (
        "holds 'Bela', an assessor's name" in error
        and "holds 'Kim'" in error
        and "fact 'topics': " in error
        and "'Zoe'" not in error
    )
    assert not Path("release").exists()
    for token in made.tokens:
        write_facts(topics=f"At http://localhost/?token={token}.")
        assert publish("pool.db", "--ids-only") == 1
        assert "holds the secret of a link" in capsys.readouterr().err
    write_facts(topics="Lee has a link, and judged nothing.")
    assert publish("pool.db", "--ids-only") == 1
    assert "holds 'Lee'" in capsys.readouterr().err
    write_facts(topics="Bela wrote them.", **{"not names": ["Bela"]})
    assert publish("pool.db", "--ids-only") == 0


def test_a_name_is_found_after_a_line_s_end(campaign: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(["pool.jsonl", "--export", "judged"]) == 0
    text = Path("judged/topics.jsonl").read_text()
    Path("judged/topics.jsonl").write_text(text.replace(NARRATIVE, r"Any accident.\nBela wrote it, \"Zoe\" read it."))
    assert publish("judged", "--docs", "docs.jsonl", "--ids-only") == 1
    error = capsys.readouterr().err
    for name, place in itertools.product(("Bela", "Zoe"), ("topics", r"changed\.queries")):
        assert re.search(rf"{place}\.jsonl, line 1: holds '{name}'", error)


def test_a_judgement_by_nobody_is_an_error(campaign: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(["pool.jsonl", "--export", "judged"]) == 0
    lines = Path("judged/judgements.jsonl").read_text().splitlines()
    lines[0] = lines[0].replace('"assessor"', '"by"')
    lines[1] = json.dumps(json.loads(lines[1]) | {"grade": 7})
    Path("judged/judgements.jsonl").write_text("\n".join(lines))
    assert publish("judged", "--docs", "docs.jsonl") == 1
    error = capsys.readouterr().err
    assert "judgements.jsonl, line 1: expected qid, docid, condition, assessor" in error
    assert error.endswith("the same in line 2\n")


def test_notes_are_published_only_if_asked_for(campaign: None, release: Path) -> None:
    assert not any(b"dull" in content for content in contents(release).values())
    assert publish("pool.db", "--notes") == 0
    assert b"dull but relevant" in contents(Path("release"))["judgements.jsonl"]


def test_topics_documents_and_judgements_that_do_not_belong_together_are_refused(
    campaign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(["pool.jsonl", "--export", "judged"]) == 0
    Path("original.qrels").write_text("1 0 d0 1\n9 0 d0 1\n")
    Path("changed.qrels").write_text("1 0 d0 0\n2 0 d0 0\n3 0 d0 0\n")
    files = ["--topics", "judged/topics.jsonl", "--docs", "docs.jsonl", "--qrels", "original.qrels"]
    assert publish(*files, "--changed-qrels", "changed.qrels") == 1
    error = capsys.readouterr().err
    assert "topic 9: judged under the original narrative, and not among the topics" in error
    assert "topic 2: judged under the changed narrative, and has none" in error
    Path("original.qrels").write_text("1 0 d0 1\n1 0 d9 1\n")
    Path("changed.qrels").write_text("1 0 d0 0\n1 0 d9 1\n")
    assert publish(*files, "--changed-qrels", "changed.qrels") == 1
    assert "document d9: judged or pooled, and not in the collection" in capsys.readouterr().err
    Path("changed.qrels").write_text("1 0 d0 1\n1 0 d9 1\n")
    assert publish(*files, "--changed-qrels", "changed.qrels") == 1
    assert "--changed-qrels: no document that was relevant is graded 0" in capsys.readouterr().err
    assert not Path("release").exists()


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of texts and ids that programs have trouble with; a third of the judgements is -1 at the end."""
    with contextlib.chdir(tmp_path_factory.mktemp("odd")):
        write_facts()
        blanks = {"id": "blanks", "title": " T ", "text": "  a \r\n\n x\u0085y\u2028z \ufeff "}
        write_jsonl(Path("docs.jsonl"), [*annotation_pool.DOCUMENTS, blanks])
        topics = [record_of(topic._replace(lang="eng")) for topic in annotation_pool.TOPICS.values()]
        write_jsonl(Path("topics.jsonl"), topics)
        judged = [(qid, docid) for qid, docids in annotation_pool.POOL.items() for docid in (*docids, "blanks")]
        for name, grades in (("original", (1, 2, 1)), ("changed", (0, -1, 2))):
            lines = (f"{qid} 0 {docid} {grades[place % 3]}\n" for place, (qid, docid) in enumerate(judged))
            Path(name).write_text("".join(lines))
        files = "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--qrels", "original", "--changed-qrels", "changed"
        assert publish(*files) == 0  # else a reader's records are named
        return Path("release").absolute()


def test_texts_and_ids_that_programs_have_trouble_with_are_published(odd: Path) -> None:
    listed = {
        row["query-id"]: row["corpus-ids"] for path in (odd / "qrel_diff").iterdir() for row in read_parquet(path)
    }
    assert listed == {"12": ["007", "zho-1"], "0x": ["zho-1"]}  # of grade 0, not those of -1


def test_a_folder_that_was_changed_is_read_otherwise(release: Path, tmp_path: Path) -> None:
    written = read_by_heed(release)
    copy = shutil.copytree(release, tmp_path / "copy")
    (copy / "changed.qrels").write_text((copy / "changed.qrels").read_text().replace("d1 2", "d1 1"))
    read = read_by_heed(copy)
    assert list(written["Heed"].differences(read["Heed"])) == ["qrels of 1-changed"]
    assert not list(written["Heed"].differences(read["Heed (Parquet)"]))


def test_ir_datasets_keeps_no_documents_of_an_earlier_version(
    campaign: None, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "kept"))
    documents = [{**document, "text": f"2: {document['text']}"} for document in DOCUMENTS]
    write_jsonl(Path("docs.jsonl"), documents)
    assert publish("pool.db", "--docs", "docs.jsonl") == 0
    code = "import ir_datasets_definition as d; print(d.ir_datasets.load(d.NAME).docs_store().get('d0').text)"
    command = [sys.executable, "-B", "-c", code]
    texts = [subprocess.check_output(command, cwd=folder, text=True) for folder in (release, "release")]
    assert texts == [f"{of[0]['text']}\n" for of in (DOCUMENTS, documents)]


def test_of_several_languages_one_is_published_at_a_time(campaign: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(["pool.jsonl", "--export", "judged"]) == 0
    topics = Path("judged/topics.jsonl")
    lines = [json.loads(line) for line in topics.read_text().splitlines()]
    write_jsonl(topics, [line | {"lang": "fas" if line["qid"] == "2" else "eng"} for line in lines])
    assert publish("judged", "--docs", "docs.jsonl", "--ids-only") == 1
    assert "--lang: topics are in eng, fas; publish one language at a time" in capsys.readouterr().err
    assert publish("judged", "--docs", "docs.jsonl", "--ids-only", "--lang", "en") == 0
    assert read_qrels(Path("release/original.qrels")) == {"1": GRADES}
    judgements = [json.loads(line) for line in Path("release/judgements.jsonl").read_text().splitlines()]
    assert {judgement["qid"] for judgement in judgements} == {"1"}


def test_a_database_has_the_language_of_the_documents_whatever_that_of_the_queries(
    campaign: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(Store(Path("pool.db"))) as store:
        task = load_task(store.properties())
        store.set_topics(replace(task, langs={"1": "zho", "2": "fas", "3": "fas"}))
        assert publish("pool.db", "--ids-only") == 1
        assert "--lang: topics are in zho, fas; publish one language at a time" in capsys.readouterr().err
        store.withdraw({("2", "d5"), ("3", "d5")})
        persian = open_judged(Path("pool.db"), "fas")
        assert ([topic.qid for topic in persian.topics], persian.lang) == (["2", "3"], "fas")
        assert persian.qrels["original"].keys() == {"2"} and "changed" not in persian.qrels
        assert persian.pool and persian.pool.keys() == {"2", "3"}
        assert [document.docid for document in persian.documents] == ["d0", "d1", "d2", "d3", "d4"]
        store.withdraw({("2", ""), ("3", "")})
    assert publish("pool.db") == 0
    readme = Path("release/README.md").read_text(encoding="utf-8")
    assert "language:\n- zh\n" in readme
    assert '"eval_langs": ["eng-Latn", "zho-Hans"],' in readme, "MTEB's first language is that of the queries"
    assert {language.letters for language in LANGUAGES.values()} == SCRIPTS.keys()


def test_other_records_are_named() -> None:
    written = Records({"1-og": ["q", "i"]}, {"1-og": {"a": 1}}, None, {"1": ["a"]}, "digest")
    read = Records({"1-og": ["q", "j"]}, {"1-og": {"a": 1}, "2-og": {}}, {"1-og": []}, None, "other")
    assert list(written.differences(read)) == ["queries of 1-og", "qrels of 2-og", "documents"]
    assert not list(written.differences(written))


class Length:
    """A reranker: longest texts first, last under the changed instruction; blanks and =1+1 are tied."""

    name = "length"

    def score(self, query: heed.Query, documents: Sequence[heed.Document]) -> list[float]:
        sign = -1 if query.instruction in ("Only China's.", "改过的说明") else 1
        return [float(sign * len(document.text)) for document in documents]


def mteb_scores(folder: Path) -> dict[str, Any]:
    """The scores of the task in a release's README, run as it stands there."""
    import mteb

    readme = (folder / "README.md").read_text(encoding="utf-8")
    lines = readme.partition("    import mteb\n")[2].partition("    mteb.evaluate")[0].splitlines()
    names: dict[str, Any] = {"FOLDER": str(folder.absolute())}
    exec("\n".join(line.removeprefix("    ") for line in lines), names)  # noqa: S102 (the README that we wrote)
    result = mteb.evaluate(as_mteb(Length()), names["Task"](), cache=None, show_progress_bar=False)
    [scores] = result.task_results[0].scores["test"]
    return scores


@pytest.mark.golden(program="mteb 2.26.24", compared="p-MRR and nDCG of a model on a published collection", systems=())
def test_mteb_runs_a_model_on_a_release_by_its_readme(
    odd: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("mteb")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    scores = mteb_scores(odd)
    experiment = heed.Experiment(collection_in(odd))
    runs = experiment.rerank(Length(), {qid: [*docids, "blanks"] for qid, docids in annotation_pool.POOL.items()})
    results = experiment.evaluate(runs, measures=["nDCG@5"])
    for condition, name in (("original", "og"), ("changed", "changed")):
        runs[condition].write(f"{condition}.run")
        assert scores[name]["ndcg_at_5"] == pytest.approx(results.value("length", condition, "nDCG@5"), abs=1e-4)
    # Ruled out are zho-1 (rank 2 to 4) and 007 (5 to 1) of topic 12, zho-1 (1 to 4) of 0x:
    # ((1 - 2/4 + 1/5 - 1) / 2 + 1 - 1/4) / 2 = 0.3
    assert scores["p-MRR"] == pytest.approx(0.3, abs=1e-12)
    listed = "--qrel-diff", odd / "qrel_diff"
    assert [p_mrr(odd), p_mrr(odd, *listed), p_mrr(odd, *listed, "--variant", "released")] == [scores["p-MRR"]] * 3
    # without the list fas-1 (1 to 5), blanks (3 to 2) and 2020-01-01 (3 to 2), whose grade is -1, are ruled out too:
    # ((0.5 - 0.8 + 0.8 - 1/3) / 4 + (0.75 - 1/3) / 2) / 2 = 0.125
    assert p_mrr(odd, "--variant", "released") == pytest.approx(0.125, abs=1e-12)


def p_mrr(folder: Path, *options: object) -> float:
    """What ``heed compare`` has of ``original.run`` and ``changed.run`` by the judgements of a release."""
    qrels = "--qrels", folder / "original.qrels", "--new-qrels", folder / "changed.qrels"
    arguments = ["original.run", "changed.run", *map(str, (*qrels, *options)), "--json", "compared.json"]
    assert compare(arguments) == 0
    return json.loads(Path("compared.json").read_text())["measures"]["p-MRR"]["mean"]


def collection_in(folder: Path) -> heed.Collection:
    from heed.data import Data
    from heed.datasets.own_files import own_collection

    return own_collection(Data((str(folder),), lang="eng", name="ferries"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, by which it is read
def test_croissant_is_valid_and_reads_the_queries(release: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    dataset = croissant.Dataset(jsonld=str(release / "croissant.json"))
    assert {record["queries/_id"].decode() for record in dataset.records("queries")} == {"1-og", "1-changed", "2-og"}
