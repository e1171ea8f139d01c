"""``check --submission``: the package, the form and its answers beside the names, the manifest."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from planted_faults import clean, put

from pipelines.check import main

ONE, OTHER = "zho-TEAM3-ACND_dense", "zho-TEAM3-2M_rerank"
ANSWERS: dict[str, Any] = {
    "task": "single-language news",
    "documents": "zho",
    "query_language": "zho",
    "topic_fields": "both",
    "retrieval": "FR",
    "method": "neural",
    "type": "automatic",
}
FORMS = [
    {"run": ONE, "priority": 2, **ANSWERS, "mean_response_seconds": 0.25, "parameters": 560_000_000},
    {"run": OTHER, "priority": 1, **ANSWERS, "retrieval": "RR", "type": "manual", "carbon_tracked": True},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs, and a form as YAML and as JSON."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.run").write_text("".join(clean(tag=ONE)))
    (tmp_path / "other.run.gz").write_bytes(gzip.compress("".join(clean(tag=OTHER)).encode()[:-1]))
    (tmp_path / "form.yml").write_text(yaml.safe_dump({"runs": FORMS}))
    (tmp_path / "form.json").write_text(json.dumps({"runs": FORMS[::-1]}))
    return tmp_path


def package(*arguments: str, runs: tuple[str, ...] = ("one.run", "other.run.gz"), out: str = "out") -> int:
    return main([*runs, "--track", "neuclir-2023", "--team", "TEAM3", "--submission", out, *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_package_holds_runs_form_and_manifest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert package("--metadata", "form.yml") == 0
    found = contents(folder / "out")
    assert [*found] == ["manifest.json", "metadata.yml", f"runs/{OTHER}.gz", f"runs/{ONE}.gz"]
    assert gzip.decompress(found[f"runs/{ONE}.gz"]).decode() == "".join(clean(tag=ONE))
    assert gzip.decompress(found[f"runs/{OTHER}.gz"]).decode() == "".join(clean(tag=OTHER))[:-1]
    assert found[f"runs/{ONE}.gz"][3:8] == bytes(5)  # no name and no time in gzip's header (RFC 1952)
    manifest = json.loads(found["manifest.json"])
    assert (manifest["track"], manifest["team"]) == ("neuclir-2023", "TEAM3")
    assert [run["run"] for run in manifest["runs"]] == [OTHER, ONE]  # in the order of the wish to be pooled
    for run in manifest["runs"]:
        packed = found[run["file"]]
        assert (run["sha256"], run["bytes"]) == (hashlib.sha256(packed).hexdigest(), len(packed))
        assert (run["lines"], run["topics"], run["documents"]) == (12, 3, 12)
    assert manifest["runs"][0]["warnings"] == {"newline": 1}
    source = hashlib.sha256((folder / "one.run").read_bytes()).hexdigest()
    assert manifest["runs"][1]["source"] == {"name": "one.run", "sha256": source}
    assert yaml.safe_load(found["metadata.yml"])["runs"] == [FORMS[1], FORMS[0]]
    assert f"out/runs/{ONE}.gz: 12 lines" in capsys.readouterr().out


def test_the_order_of_arguments_and_the_hour_change_nothing(folder: Path) -> None:
    assert package("--metadata", "form.yml") == 0
    before = contents(folder / "out")
    (folder / "one.run").touch()
    assert package("--metadata", "form.json", runs=("other.run.gz", "one.run"), out="again") == 0
    assert contents(folder / "again") == before


def test_without_a_form_a_template_is_written_and_filled_in_as_far_as_names_tell(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert package() == 1
    assert "--metadata: none given, out.metadata.yml is written for you" in capsys.readouterr().err
    assert not (folder / "out").exists()
    runs = yaml.safe_load((folder / "out.metadata.yml").read_text())["runs"]
    assert [(run["run"], run["priority"]) for run in runs] == [(ONE, 1), (OTHER, 2)]
    told = {name: runs[0][name] for name in ANSWERS}
    assert told == {**ANSWERS, "topic_fields": "?", "retrieval": "?", "method": "?"}
    assert (runs[1]["query_language"], runs[1]["retrieval"], runs[1]["type"]) == ("?", "RR", "manual")
    assert package("--metadata", "out.metadata.yml") == 1
    assert f"run {ONE}: topic_fields is '?', expected one of title, desc, both, other" in capsys.readouterr().err
    (folder / "out.metadata.yml").write_text("mine")
    assert package() == 1
    assert "out.metadata.yml is there already" in capsys.readouterr().err
    assert (folder / "out.metadata.yml").read_text() == "mine"


def test_the_form_of_2022_is_filled_in_from_the_documents_and_the_options(folder: Path) -> None:
    lines = clean(tag="TEAM3_bm25")
    (folder / "one.run").write_text("".join(lines))
    (folder / "ids").write_text("".join(f"{line.split()[2]}\n" for line in lines))
    given = ("--track", "neuclir-2022", "--team", "TEAM3", "--docs", "rus=ids", "--reranking", "one.run")
    assert main(["one.run", *given, "--submission", "out"]) == 1
    text = (folder / "out.metadata.yml").read_text()
    (run,) = yaml.safe_load(text)["runs"]
    told = {"task": "single-language news", "documents": "rus", "retrieval": "RR"}
    assert {name: run[name] for name in ANSWERS} == {**dict.fromkeys(ANSWERS, "?"), **told}


def test_a_filled_template_is_taken(folder: Path) -> None:
    assert package() == 1
    text = (folder / "out.metadata.yml").read_text()
    filled = {"topic_fields": "title", "retrieval": "FR", "method": "both", "query_language": "eng"}
    for name, answer in filled.items():
        text = text.replace(f"{name}: '?'", f"{name}: {answer}")
    (folder / "mine.yml").write_text(text)
    assert package("--metadata", "mine.yml") == 0


def test_a_run_with_an_error_refuses_the_package(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.run").write_text("".join(put(3, 5, "nan")(clean(tag=ONE))))
    assert package("--metadata", "form.yml") == 1
    told = capsys.readouterr().err
    assert "error: one.run, line 3: found score 'nan'" in told
    assert "error: out: not written; fix the runs first" in told
    assert not (folder / "out").exists()


def test_folders_that_are_there_runs_of_one_tag_and_other_teams_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "thesis").mkdir()
    for other in ("thesis", "form.yml", ".", ".."):
        before = contents(folder)
        assert package("--metadata", "form.yml", out=other) == 1
        assert f"--submission: {other} is there already; name a new folder" in capsys.readouterr().err
        assert contents(folder) == before
    (folder / "copy.run").write_text("".join(clean(tag=ONE)))
    assert package("--metadata", "form.yml", runs=("one.run", "copy.run")) == 1
    assert f"copy.run: found tag {ONE!r} in one.run too, expected one run by each tag" in capsys.readouterr().err
    (folder / "theirs.run").write_text("".join(clean(tag="zho-TEAM4-x")))
    track = ("--track", "neuclir-2023", "--submission", "new", "--metadata", "form.yml")
    assert main(["one.run", "theirs.run", *track]) == 1
    assert "found runs of the teams TEAM3, TEAM4, expected one team" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("runs: [", "neither YAML nor JSON"),
        ("runs: []", "found no runs, expected runs:"),
        ("", "found no runs, expected runs:"),
        ("!!python/object/apply:os.system [ls]", "neither YAML nor JSON"),
        (yaml.safe_dump({"runs": FORMS[:1]}), f"no answers for run {OTHER}; add them"),
        (yaml.safe_dump({"runs": [*FORMS, {**FORMS[0]}]}), f"run {ONE} comes twice"),
        (yaml.safe_dump({"runs": [*FORMS, {"run": "x"}]}), "answers for x, which is none of the runs"),
        (yaml.safe_dump({"runs": [*FORMS, {"run": 3}]}), "run is 3, expected its tag in quotes"),
        (yaml.safe_dump({"runs": [FORMS[0], {**FORMS[1], "priority": 2}]}), f"priority 2 is {OTHER}'s too"),
        (yaml.safe_dump({"runs": [FORMS[0], {**FORMS[1], "priority": True}]}), "priority is True, expected 1"),
        (
            yaml.safe_dump({"runs": [FORMS[0], FORMS[1] | {"mean_response_seconds": "0,5"}]}),
            "mean_response_seconds is '0,5', expected a number such as 0.5",
        ),
        (yaml.safe_dump({"runs": [FORMS[0], FORMS[1] | {"taks": "x"}]}), "found 'taks', expected task"),
        (yaml.safe_dump({"runs": [FORMS[0], FORMS[1] | {"task": "news"}]}), "task is 'news', expected one of single-"),
        (yaml.safe_dump({"runs": [FORMS[0], FORMS[1] | {"documents": None}]}), "documents is None, expected one of z"),
        (
            yaml.safe_dump({"runs": [FORMS[0], FORMS[1] | {"documents": "fas"}]}),
            "documents is fas, expected zho by the",
        ),
        (yaml.safe_dump({"runs": [FORMS[0] | {"query_language": "eng"}, FORMS[1]]}), "query_language is eng, expected"),
    ],
)
def test_forms_that_do_not_fit_are_told(folder: Path, capsys: pytest.CaptureFixture[str], form: str, said: str) -> None:
    (folder / "form.yml").write_text(form)
    assert package("--metadata", "form.yml") == 1
    assert said in capsys.readouterr().err
    assert not (folder / "out").exists()
