"""``python -m pipelines.infosearch``, run as a user runs it."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import ROOT, Heed, call, stranger, write_jsonl
from hub_copies import Files, published

from heed.formats.trec_files import read_run
from pipelines.infosearch import NAMES

COMMAND = "pipelines.infosearch"
TWO = ("--dimension", "audience", "--dimension", "keyword")
CONDITIONS = ("query", "original", "reversed")
MEASURES = {condition: {"nDCG@10", "Judged@20", "Robustness@10", "mean gold rank"} for condition in CONDITIONS} | {
    "query>original": {f"{measure}{share}" for measure in ("p-MRR", "WISE", "SICR") for share in ("", " in neither")}
    | {"p-MRR in one only", "p-MRR kept", "selectivity"}
}


class Done(NamedTuple):
    """A finished command: the folder of its results, and what it printed."""

    folder: Path
    stdout: str
    stderr: str

    def rows(self, dimension: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / dimension / "summary.json").read_text())["rows"]
        return found

    def values(self, dimension: str, system: str) -> dict[tuple[str, str], float]:
        rows = [row for row in self.rows(dimension) if row["system"] == system]
        assert len(rows) == len({(row["condition"], row["measure"]) for row in rows})
        return {(row["condition"], row["measure"]): row["value"] for row in rows}


def run(cwd: Path, results: str, *options: object) -> Done:
    result = call(COMMAND, cwd, stranger(cwd / "home"), *options)
    assert result.returncode == 0, result.stderr
    return Done(cwd / "runs" / results, result.stdout, result.stderr)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The command without any option but the summary's copy, from an empty home without Java."""
    return run(tmp_path_factory.mktemp("sample"), "infosearch-sample", "--json", "s.json")


@pytest.mark.parametrize("name", NAMES)
def test_every_dimension_of_the_sample_has_all_measures_of_its_conditions(sample: Done, name: str) -> None:
    for system in ("bm25", "lsa", "polarity"):
        found: dict[str, set[str]] = {}
        for condition, measure in sample.values(name, system):
            found.setdefault(condition, set()).add(measure)
        assert found == MEASURES
    topics = [
        json.loads(line) for line in (ROOT / "topics/infosearch-sample" / f"{name}.jsonl").read_text().splitlines()
    ]
    for row in sample.rows(name):
        queries = {topic["query"] for topic in topics}
        assert row["n"] == (len(queries) if row["measure"] == "Robustness@10" else len(topics)) > 3


def test_the_average_is_the_unweighted_mean_of_the_six_dimensions(sample: Done) -> None:
    summary = json.loads((sample.folder / "average" / "summary.json").read_text())
    assert (summary["collection"], summary["subset"]) == ("infosearch-sample", "average")
    for system in ("bm25", "lsa", "polarity"):
        parts = [sample.values(name, system) for name in NAMES]
        average = sample.values("average", system)
        assert average.keys() == parts[0].keys()
        for key, value in average.items():
            assert value == pytest.approx(sum(part[key] for part in parts) / 6, abs=1e-12)
    topics = {row["n"] for row in summary["rows"] if row["measure"] == "WISE"}
    assert topics == {sum(row["n"] for name in NAMES for row in sample.rows(name) if row["measure"] == "WISE") / 3}
    assert json.loads((sample.folder.parent.parent / "s.json").read_text()) == summary
    assert f"infosearch-sample: average of {', '.join(NAMES)}, values ×100" in sample.stdout


def test_a_mean_gold_rank_is_printed_as_a_rank_and_the_others_times_100(sample: Done) -> None:
    lines = sample.stdout[sample.stdout.index("infosearch-sample keyword:") :].splitlines()
    header, first = lines[1], lines[2]
    assert header.split("  ")[0] == "system" and "mean gold rank" in header
    cells = first.split()
    assert cells[:2] == ["bm25", "query"]
    found = sample.values("keyword", "bm25")
    assert cells[2:] == [
        f"{100 * found['query', 'nDCG@10']:.1f}",
        f"{100 * found['query', 'Judged@20']:.1f}",
        "-",
        f"{found['query', 'mean gold rank']:.1f}",
        *("-",) * 2,  # two of four pairwise measures, the others come below
        "10",
    ]
    assert found["query", "mean gold rank"] > 1


# 24 documents on wool and silk, each longer than the one before: BM25 ranks d00, d01, … for either word alone
LENGTHS = {f"d{number:02}": 10 + 2 * number for number in range(24)}
# What else they say. A word of an instruction that few documents have lifts those above all others
WORDS = {
    "d02": ["alpha"],
    "d03": ["gamma", "epsilon"],
    "d04": ["gamma"],
    "d05": ["beta", "gamma", "zeta"],
    "d06": ["beta", "zeta", "iota"],
    "d07": ["theta", "zeta", "iota"],
    "d08": ["zeta"],
    "d09": ["gamma"],
    "d15": ["delta"],
    "d20": ["lambda"],
    "d21": ["mu"],
    "d22": ["mu"],
}


