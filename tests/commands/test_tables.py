"""``python -m pipelines.tables``, run as a user runs it."""

import gzip
import itertools
import json
import math
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from anserini import anserini_hits
from conftest import ROOT, SHARED, Heed, call, stranger, write_jsonl
from followtable_copies import beir, raw

import heed as library
from heed.experiment.experiment import Experiment
from heed.formats.data_sets import read_listed
from heed.formats.topics import read_topics
from heed.formats.trec_files import read_run
from heed.retrieval.lucene import jvm

COMMAND = "pipelines.tables"
QRELS = ROOT / "qrels" / "tables-sample"
TOPICS = ROOT / "topics" / "tables-sample" / "eng.jsonl"
DOCUMENTS = ROOT / "documents" / "tables-sample" / "tables.jsonl"
SYSTEMS = ("bm25", "lsa", "polarity")
STANDARD = {"nDCG@10", "Judged@20", "AP", "R@100", "R@1000"}


class Done(NamedTuple):
    """A finished command: its working folder, the folder of its results, and what it printed."""

    cwd: Path
    folder: Path
    stdout: str
    stderr: str

    def values(self, measure: str) -> dict[tuple[str, str], float]:
        rows = json.loads((self.folder / "summary.json").read_text())["rows"]
        return {(row["system"], row["condition"]): row["value"] for row in rows if row["measure"] == measure}


