"""FollowIR and mFollowIR: topics with an original and a changed narrative, in all published forms.

The newer form has one query a condition (``305-og``, ``305-changed``): configs ``queries``,
``instruction`` (in MTEB's mirrors a column of ``queries``), ``default`` or ``qrels``, ``qrel_diff``
and ``top_ranked``. The older form has one query a topic, with both instructions and two shorter ones
as columns, and the configs ``qrels_og``, ``qrels_changed`` and ``top_ranked``. mFollowIR has the newer form, with
the language in the configs' names.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from heed.datasets.hub import Repository, snapshot
from heed.errors import DataError, fail
from heed.formats.configs import Columns, HubRow, judgements, parsed, read_candidates, rows, topics_of, warn_blank
from heed.formats.layouts import config_files
from heed.measures import no_longer_relevant
from heed.measures.mteb_results import TASKS
from heed.progress import brief, warn
from heed.types import Qrels, Topic

Naming = Callable[[str], str]  # a config's name in a folder: queries → queries-zho

ENDINGS = {"-og": "original", "-changed": "changed"}
QRELS = {"original": "qrels_og", "changed": "qrels_changed"}
COLUMNS = Columns(
    instructions={
        "keywords": ("keywords",),
        "short": ("short_query",),
        "original": ("instruction_og",),
        "changed": ("instruction_changed",),
    }
)


REPOSITORIES = {  # of mFollowIR, by the language of the queries
    "native": "jhu-clsp/mFollowIR-parquet-mteb",
    "eng": "jhu-clsp/mFollowIR-cross-lingual-parquet-mteb",
}
REVISIONS = {  # those that MTEB evaluates
    REPOSITORIES["native"]: TASKS["mFollowIR"].revision,
    REPOSITORIES["eng"]: TASKS["mFollowIRCrossLingual"].revision,
}


class FollowIR(NamedTuple):
    """Topics and qrels by condition; ``candidates`` are the published lists, by condition-free qid."""

    topics: list[Topic]
    qrels: dict[str, Qrels]
    candidates: dict[str, list[str]]
    corpus: list[Path]


def read_followir(folder: Path) -> FollowIR:
    """Read one of FollowIR's collections from a local copy in either form; see :func:`read_pairs`."""
    return read_pairs(folder, str, "eng")


def read_pairs(folder: Path, named: Naming, lang: str) -> FollowIR:
    """Read topics in language ``lang`` with both instructions from configs that are called as ``named`` says.

    Raises :class:`DataError` for a missing config, bad rows, a query without its instruction, or an
    id of the newer form that ends neither ``-og`` nor ``-changed``. Blank instructions, and
    differences between ``qrel_diff`` and the two qrels, are warnings. Without ``top_ranked`` there are
    no candidates.
    """
    if config_files(folder, named(QRELS["original"])):
        topics = topics_of(rows(folder, named("queries")), lang, COLUMNS)
        qrels = {condition: judgements(folder, named(config)) for condition, config in QRELS.items()}
    else:
        topics, qrels = _read_newer(folder, named, lang)
    warn_blank(folder, topics, QRELS)
    corpus = config_files(folder, named("corpus"))
    fail([] if corpus else [f"{folder}: no {named('corpus')}; expected Parquet or JSONL files of that name"])
    return FollowIR(topics, qrels, read_candidates(folder, named("top_ranked")), corpus)


def is_paired(folder: Path) -> bool:
    """Return whether the queries of ``folder`` come with an original and a changed instruction each, in either form."""
    if config_files(folder, QRELS["original"]):
        return not config_files(folder, "qrels_reversed")  # InfoSearch's
    qids = [row.word("_id", "id") for row in rows(folder, "queries")]
    return bool(qids) and all(qid.endswith(tuple(ENDINGS)) for qid in qids)


def is_mfollowir(folder: Path, lang: str) -> bool:
    """Return whether ``folder`` holds mFollowIR's configs for ``lang``."""
    return folder.is_dir() and bool(config_files(folder, _naming(folder, lang).format("queries")))