def document(docid: str) -> str:
    words = ["wool", "silk", *WORDS.get(docid, [])]
    return " ".join([*words, *["filler"] * (LENGTHS[docid] - len(words))])


class Asked(NamedTuple):
    """A row of queries: gold documents stay judged relevant with the instruction, the others do not."""

    query: str
    instruction: str
    reverse: str
    gold: tuple[str, ...]
    others: tuple[str, ...]
    wise: float


# WISE with o, i, r the ranks of the gold document (InfoSearch, section 2.3; K = 20, N documents judged)
ASKED = {
    # 3, 1, 5 (d05 and d06 pass it): o ≤ N = 3 and i = 1
    "1_0": Asked("wool", "say alpha", "not beta", ("d02",), ("d00", "d01"), 1.0),
    # 10, 4 (after d03, d04, d05), 11 (d15 passes it): (1 − (10 − 4) / 20) / √4
    "1_1": Asked("wool", "say gamma", "not delta", ("d09",), ("d00", "d01"), 0.35),
    # 21, 1, 23 (d21 and d22 pass it): o > K
    "2_0": Asked("silk", "say lambda", "not mu", ("d20",), ("d00", "d21"), 0.01),
    # 4, 8 (d05 to d08 pass it), 1: turned round
    "2_1": Asked("silk", "say zeta", "not epsilon", ("d03",), ("d05",), -1.0),
    # 4, 8, 6 (d05 and d06 pass it): (4 − 8) / 8
    "3_0": Asked("wool silk", "say zeta", "not beta", ("d03",), ("d00", "d10"), -0.5),
    # d07: 8, 2 (after x00), 2 (after d06): (2 − 8) / 8; x00, found with the instruction only: 25, 1, 25: (25 − 25) / 25
    "3_1": Asked("wool silk", "say theta", "not iota", ("d07", "x00"), ("d10",), -0.375),
}


def dimension(asked: dict[str, Asked]) -> Files:
    def judged(*kept: str) -> list[dict[str, Any]]:
        return [
            {"query-id": qid, "corpus-id": docid, "score": int(name in kept)}
            for qid, one in asked.items()
            for name in ("gold", "others")
            for docid in getattr(one, name)
        ]

    return {
        "corpus": [
            *({"_id": docid, "title": "", "text": document(docid)} for docid in LENGTHS),
            {"_id": "x00", "title": "Theta", "text": "cotton"},
        ],
        "queries": [
            {
                "_id": qid,
                "text": one.query,
                "instruction_og": "",
                "instruction_changed": one.instruction,
                "instruction_reversed": one.reverse,
                "keywords": "",
                "short_query": "",
            }
            for qid, one in asked.items()
        ],
        "qrels_og/test": judged("gold", "others"),
        "qrels_changed/test": judged("gold"),
        "qrels_reversed/test": judged("others"),
    }


def plain(size: int) -> Files:
    """A dimension of ``size`` documents that all have the query's word."""
    asked = {f"9_{number}": Asked("wool", "say so", "not so", ("d000",), ("d001",), 0.0) for number in range(2)}
    corpus = [{"_id": f"d{number:03}", "title": "", "text": "wool" + " filler" * number} for number in range(size)]
    return dimension(asked) | {"corpus": corpus}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A local copy with two dimensions, one in Parquet, the other in JSONL and under the hub's name."""
    folder = tmp_path_factory.mktemp("hub")
    published(folder / "audience", "parquet", dimension(ASKED))
    published(folder / "Clarity-v1", "jsonl", plain(130))
    return folder


