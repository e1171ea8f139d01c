import json
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from followtable_copies import beir
from mfollowir_copy import FILES as MFOLLOWIR

from heed.addons.published.figures import Figure, read_paper, select
from heed.addons.published.reproduction import PlannedRow, Setting, cells, tasks
from heed.measures.summary import Detail
from heed.models.registry.entries import Registry
from heed.types import PAPERS
from pipelines.reproduce import arguments_of

COMMAND = "pipelines.reproduce"
FOLLOWIR = {  # the files of its layout on the hub, and mFollowIR's with the same fields
    "corpus/corpus": "corpus-zho",
    "queries/queries": "queries-zho",
    "instruction/instruction": "instruction-zho",
    "top_ranked/top_ranked": "top_ranked-zho",
    "data/default": "default-zho",
}


def task(value: float, unit: str = "x100", subsets: tuple[str, ...] = ("WTR",)) -> PlannedRow:
    figure = Figure("S", None, "s", "followtable", "WTR", "query", "nDCG@10", value, unit)  # type: ignore[arg-type]
    return PlannedRow(
        "Table 4",
        "S",
        "WTR",
        "",
        "s",
        {subset: Setting("followtable", "s", subset=subset) for subset in subsets},
        [],
        [figure],
    )


def details(*values: float, system: str = "s") -> Detail:
    per_topic = {str(number): value for number, value in enumerate(values)}
    value = sum(values) / len(values)
    row = {"system": system, "condition": "query", "measure": "nDCG@10", "value": value, "n": len(values)}
    return Detail(**row, per_topic=per_topic)  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("published", "unit", "verdict"),
    [
        (55.0, "x100", "equal"),
        (55, "x100", "equal"),
        (0.55, "1", "equal"),
        (55.04, "x100", "within"),  # two digits are printed, ours is 55.00
        (100.0, "x100", "within"),  # the topics have 0.1 and 1: all resamples of one topic are possible
        (9.0, "x100", "off"),  # below the lowest mean that resampling can give, 0.1
    ],
)
def test_a_verdict_compares_the_printed_digits_then_the_interval(published: float, unit: str, verdict: str) -> None:
    [cell] = cells(task(published, unit), {"WTR": [details(0.1, 1.0)]})
    assert cell["verdict"] == verdict and cell["ours"] == pytest.approx(55.0 if unit == "x100" else 0.55)


def test_an_average_is_that_of_the_subsets_and_its_interval_is_narrower() -> None:
    four = ("WQT", "WTR", "TArX", "IndusTR")
    values = {subset: [details(0.1, 1.0)] for subset in four}
    # each interval is [0.1, 1], 0.45 to each side; in quadrature over four: 0.45 · 2 / 4 = 0.225, so [32.5, 77.5]
    for published, verdict in ((55.0, "equal"), (33.0, "within"), (77.0, "within"), (32.0, "off"), (78.0, "off")):
        [cell] = cells(task(published, subsets=four), values)
        assert cell["verdict"] == verdict
    [cell] = cells(task(55.0, subsets=four), {subset: values[subset] for subset in four[1:]})
    assert cell["ours"] is None and cell["verdict"] == "not run"


def test_the_system_after_its_first_stage_is_the_one_compared() -> None:
    [cell] = cells(task(20.0), {"WTR": [details(0.9, system="first"), details(0.2, 0.2)]})
    assert cell["ours"] == pytest.approx(20.0)


def test_a_measure_that_the_command_does_not_give_is_said_to_be_missing() -> None:
    [cell] = cells(task(20.0), {"WTR": []})
    assert cell["missing"] == ["the command gives no nDCG@10 of query"]


@pytest.mark.parametrize("key", PAPERS)
def test_every_system_of_a_paper_has_a_task_with_a_command_or_the_reason(key: str) -> None:
    paper = read_paper(key)
    listed = tasks(paper, paper.tables, Registry(), None, 0.0)
    figures = [figure for each in listed for figure in each.figures]
    assert len(figures) == sum(bool(row.system) for table in paper.tables for row in table.rows)
    assert all(each.settings or each.missing for each in listed)