def run(cwd: Path, results: str, *options: object) -> Done:
    result = call(COMMAND, cwd, stranger(cwd / "home"), *options)
    assert result.returncode == 0, result.stderr
    return Done(cwd, cwd / "runs" / results, result.stdout, result.stderr)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The command without any option, from an empty home without Java."""
    return run(tmp_path_factory.mktemp("sample"), "tables-sample/eng")


def test_the_sample_has_rows_for_conditions_their_pair_and_kinds_of_instruction(sample: Done) -> None:
    summary = json.loads((sample.folder / "summary.json").read_text())
    assert (summary["collection"], summary["subset"]) == ("tables-sample", "eng")
    kinds = Counter(json.loads(line).get("type") for line in TOPICS.read_text().splitlines())
    trapped = Counter(topic.type for topic in read_topics(TOPICS, "eng", "title", "heed") if topic.qid in traps())
    expected = {("query", measure): 8 for measure in STANDARD} | {("original", measure): 24 for measure in STANDARD}
    of_p_mrr = ("p-MRR", "p-MRR in neither", "p-MRR in one only", "p-MRR kept", "selectivity")
    shared = (*of_p_mrr, "IRS", "IRS in neither")
    expected |= {("query>original", measure): 24 for measure in shared} | {("query>original", "NFR"): 22}
    for kind in ("C1", "C2", "S1", "S2", "S3"):
        expected |= {(kind, measure): kinds[kind] for measure in (*STANDARD, *shared)}
        expected |= {(kind, "NFR"): trapped[kind]}
    for system in SYSTEMS:
        rows = [row for row in summary["rows"] if row["system"] == system]
        assert {(row["condition"], row["measure"]): row["n"] for row in rows} == expected
        assert len(rows) == len(expected)
    assert sum(kinds[kind] for kind in ("C1", "C2", "S1", "S2", "S3")) == 24


def traps() -> dict[str, set[str]]:
    return read_listed(QRELS / "traps.jsonl")


def test_the_table_is_printed_with_every_condition_and_the_sample_is_told(sample: Done) -> None:
    title, header, *lines = sample.stdout.splitlines()
    assert title == "tables-sample eng: 32 topics, values ×100"
    standard = ["nDCG@10", "Judged@20", "AP", "R@100"]  # of 91 tables
    pairwise = ["p-MRR", "selectivity", "IRS", "NFR"]
    assert re.split("  +", header) == ["system", "condition", *standard, *pairwise, "n"]
    printed = [line.split() for line in lines if not line.startswith(" ")]
    labels = [(system, condition) for system, condition, *_ in printed]
    assert len(labels) == len({*labels}), "NFR, of other topics than IRS, has a line without labels below"
    assert [line.split()[-1] for line in lines if line.startswith(" ")] == 3 * ["22", "3"]
    assert {(system, condition) for system, condition, *_ in printed} == set(sample.values("nDCG@10")) | set(
        sample.values("p-MRR")
    )
    [query] = [cells for cells in printed if cells[:2] == ["bm25", "query"]]
    assert query[2] == f"{100 * sample.values('nDCG@10')['bm25', 'query']:.1f}" and query[-1] == "8"
    assert sample.stderr.splitlines()[0] == "this is the embedded sample, invented tables for a first try"


def test_a_second_run_prints_the_same_and_makes_nothing(sample: Done) -> None:
    again = run(sample.cwd, "tables-sample/eng")
    assert again.stderr.count(".run: used again") == 6
    assert again.stdout == sample.stdout


@pytest.mark.parametrize("system", ["bm25", "lsa"])
def test_compare_finds_the_same_on_the_written_runs(sample: Done, heed: Heed, tmp_path: Path, system: str) -> None:
    runs = [sample.folder / f"{system}.{condition}.run" for condition in ("query", "original")]
    judged = ("--qrels", QRELS / "query.qrels", "--new-qrels", QRELS / "original.qrels")
    size = len(DOCUMENTS.read_text().splitlines())
    more = ("--corpus-size", size, "--traps", QRELS / "traps.jsonl", "--json", "c.json")
    result = heed("pipelines.compare", *runs, *judged, *more)
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "c.json").read_text())["measures"]
    for measure, n in (("IRS", 24), ("p-MRR", 24), ("NFR", 22)):
        assert (found[measure]["mean"], found[measure]["n"]) == (sample.values(measure)[system, "query>original"], n)


def ranks(folder: Path, system: str, condition: str) -> dict[str, dict[str, int]]:
    """The fourth column of a written run."""
    found: dict[str, dict[str, int]] = {}
    for line in (folder / f"{system}.{condition}.run").read_text().splitlines():
        qid, _, docid, rank, _, _ = line.split()
        found.setdefault(qid, {})[docid] = int(rank)
    return found


def test_a_reranker_orders_the_same_tables_with_every_instruction_of_a_query(tmp_path: Path) -> None:
    found = run(tmp_path, "tables-sample/eng", "--retriever", "bm25", "--rerank-depth", 10)
    query, original = (read_run(found.folder / f"polarity.{name}.run") for name in ("query", "original"))
    assert (len(query), len(original)) == (8, 24)
    for qid, scores in original.items():
        assert scores.keys() == query[qid.rpartition("_")[0]].keys() and len(scores) == 10
    lines = (found.folder / "pool.jsonl").read_text().splitlines()
    pooled = {one["qid"]: set(one["docids"]) for one in map(json.loads, lines)}
    assert pooled == {qid: set(scores) for qid, scores in (query | original).items()}
    # what only an instruction brought to the top is in it too
    bare = ranks(found.folder, "bm25", "query")
    assert any(bare["1"].get(docid, 11) > 10 for docid in pooled["1"])


def test_a_command_and_the_same_calls_from_python_make_the_same_index_and_runs(tmp_path: Path) -> None:
    by_command = run(tmp_path, "tables-sample/eng", "--retriever", "bm25", "--reranker", "none")
    with Experiment(
        library.load("tables-sample"), indexes=tmp_path / "own/indexes", out=tmp_path / "own/runs"
    ) as experiment:
        experiment.evaluate(experiment.retrieve("bm25"))
        results = experiment.folder
    assert postings(tmp_path / "own/indexes") == postings(tmp_path / "indexes")
    assert {name.partition(".")[0] for name in postings(tmp_path / "indexes")} > {"caption", "contents", "header"}
    assert files_in(results, "*.run") == files_in(by_command.folder, "*.run") != {}


def files_in(folder: Path, pattern: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob(pattern)}


def postings(indexes: Path) -> dict[str, bytes]:
    """Return the files of BM25's postings, the note of how they were made among them."""
    return files_in(indexes / "tables-sample/eng/bm25-postings", "*")


