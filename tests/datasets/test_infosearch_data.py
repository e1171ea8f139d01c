"""InfoSearch in the layout of jianqunZ's repositories, rows by hand."""

from pathlib import Path
from typing import Any

import pytest
from hub_copies import Files, published

from heed.datasets.catalogue import Catalogue
from heed.datasets.loading import load
from heed.errors import HeedError
from heed.formats.documents import Files as DocumentFiles
from heed.types import Topic

ROW: dict[str, Any] = {
    "text": "What is inertia?",
    "instruction_og": "",
    "instruction_changed": "For laymen.",
    "instruction_reversed": "Not for laymen.",
    "keywords": "",
    "short_query": "",
}


def judged(*grades: int) -> list[dict[str, Any]]:
    return [{"query-id": "q1", "corpus-id": f"d{at}", "score": float(grade)} for at, grade in enumerate(grades)]


FILES: Files = {
    "corpus": [{"_id": f"d{at}", "title": "", "text": "t"} for at in range(2)],
    "queries": [{"_id": "q1", **ROW}, {"_id": "q2", **ROW, "instruction_changed": "For experts."}],
    "qrels_og/test": [*judged(1, 1), {"query-id": "q2", "corpus-id": "d0", "score": 1.0}],
    "qrels_changed/test": judged(1, 0),
    "qrels_reversed/test": judged(0, 1),
}


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_the_hub_layout_is_read_from_a_local_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    read = load("infosearch", dimension="audience", data=published(tmp_path, form, FILES))
    assert read.topics == [
        Topic("q1", "eng", "What is inertia?", {"original": "For laymen.", "reversed": "Not for laymen."}),
        Topic("q2", "eng", "What is inertia?", {"original": "For experts.", "reversed": "Not for laymen."}),
    ]
    assert read.judging.qrels == {
        "query": {"q1": {"d0": 1, "d1": 1}, "q2": {"d0": 1}},
        "original": {"q1": {"d0": 1, "d1": 0}},
        "reversed": {"q1": {"d0": 0, "d1": 1}},
    }
    assert isinstance(read.source, DocumentFiles) and read.source.paths == [tmp_path / f"corpus.{form}"]
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["keyword", "Keyword", "Clarity-v1"])
def test_a_dimension_is_found_in_its_parent(tmp_path: Path, name: str) -> None:
    published(tmp_path / name, "jsonl", FILES)
    assert len(load("infosearch", dimension="keyword", data=tmp_path).topics) == 2
    with pytest.raises(HeedError, match=r"no queries; expected .* of that name, or in Length-v1/ or length/"):
        load("infosearch", dimension="length", data=tmp_path)


def test_instructions_of_the_query_and_blank_ones_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = [
        {"_id": "q1", **ROW, "instruction_og": "Find it."},
        {"_id": "q2", **ROW, "instruction_reversed": None},
    ]
    topics = load(
        "infosearch", dimension="source", data=published(tmp_path, "jsonl", FILES | {"queries": queries})
    ).topics
    assert [topic.under("query").text for topic in topics] == ["What is inertia?"] * 2
    assert capsys.readouterr().err.splitlines() == [
        "infosearch/source: the rows' instruction_og, which the released evaluation adds, is left out: "
        "the paper's query is put alone",
        f"warning: {tmp_path}/queries.jsonl: 1 of 2 topics have no reversed instruction: q2",
    ]


@pytest.mark.parametrize("config", ["qrels_reversed/test", "corpus"])
def test_missing_configs_are_errors(tmp_path: Path, config: str) -> None:
    published(tmp_path, "jsonl", {name: kept for name, kept in FILES.items() if name != config})
    with pytest.raises(HeedError, match=f"no {config.partition('/')[0]}; expected Parquet or JSONL files"):
        load("infosearch", dimension="audience", data=tmp_path)


def test_no_two_dimensions_share_a_revision() -> None:
    # the released code gives Length the revision of Language
    pinned = {one.subset: one.entry.revision for one in Catalogue().find("infosearch")}
    revisions = [revision for revision in pinned.values() if revision != "main"]
    assert len(set(revisions)) == len(revisions) == 5 and {len(one) for one in revisions} == {40}
    assert pinned["length"] == "main"
