"""FollowTable, the embedded sample and other tables: where they are on this machine, and how each is read.

FollowTable comes in two layouts: the BEIR form, and the raw release.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from heed.data import FILES, Data
from heed.datasets import sample_root
from heed.datasets.catalogue import Named
from heed.datasets.collection import Collection, Layout, Option, given_judgements, given_topics, with_warnings
from heed.datasets.own_files import read_own
from heed.errors import DataError, UsageError, fail
from heed.files import nearest, parse_json, read_text
from heed.formats.data_set_folders import collection_name, data_set_in
from heed.formats.data_sets import Columns, HubRow, config_files, parsed, read_listed, rows, topics_of
from heed.formats.topics import read_topics, with_bases
from heed.formats.trec_files import read_qrels
from heed.languages import language
from heed.measures import JUDGED
from heed.measures.evaluate import Judging, Pair
from heed.progress import brief, log
from heed.tables.documents import Tables
from heed.tables.markup import FORMS
from heed.types import Qrels, Topic

NAME, SAMPLE = "followtable", "tables-sample"
CLONE = Path("FollowTable/data")
MEASURES = ("nDCG@10", JUDGED, "AP", "R@100", "R@1000")
PAIRS = (Pair("query", "original", ("p-MRR", "IRS", "NFR")),)
JOIN = "{instruction} [SEP] {query}"  # of the published queries.jsonl
# The release's README: content boundary and exclusion, then attributes, entities and granularity of the schema
TYPES = {"1.1": "C1", "1.2": "C2", "2.1": "S1", "2.2": "S2", "2.3": "S3"}
RAW = "query_instruction.json"
KINDS = tuple(dict.fromkeys(TYPES.values()))
Text = Annotated[str, Meta(pattern=r"\S")]
TableFile = Annotated[str, Meta(pattern=r"\A\S+\Z")]


class Published(NamedTuple):
    """A collection of tables as published: topics, qrels by condition, files of tables, trap tables by qid.

    Of FollowTable's topics ``3`` asks a query alone, ``3_0`` with an instruction.
    """

    topics: list[Topic]
    qrels: dict[str, Qrels]
    tables: list[Path]
    traps: Mapping[str, set[str]] = {}


@with_warnings
def read_tables(name: str, request: Data, folder: Path | None, form: str, traps: Path | None) -> Collection:
    """Return the tables of the user's files, of a subset's ``folder``, or of the sample.

    Topics and judgements of the files, and ``traps`` for NFR, replace the published ones.
    """
    spoken, titles = language(request.lang or "eng"), name != NAME
    if request.docs:
        data_set = data_set_in(request.docs)
        if data_set and is_followtable(data_set):
            raise UsageError(f"{data_set}: a subset of FollowTable; give it as data={data_set}")
        paths = [Path(path) for path in request.docs]
        name, part, titles = request.name or collection_name(paths[0]), spoken.code, True
        topics, qrels, _ = read_own(request, spoken.code)
        published = Published(topics, qrels, paths)
    else:
        part, published = (folder.resolve().name, read_followtable(folder)) if folder else ("eng", _sample())
        if request.topics:  # topics of the user's own replace all, judgements for query and original those of both
            published = published._replace(topics=given_topics(request, "eng"), qrels={}, traps={})
        others = {name: qrels for name, qrels in published.qrels.items() if not (request.qrels and name == "query")}
        published = published._replace(qrels={**others, **given_judgements(request, "eng")})
    return Collection(
        name=name,
        subset=part if form == "raw" else f"{part}-{form}",
        language=spoken,
        source=Tables(published.tables, form, titles=titles, encoding=request.encoding or spoken.code),
        topics=published.topics,
        judging=Judging(
            qrels=published.qrels,
            measures=MEASURES,
            pairs=PAIRS,
            traps=read_listed(traps) if traps else published.traps,
            types=KINDS,
        ),
        join=JOIN,
    )


def _read(
    members: Sequence[Named],
    request: Data,
    *,
    subset: Annotated[str, Option("subset of FollowTable fetched before")] = "",
    data: Annotated[
        Path | None, Option("folder in FollowTable's layout: its BEIR form or raw release", metavar="DIR", type=Path)
    ] = None,
    form: Annotated[
        str,
        Option("text of a table that systems read (default raw, as it came); the others have one row per line", FORMS),
    ] = "raw",
    traps: Annotated[
        Path | None, Option("traps for NFR, lines of query-id and corpus-ids", metavar="PATH", type=Path)
    ] = None,
) -> list[Collection]:
    name, source = members[0].group, [name for name, value in (("subset", subset), ("data", data)) if value]
    problems = []
    if request.docs and source:
        problems.append(f"{', '.join(source)}: not used here; docs names other tables")
    elif name == SAMPLE and source:
        problems.append(f"{', '.join(source)}: not used by {name}")
    elif name == NAME and len(source) != 1 and not request.docs:
        problems.append(f"{name}: needs either subset or data")
    if request.lang and not request.docs:
        problems.append("lang: not used here; it is the language of docs; FollowTable and the sample are English")
    if request.name and not request.docs:
        problems.append("name: not used here; it names a collection of docs")
    fail(problems, UsageError)
    folder = Path(data) if data else local_subset(subset) if subset else None
    if subset and folder is None:
        raise DataError(
            f"FollowTable {subset}: not in {CLONE / subset}; heed fetch followtable says how to get it, "
            "or give its folder as data=DIR"
        )
    return [read_tables(name, request, folder, form, Path(traps) if traps else None)]


FOLLOWTABLE = Layout(_read, (*FILES, "lang"))


def local_subset(subset: str) -> Path | None:
    """Return the folder of a subset in a clone below the working directory, None where there is none."""
    folders = (CLONE / "FollowTable" / subset, CLONE / subset)
    return next((folder for folder in folders if folder.is_dir()), None)


def _sample() -> Published:
    log.info("this is the embedded sample, invented tables for a first try")
    root = sample_root()
    topics = read_topics(root / "topics" / SAMPLE / "eng.jsonl", "eng", "title")
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{name}.qrels") for name in ("query", "original")}
    traps = read_listed(root / "qrels" / SAMPLE / "traps.jsonl")
    return Published(topics, qrels, [root / "documents" / SAMPLE], traps)


def is_followtable(folder: Path) -> bool:
    """Return whether ``folder`` holds a subset in one of the two layouts."""
    return (folder / RAW).is_file() or (folder / "only_queries.jsonl").is_file()


def read_followtable(folder: Path) -> Published:
    """Read a subset; raises :class:`DataError` naming file and line of everything missing, malformed or repeated."""
    if not is_followtable(folder):
        fail([] if folder.is_dir() else [f"{folder}: no such folder{nearest(folder, cutoff=0.6)}"])
        below = [str(each) for each in sorted(folder.iterdir()) if is_followtable(each)]
        fail([f"{folder}: no subset itself, but {brief(below)} below it; give one of them"] if below else [])
        raise DataError(
            f"{folder}: neither only_queries.jsonl nor query_instruction.json in it; expected a subset of FollowTable, "
            "or files of your own as docs=PATH, topics=PATH and qrels=PATH"
        )
    subset = _read_raw(folder) if (folder / RAW).is_file() else _read_beir(folder)
    times = Counter(topic.qid for topic in subset.topics)
    fail(f"{folder}: topic {qid} comes twice; keep one" for qid in sorted(times) if times[qid] > 1)
    alone = [topic.qid for topic in subset.topics if topic.instructions and not topic.base]
    fail(f"{folder}: topic {qid} has no query of its own, with the same text, in only_queries.jsonl" for qid in alone)
    if not any(topic.instructions for topic in subset.topics):
        raise DataError(f"{folder}: no query with an instruction in it")
    return subset


def constraint(raw: object) -> str:
    """Return the constraint C1, C2, S1, S2 or S3 of a raw type such as ``2.3.1``; empty for another."""
    return next((name for start, name in TYPES.items() if str(raw).startswith(start)), "")


def _read_beir(folder: Path) -> Published:
    corpus = config_files(folder, "corpus")
    fail([] if corpus else [f"{folder}: no corpus.jsonl or corpus.jsonl.gz beside only_queries.jsonl"])
    topics = topics_of(rows(folder, "only_queries"), "eng", Columns())
    topics += parsed(rows(folder, "queries"), _instructed)
    qrels = {"query": read_qrels(folder / "qrels" / "for_only_query_test.tsv")}
    return Published(with_bases(topics), qrels | {"original": read_qrels(folder / "qrels" / "test.tsv")}, corpus)


def _instructed(row: HubRow) -> Topic:
    metadata = row.value("metadata")
    if not isinstance(metadata, dict):
        raise row.problem(f"metadata is {repr(metadata)[:60]}, expected an object with origin_query and instruction")
    about = HubRow(row.path, row.number, metadata)
    instructions = {"original": about.text("instruction")}
    kind = constraint(metadata.get("instruction_type"))
    return Topic(row.word("_id"), "eng", about.text("origin_query"), instructions, kind)


class _Out(Struct):
    """An instruction of the raw release, and the tables that follow it."""

    instruction: Text
    instruction_positive: list[TableFile]
    instruction_type: str | float | None = None


class _Entry(Struct):
    """A query of the raw release, the tables that are relevant to it alone, and its instructions."""

    query: Text
    query_positive: list[TableFile]
    outs: list[_Out]


def _read_raw(folder: Path) -> Published:
    path = folder / RAW
    try:
        entries = msgspec.convert(parse_json(read_text(path)), list[_Entry])
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: {str(error).replace('Expected', 'expected', 1)}") from None
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}); expected a list of queries") from error
    topics: list[Topic] = []
    qrels: dict[str, Qrels] = {"query": {}, "original": {}}
    for number, entry in enumerate(entries):
        if not entry.outs:
            continue  # released without instructions: published subsets leave such queries out
        qid, query = str(number), entry.query.strip()
        topics.append(Topic(qid, "eng", query, {}))
        qrels["query"][qid] = _relevant(entry.query_positive)
        for index, out in enumerate(entry.outs):
            full_qid, instructions = f"{qid}_{index}", {"original": out.instruction.strip()}
            topics.append(Topic(full_qid, "eng", query, instructions, constraint(out.instruction_type), qid))
            qrels["original"][full_qid] = _relevant(out.instruction_positive)
    return Published(topics, qrels, [folder / "tables"])


def _relevant(tables: Sequence[str]) -> dict[str, int]:
    return {table.removesuffix(".txt"): 1 for table in tables}