def planned(key: str, table: str, system: str, subset: str, gpu_gib: float = 0.0) -> PlannedRow:
    paper = read_paper(key)
    [chosen] = [each for each in paper.tables if each.table == table]
    return tasks(paper, select([chosen], system, subset), Registry(), None, gpu_gib)[0]


def test_commands_are_those_of_the_papers_settings() -> None:
    reranked = arguments_of(planned("followir", "Table 2", "BM25", "robust04").settings["robust04"])
    assert " ".join(reranked) == (
        "trec --dataset followir/robust04 --pool published --retriever none --reranker rank_bm25"
    )
    english = arguments_of(planned("mfollowir", "Table 3", "FollowIR-7B", "zho").settings["zho"])
    assert " ".join(english[:9]) == (
        "neuclir --lang zho --topics jhu-clsp/mFollowIR-cross-lingual-parquet-mteb --topics-format mfollowir "
        "--query-lang eng"
    )
    stage = arguments_of(planned("infosearch", "Table 15", "GPT-4o", "audience").settings["audience"])
    assert stage[3:5] == ["--retriever", "intfloat/e5-mistral-7b-instruct"] and stage[-2:] == ["--rerank-depth", "100"]


def test_a_reranker_is_asked_as_by_the_code_beside_its_figures() -> None:
    for size in ("0.6B", "4B", "8B"):
        model = planned("modern", "Evaluation", f"Qwen3-Reranker-{size}", "average").model
        assert model == f"Qwen/Qwen3-Reranker-{size}@evaluation"


def test_commands_of_mteb_name_its_measures() -> None:
    measures = "--measure nDCG@10 --measure nDCG@20 --measure R@100"
    by_id = arguments_of(planned("mteb", "Retrieval", "multilingual-e5-small", "arguana").settings["arguana"])
    assert " ".join(by_id) == (
        f"trec --dataset beir/arguana --retriever intfloat/multilingual-e5-small --reranker none {measures}"
    )