def test_one_condition_alone_has_no_pair_and_a_form_its_own_folder(tmp_path: Path) -> None:
    options = ("--condition", "query", "--serialise", "header", "--retriever", "bm25", "--reranker", "none")
    found = run(tmp_path, "tables-sample/eng-header", *options)
    assert set(found.values("nDCG@10")) == {("bm25", "query")} and not found.values("IRS")


FIRST_STAGE = ("--retriever", "bm25", "--reranker", "none")


def test_tables_topics_judgements_and_traps_of_ones_own(tmp_path: Path) -> None:
    # query: near (rank 1), far (2); "cold": far carries the word, near does not
    (tmp_path / "my").mkdir()
    (tmp_path / "my/near.csv").write_text("River\nriver\n")
    (tmp_path / "my/far.html").write_text(
        "<table><caption>River</caption><tr><td>cold water of a river</td></tr></table>"
    )
    (tmp_path / "my/none.txt").write_text("# Hills\n\n| Name |\n| --- |\n| Ben |\n")
    topics = [
        {"qid": "1", "query": "river"},
        {"qid": "1_0", "query": "river", "instructions": {"original": "cold"}, "type": "S2"},
    ]
    write_jsonl(tmp_path / "t.jsonl", topics)
    (tmp_path / "q").write_text("1 0 near 1\n1 0 far 1\n1_0 0 far 1\n")
    write_jsonl(tmp_path / "traps", [{"query-id": "1_0", "corpus-ids": ["far", "near"]}])
    judged = ("--topics", "t.jsonl", "--qrels", "q", "--traps", "traps")
    found = run(tmp_path, "my/eng", "--docs", "my", *judged, *FIRST_STAGE)
    assert {qid: list(docs) for qid, docs in read_run(found.folder / "bm25.query.run").items()} == {
        "1": ["near", "far"]
    }
    assert list(read_run(found.folder / "bm25.original.run")["1_0"]) == ["far", "near"]
    pair = ("bm25", "query>original")
    # near fell from 1 to 2: 1 − 1/2; far rose to 1 of near and far
    assert found.values("p-MRR") == {pair: 0.5, ("bm25", "S2"): 0.5}
    assert found.values("NFR")[pair] == 0.5
    # T+ far, T− near, 3 tables, w = 1, .6309, .5: gain (1 − .6309) − (.6309 − 1), ideal (1 − .5) − (.6309 − 1)
    w2 = 1 / math.log2(3)
    assert found.values("IRS")[pair] == pytest.approx((2 - 2 * w2) / (1.5 - w2), abs=1e-12)


def test_own_judgements_replace_those_of_the_bare_query_too(tmp_path: Path) -> None:
    topics = read_topics(ROOT / "topics/tables-sample/eng.jsonl", "eng", "title")
    bare = next(topic for topic in topics if not topic.instructions)
    nowhere = "".join(f"{topic.qid} 0 nowhere 1\n" for topic in topics)
    (tmp_path / "q").write_text(f"{nowhere}{bare.qid} 0 t001 0\n")
    found = run(tmp_path, "tables-sample/eng", "--qrels", "q", *FIRST_STAGE)
    assert {value for (_, condition), value in found.values("nDCG@10").items() if condition == "query"} == {0.0}
    own = [{"qid": bare.qid, "query": bare.query}]
    write_jsonl(tmp_path / "t.jsonl", own)
    told = run(tmp_path, "tables-sample/eng", "--topics", "t.jsonl", *FIRST_STAGE)
    assert told.values("nDCG@10") == {}  # nobody judged these