@pytest.fixture(scope="module")
def copied(hub: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run(tmp_path_factory.mktemp("copied"), "infosearch", "--data", hub, *TWO, "--retriever", "bm25")


def test_dimensions_of_a_copy_are_run_and_averaged(copied: Done) -> None:
    assert {path.name for path in copied.folder.iterdir()} == {"audience", "keyword", "average"}
    n = {row["measure"]: row["n"] for row in copied.rows("average") if row["system"] == "bm25"}
    assert n == {measure: 4 if measure == "Robustness@10" else 8 for of in MEASURES.values() for measure in of}


def test_wise_and_its_companions_of_bm25_worked_by_hand(copied: Done) -> None:
    details = json.loads((copied.folder / "audience" / "per_topic.json").read_text())["rows"]
    found = {(row["condition"], row["measure"]): row["per_topic"] for row in details if row["system"] == "bm25"}
    assert found["query>original", "WISE"] == pytest.approx({qid: one.wise for qid, one in ASKED.items()}, abs=1e-12)
    # more words can only raise BM25: no score falls with the reversed instruction
    assert set(found["query>original", "SICR"].values()) == {0.0}
    # with the instruction gold alone counts: at ranks 1 and 4, 1 and 8, 8 and (of two) 1 and 2
    worst = {"wool": 1 / math.log2(5), "silk": 1 / math.log2(9), "wool silk": 1 / math.log2(9)}
    assert found["original", "Robustness@10"] == pytest.approx(worst, abs=1e-12)
    # reversed, the others alone count: d00 and d01 at ranks 3 and 4, behind d05 and d06
    both = (1 / math.log2(4) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert found["reversed", "nDCG@10"]["1_0"] == pytest.approx(both, abs=1e-12)
    assert found["query", "mean gold rank"] == {"1_0": 3, "1_1": 10, "2_0": 21, "2_1": 4, "3_0": 4, "3_1": (8 + 25) / 2}
    # what is no longer relevant, as in FollowIR: d05 rose from 6 to 1
    assert found["query>original", "p-MRR"]["2_1"] == pytest.approx(1 / 6 - 1, abs=1e-12)
    # d00 and d01 fell by one place: 1 − 1 / 2 and 1 − 2 / 3
    assert found["query>original", "p-MRR"]["1_0"] == pytest.approx((1 / 2 + 1 / 3) / 2, abs=1e-12)


def test_files_of_ones_own_are_measured_as_infosearch_is(copied: Done, tmp_path: Path) -> None:
    files = dimension(ASKED)
    topics = [
        {
            "qid": row["_id"],
            "query": row["text"],
            "instructions": {"original": row["instruction_changed"], "reversed": row["instruction_reversed"]},
        }
        for row in files["queries"]
    ]
    write_jsonl(tmp_path / "docs.jsonl", files["corpus"])
    write_jsonl(tmp_path / "topics.jsonl", topics)
    for condition, name in (("original", "qrels_changed/test"), ("reversed", "qrels_reversed/test")):
        lines = [f"{row['query-id']} 0 {row['corpus-id']} {row['score']}\n" for row in files[name]]
        (tmp_path / f"{condition}.qrels").write_text("".join(lines))
    judged = ("--qrels", "original.qrels", "--reversed-qrels", "reversed.qrels")
    own = run(tmp_path, "docs", "--docs", "docs.jsonl", "--topics", "topics.jsonl", *judged, "--retriever", "bm25")
    ours, theirs = own.values("eng", "bm25"), copied.values("audience", "bm25")
    of_query = {key for key in theirs if key[0] == "query" or key[1] in ("p-MRR", "WISE")}  # they need its judgements
    assert ours.keys() <= theirs.keys() and {key[0] for key in ours} == {
        "query",
        "original",
        "reversed",
        "query>original",
    }
    assert {key: ours[key] for key in ours.keys() - of_query} == {key: theirs[key] for key in ours.keys() - of_query}


def pooled(folder: Path) -> set[int]:
    lines = (folder / "keyword" / "pool.jsonl").read_text().splitlines()
    return {len(json.loads(line)["docids"]) for line in lines}


def test_rerankers_take_the_first_100_unless_told_otherwise(copied: Done, hub: Path, tmp_path: Path) -> None:
    assert pooled(copied.folder) == {100}
    assert {len(scores) for scores in read_run(copied.folder / "keyword/bm25.query.run").values()} == {130}
    assert {len(scores) for scores in read_run(copied.folder / "keyword/polarity.reversed.run").values()} == {100}
    systems = ("--retriever", "bm25", "--rerank-depth", 7)
    fewer = run(tmp_path, "infosearch", "--data", hub / "Clarity-v1", "--dimension", "keyword", *systems)
    assert pooled(fewer.folder) == {7}
    assert {len(scores) for scores in read_run(fewer.folder / "keyword/bm25.query.run").values()} == {130}
    assert not (fewer.folder / "average").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--data", "{hub}/audience"), "{hub}/audience: no folder Audience-v1/ or audience/; infosearch is several"),
        (
            ("--data", "{hub}", "--dimension", "length"),
            "{hub}: no queries; expected Parquet or JSONL files of that name, or in Length-v1/ or length/",
        ),
        (
            ("--qrels", "q", "--topics-format", "trec"),
            "--topics-format, --qrels: not used here; name documents with --docs too",
        ),
        (("--docs", "a", "--dimension", "length"), "--dimension: not used here; they choose parts of InfoSearch"),
    ],
)
def test_what_cannot_be_run_is_told(hub: Path, tmp_path: Path, heed: Heed, options: tuple[str, ...], told: str) -> None:
    result = heed(COMMAND, *(option.format(hub=hub) for option in options), "--quiet")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {told.format(hub=hub)}")
    assert not (tmp_path / "runs").exists()


def test_the_usual_depth_of_pools_is_in_the_help_and_no_option_of_the_user(heed: Heed) -> None:
    assert "documents per topic in the pool (default: 100)" in " ".join(heed(COMMAND, "--help").stdout.split())
    published_pool = heed(COMMAND, "--collection", "sample", "--dimension", "keyword", "--pool", "published", "--quiet")
    assert published_pool.returncode == 1
    assert published_pool.stderr == "error: --pool: these topics come without published candidate lists\n"