def test_mteb_s_rows_run_over_a_folder_in_beirs_layout_with_weights_of_ones_own(
    tmp_path: Path, tiny_encoder: Path, heed: Heed
) -> None:
    """Two documents, so that one of the lists' first two is the relevant one: R@100 is 1, and not MTEB's."""
    folder = tmp_path / "data" / "scifact"
    write_jsonl(folder / "corpus.jsonl", [{"_id": "a", "title": "", "text": "a b"}, {"_id": "b", "text": "c d"}])
    write_jsonl(folder / "queries.jsonl", [{"_id": "1", "text": "a b"}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    models = {"intfloat/multilingual-e5-small": {"source": str(tiny_encoder)}}
    (tmp_path / "models.json").write_text(json.dumps(models))
    arguments = ("mteb", "--system", "multilingual-e5-small", "--models", "models.json", "--data", "data")
    result = heed(COMMAND, *arguments, "--json", "cells.json")
    assert result.returncode == 0, result.stderr
    cells = {(cell["subset"], cell["measure"]): cell for cell in json.loads((tmp_path / "cells.json").read_text())}
    assert len(cells) == 9 and cells["scifact", "R@100"]["ours"] == 100.0
    assert cells["scifact", "R@100"]["published"] == 92.833 and cells["scifact", "R@100"]["verdict"] == "off"
    assert cells["scifact", "nDCG@10"]["command"].endswith("--models models.json")
    assert cells["nfcorpus", "R@100"]["missing"] == ["data: data/nfcorpus is no folder"]


def test_what_is_missing_is_named() -> None:
    missing = planned("mfollowir", "Table 4", "FollowIR-7B", "zho").missing
    assert "weights" in missing[0] and "data: heed fetch mfollowir says how to get zho" in missing
    assert "GPU of 17 GB, by the size in its name; none found" in missing  # 7 · 2 bytes · 1.2
    large = planned("mfollowir", "Table 4", "FollowIR-7B", "zho", 24.0).missing
    assert not any("GPU" in text for text in large)
    assert planned("followtable", "Table 6", "BM25", "sample").missing == [
        "the 50 pairs and their trap tables are not released"
    ]


def test_a_row_is_run_again_with_its_verdict_and_a_second_time_nothing_is_made(tmp_path: Path, heed: Heed) -> None:
    beir(tmp_path / "data" / "WTR")
    arguments = ("followtable", "--table", "4", "--system", "BM25", "--data", "data", "--json", "cells.json")
    first = heed(COMMAND, *arguments)
    assert first.returncode == 0, first.stderr
    found = json.loads((tmp_path / "cells.json").read_text())
    ran = {cell["subset"] for cell in found if cell["ours"] is not None}
    assert ran == {"WTR"} and len(found) == 5 * 4
    folder = tmp_path / "runs/reproduce/followtable"
    rows = json.loads((folder / "bm25/followtable/WTR/summary.json").read_text())["rows"]
    [ours] = [row["value"] for row in rows if (row["condition"], row["measure"]) == ("query", "nDCG@10")]
    [cell] = [cell for cell in found if (cell["subset"], cell["condition"]) == ("WTR", "query")]
    assert cell["ours"] == pytest.approx(100 * ours) and cell["published"] == 52.5 and cell["verdict"] == "off"
    assert cell["command"] == f"heed tables --data {Path('data/WTR')} --retriever bm25 --reranker none"
    [wqt] = [cell for cell in found if (cell["subset"], cell["condition"]) == ("WQT", "query")]
    assert wqt["verdict"] == "not run" and wqt["missing"] == [f"data: {Path('data/WQT')} is no folder"]
    written = (folder / "reproduced.json").read_bytes()
    again = heed(COMMAND, *arguments)
    assert (folder / "reproduced.json").read_bytes() == written
    assert "used again" in again.stderr and ": building" not in again.stderr


@pytest.mark.parametrize(("paper", "table", "subset"), [("followtable", "4", "WTR"), ("followir", "2", "robust04")])
def test_the_command_that_is_named_writes_the_files_that_were_written(
    tmp_path: Path, heed: Heed, paper: str, table: str, subset: str
) -> None:
    """Of a system that searches, and of one that reranks the published candidates."""
    beir(tmp_path / "data" / "WTR")
    for name, config in FOLLOWIR.items():
        write_jsonl(tmp_path / f"data/robust04/{name}-00000-of-00001.jsonl", MFOLLOWIR[config])
    chosen = ("--table", table, "--system", "BM25", "--subset", subset, "--data", "data", "--json", "cells.json")
    result = heed(COMMAND, paper, *chosen)
    assert result.returncode == 0, result.stderr
    [command] = {cell["command"] for cell in json.loads((tmp_path / "cells.json").read_text())}
    name, *arguments = command.removeprefix("heed ").split()
    assert heed(f"pipelines.{name}", *arguments, "--out", "again").returncode == 0
    folder = tmp_path / f"runs/reproduce/{paper}" / "bm25" / paper / subset
    [again] = (tmp_path / "again").glob("*/*/summary.json")
    written = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".run", ".json", ".jsonl")}
    assert len(written) >= 5
    for file in written.keys() - {"timings.json", "topics.json"}:
        assert written[file] == (again.parent / file).read_bytes(), file


def test_a_setting_that_fails_is_named_and_the_others_go_on(tmp_path: Path, heed: Heed) -> None:
    beir(tmp_path / "data" / "WTR")
    beir(tmp_path / "data" / "IndusTR")
    (tmp_path / "data" / "WTR" / "only_queries.jsonl").write_text("nothing\n")
    result = heed(COMMAND, "followtable", "--table", "4", "--system", "BM25", "--data", "data", "--json", "cells.json")
    assert result.returncode == 0 and "only_queries.jsonl, line 1" in result.stderr
    found = json.loads((tmp_path / "cells.json").read_text())
    assert {cell["subset"] for cell in found if cell["ours"] is not None} == {"IndusTR"}
    [cell] = [cell for cell in found if (cell["subset"], cell["condition"]) == ("WTR", "query")]
    [missing] = cell["missing"]
    assert missing.startswith("it failed: ") and "only_queries.jsonl, line 1" in missing


def test_a_dry_run_lists_rows_and_runs_nothing(tmp_path: Path, heed: Heed) -> None:
    result = heed(COMMAND, "followtable", "--table", "4", "--system", "BM25", "--dry-run")
    assert result.stdout.splitlines()[0].startswith("Table 4 BM25 WQT: heed tables --subset WQT --retriever bm25")
    assert len(result.stdout.splitlines()) == 5 and not (tmp_path / "runs").exists()