def test_a_subset_is_found_in_the_clone_and_both_layouts_give_the_same_runs(tmp_path: Path) -> None:
    found = []
    for layout, place in ((beir, "FollowTable/data/FollowTable/WTR"), (raw, "FollowTable/data/WTR")):
        cwd = tmp_path / layout.__name__
        (cwd / place).mkdir(parents=True)
        layout(cwd / place)
        found.append(run(cwd, "followtable/WTR", "--subset", "WTR", *FIRST_STAGE))
        assert f"followtable, WTR: 5 topics; documents {place}/" in found[-1].stderr
    for done in found:
        rows = json.loads((done.folder / "summary.json").read_text())["rows"]
        counted = {(row["condition"], row["n"]) for row in rows if row["measure"] == "nDCG@10"}
        assert counted == {("query", 2), ("original", 3), ("C2", 1), ("S1", 1), ("S3", 1)}
        assert "\nbeside FollowTable's Table 4, WTR; in the paper: " in done.stdout
        # the published text joins instruction and query by [SEP], which is a word of table 9111
        bare, instructed = (ranks(done.folder, "bm25", condition) for condition in ("query", "original"))
        assert "9111" not in bare["2"] and "9111" in instructed["2_0"]
    for name in ("bm25.query.run", "bm25.original.run", "summary.json"):
        assert (found[0].folder / name).read_bytes() == (found[1].folder / name).read_bytes()