def read_mfollowir(folder: Path, lang: str, query_lang: str) -> FollowIR:
    """Read the configs of ``lang`` from a local copy; logs and raises as :func:`read_pairs` does."""
    return read_pairs(folder, _naming(folder, lang).format, query_lang)


def download(repository: str, lang: str) -> Path:
    """Return a local copy of one language of a hub data set, fetched at most once, at the revision MTEB evaluates.

    Raises :class:`DataError` that says how to go on when the hub is out of reach.
    """
    return snapshot(Repository(repository, REVISIONS.get(repository, "main"), files_of(lang)))


def files_of(lang: str) -> tuple[str, ...]:
    """Return the patterns of one language's files, in all layouts of the hub."""
    return (f"*-{lang}/*", f"*-{lang}.*", f"*{lang}-*")


def _naming(folder: Path, lang: str) -> str:
    """Return how ``folder`` names configs: ``queries-fas``, or ``fas-queries`` or ``eng-fas-queries`` (MTEB)."""
    forms = (f"{{}}-{lang}", f"{lang}-{{}}", f"eng-{lang}-{{}}")
    return next((form for form in forms if config_files(folder, form.format("queries"))), forms[0])


def docno(docid: str) -> str:
    """Return the TREC document of a FollowIR passage: ``FBIS3-40368`` for ``FBIS3-40368_3``."""
    stem, _, passage = docid.rpartition("_")
    return stem if stem and passage.isdecimal() else docid


def _read_newer(folder: Path, named: Naming, lang: str) -> tuple[list[Topic], dict[str, Qrels]]:
    topics: dict[str, Topic] = {}
    for full, query, instruction in _queries(folder, named):
        qid, condition = _split(folder, full)
        topic = topics.setdefault(qid, Topic(qid, lang, query, {}))
        if instruction:
            topic.instructions[condition] = instruction
    qrels: dict[str, Qrels] = {condition: {} for condition in QRELS}
    # data: where push_to_hub puts the config that it calls default
    for full, grades in judgements(folder, named("default"), named("qrels"), named("data")).items():
        qid, condition = _split(folder, full)
        qrels[condition][qid] = grades
    _warn_of_difference(folder, named("qrel_diff"), qrels)
    return list(topics.values()), qrels


def _queries(folder: Path, named: Naming) -> list[tuple[str, str, str]]:
    """Return the newer form's queries as ``(id, query, instruction)``."""
    config, instructions = named("instruction"), None
    if config_files(folder, config):
        instructions = dict(parsed(rows(folder, config), lambda row: (row.word("query-id"), row.string("instruction"))))
    seen: set[str] = set()

    def read(row: HubRow) -> tuple[str, str, str]:
        qid = row.word("_id", "id")
        if qid in seen:
            raise row.problem(f"query {qid} comes twice; keep one")
        seen.add(qid)
        if instructions is None:
            return qid, row.text("text"), row.string("instruction")
        if qid not in instructions:
            raise row.problem(f"query {qid} has no row in {config}")
        return qid, row.text("text"), instructions[qid]

    return parsed(rows(folder, named("queries")), read)


def _warn_of_difference(folder: Path, config: str, qrels: dict[str, Qrels]) -> None:
    """Warn of topics whose published ``qrel_diff`` is not the difference of the two qrels."""
    if not config_files(folder, config):
        return
    listed = parsed(rows(folder, config), lambda row: (row.word("query-id"), set(row.words("corpus-ids"))))
    published = {qid: docids for qid, docids in listed if docids}
    computed = no_longer_relevant(qrels["original"], qrels["changed"])
    differ = [qid for qid in sorted(published.keys() | computed.keys()) if published.get(qid) != computed.get(qid)]
    if differ:
        warn(f"{folder}: {config} and the qrels disagree on {len(differ)} topics, the qrels are used: {brief(differ)}")


def _split(folder: Path, full: str) -> tuple[str, str]:
    for ending, condition in ENDINGS.items():
        if full.endswith(ending):
            return full.removesuffix(ending), condition
    raise DataError(f"{folder}: query id {full!r} ends neither -og nor -changed")