def test_beside_the_paper_it_is_said_what_ran_here(tmp_path: Path) -> None:
    beir(tmp_path / "WTR")
    done = run(tmp_path, "followtable/WTR", "--data", "WTR", "--qrels", "WTR/qrels/test.tsv", *FIRST_STAGE)
    here = next(line for line in done.stdout.splitlines() if line.startswith("here: "))
    own = "judgements of your own, so the figures are not comparable"
    assert here == f"here: retrievers search all documents to depth 1000; {own}"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--subset", "WTR"),
            "FollowTable WTR: not in FollowTable/data/WTR; python -m pipelines.fetch followtable says how to get it, "
            "or give its folder as --data DIR",
        ),
        (
            ("--data", "strange"),
            "strange: neither only_queries.jsonl nor query_instruction.json in it; expected a subset of FollowTable, "
            "or files of your own as --docs PATH, --topics PATH and --qrels PATH",
        ),
        (("--data", "."), ".: no subset itself, but WTR below it; give one of them"),
        (("--data", "WRT"), "WRT: no such folder; did you mean WTR?"),
        (("--traps", "strange/t.jsonl"), "strange/t.jsonl, line 1: no field query-id (found id, text)"),
    ],
)
def test_what_cannot_be_run_is_told(tmp_path: Path, heed: Heed, options: tuple[object, ...], told: str) -> None:
    write_jsonl(tmp_path / "strange" / "t.jsonl", [{"id": "a", "text": "b"}])
    write_jsonl(tmp_path / "WTR" / "only_queries.jsonl", [])
    result = heed(COMMAND, *options, "--quiet")
    assert (result.returncode, result.stdout) == (1, "")
    assert told in result.stderr and result.stderr.startswith("error: ")
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def wtr(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("wtr")
    return run(folder, "followtable/WTR", "--data", SHARED / "followtable" / "WTR", *FIRST_STAGE)


def test_the_figures_of_wtr_are_those_of_anserini_called_directly(shared: Path, wtr: Done) -> None:
    # Anserini on the texts, k1 0.9, b 0.4, depth 1000, "{instruction} [SEP] {query}"; computed without this repository
    keys = [("nDCG@10", "query"), ("nDCG@10", "original"), ("IRS", "query>original"), ("p-MRR", "query>original")]
    figures = [100 * wtr.values(measure)["bm25", condition] for measure, condition in keys]
    assert figures == pytest.approx([53.5, 16.4, 3.2, 30.4], abs=0.3)
    for (measure, condition), figure in zip(keys, figures, strict=True):
        [line] = [line for line in wtr.stdout.splitlines() if line.split()[:3] == ["bm25", condition, measure]]
        assert line.split()[3] == f"{figure:.1f}"
    assert "none of these lowers WTR's original to 12.2" in wtr.stdout.splitlines()[-1]


def test_runs_over_real_tables_are_anserinis_line_by_line(shared: Path, tmp_path: Path) -> None:
    real, part = shared / "followtable" / "WTR", tmp_path / "part"
    shutil.copytree(real, part, ignore=shutil.ignore_patterns("corpus*"))
    with gzip.open(real / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in itertools.islice(lines, 2_000)]
    # some have an empty heading, and the row of their header as title
    assert any(record["text"].startswith("# \n") for record in records)
    write_jsonl(part / "corpus.jsonl", records)
    asked = [json.loads(line) for line in (real / "queries.jsonl").read_text(encoding="utf-8").splitlines()[::30]]
    write_jsonl(part / "queries.jsonl", asked)
    asked += [json.loads(line) for line in (real / "only_queries.jsonl").read_text(encoding="utf-8").splitlines()]
    found = run(tmp_path, "followtable/part", "--data", "part", *FIRST_STAGE)
    written = lines_of(found.folder / "bm25.query.run") | lines_of(found.folder / "bm25.original.run")
    assert written.keys() == {one["_id"] for one in asked} and len(asked) == 69

    index = ["-input", "", "-collection", "JsonCollection", "-index", str(tmp_path / "lucene"), "-threads", "2"]
    indexer = jvm.java("io.anserini.index.SimpleIndexer")(index)
    texts = [json.dumps({"id": record["_id"], "contents": record["text"]}) for record in records]
    assert indexer.addRawDocuments(texts) == len(texts) > 1_900
    indexer.close()
    for one in asked:
        theirs = anserini_hits(tmp_path / "lucene", "en", one["text"], 1000)
        assert len(theirs) > 5
        # where single precision has no room for the 1e-6 by which Anserini parts ties: trec_eval's order
        in_order = sorted(theirs.items(), key=lambda hit: (hit[1], hit[0]), reverse=True)
        assert written[one["_id"]] == list(enumerate(in_order, 1))


def lines_of(path: Path) -> dict[str, list[tuple[int, tuple[str, float]]]]:
    """Rank, docid and score of each line of a run, by qid."""
    found: dict[str, list[tuple[int, tuple[str, float]]]] = {}
    for line in path.read_text().splitlines():
        qid, _, docid, rank, score, _ = line.split()
        found.setdefault(qid, []).append((int(rank), (docid, float(score))))
    return found


def test_a_judged_table_that_is_not_there_ranks_below_all_others(tmp_path: Path, heed: Heed) -> None:
    lines = (ROOT / "documents/tables-sample/tables.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    judged = {line.split()[2] for line in (ROOT / "qrels/tables-sample/original.qrels").read_text().splitlines()}
    lost = next(docid for docid in sorted(judged))
    (tmp_path / "less.jsonl").write_text("".join(line for line in lines if f'"{lost}"' not in line), encoding="utf-8")
    own = ("--docs", "less.jsonl", "--topics", ROOT / "topics/tables-sample/eng.jsonl")
    folder = ROOT / "qrels/tables-sample"
    (tmp_path / "q").write_text("".join((folder / f"{name}.qrels").read_text() for name in ("query", "original")))
    result = heed("pipelines.tables", *own, "--qrels", "q", "--retriever", "lsa", "--reranker", "none")
    assert result.returncode == 0, result.stderr
    assert "query>original" in result.stdout
    assert "judged documents are not in the collection" in result.stderr


@pytest.mark.parametrize("options", [("--lang", "zho"), ("--docs", "t", "--topics", "t", "--subset", "WTR")])
def test_options_that_do_not_go_together_are_refused(heed: Heed, options: tuple[str, ...]) -> None:
    result = heed("pipelines.tables", *options, "--quiet")
    assert (result.returncode, result.stdout) == (1, "") and "not used here" in result.stderr
