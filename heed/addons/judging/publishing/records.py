"""The records of a published collection, as they are written and as Heed, ir_datasets and MTEB read them back.

``python -m heed.addons.judging.publishing.records FOLDER LANG READER`` prints those of one of the other programs, which
would keep what they read in their own registries and caches.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from heed.addons.judging.annotate.task import CONDITIONS
from heed.errors import DataError
from heed.formats.data_sets import read_listed, read_pairs
from heed.formats.documents import Files
from heed.formats.judgements import read_judgements
from heed.formats.topic_ids import ENDINGS
from heed.formats.topics import read_topics
from heed.formats.trec_files import Pool
from heed.measures.per_topic import no_longer_relevant
from heed.ranking import in_order
from heed.types import Qrels, Topic

TOPICS, CORPUS, DEFINITION = "topics.jsonl", "corpus.jsonl.gz", "ir_datasets_definition.py"
Text = tuple[str, str, str]  # docid, title, text


class Records(NamedTuple):
    """Queries (query, instruction), judgements and candidates by FollowIR's ids, such as ``12-og`` and ``12-changed``.

    ``ruled_out`` are the documents by qid that are no longer relevant, ``documents`` is a digest of the texts. A form
    that lacks one of these has None.
    """

    queries: dict[str, list[str]]
    qrels: Qrels
    candidates: dict[str, list[str]] | None = None
    ruled_out: dict[str, list[str]] | None = None
    documents: str | None = None

    def differences(self, read: "Records") -> Iterator[str]:
        """Yield in words what ``read`` has otherwise."""
        for name, mine, theirs in zip(self._fields, self, read, strict=True):
            if isinstance(mine, dict) and isinstance(theirs, dict):
                keys = mine.keys() | theirs.keys()
                yield from (f"{name} of {key}" for key in sorted(keys) if mine.get(key) != theirs.get(key))
            elif mine is not None and theirs is not None and mine != theirs:
                yield name


def records_of(topics: Iterable[Topic], qrels: Mapping[str, Qrels], pool: Pool | None = None) -> Records:
    """Return the records of judged topics; without a pool there are no candidates, and never a digest of documents."""
    by_qid = {topic.qid: topic for topic in topics}
    ids = {
        f"{qid}{ENDINGS[condition]}": (qid, condition)
        for qid in in_order(by_qid)
        for condition in CONDITIONS
        if qid in qrels.get(condition, {})
    }
    ruled_out = no_longer_relevant(qrels["original"], qrels["changed"])
    return Records(
        {full: [by_qid[qid].query, by_qid[qid].instructions.get(name, "")] for full, (qid, name) in ids.items()},
        {full: dict(qrels[condition][qid]) for full, (qid, condition) in ids.items()},
        pool and {full: pool[qid] for full, (qid, _) in ids.items() if qid in pool},
        {qid: sorted(ruled_out[qid]) for qid in in_order(ruled_out)},
    )


def digest_of(documents: Iterable[Text]) -> str:
    """Return a digest of documents that is the same in any order."""
    hashes = (hashlib.sha256(json.dumps(list(document)).encode()).digest() for document in documents)
    return hashlib.sha256(b"".join(sorted(hashes))).hexdigest()


def read_by_heed(folder: Path) -> dict[str, Records]:
    """Return the records of the plain files, and those of the Parquet files where the texts are here."""
    qrels = {condition: read_judgements(folder / f"{condition}.qrels") for condition in CONDITIONS}
    plain = records_of(read_topics(folder / TOPICS, "", "title", "heed"), qrels)
    if not (folder / CORPUS).exists():
        return {"Heed": plain}
    pairs = read_pairs(folder, str, "")
    ruled_out = {qid: sorted(docids) for qid, docids in read_listed(folder / "qrel_diff").items()}
    parquet = records_of(pairs.topics, pairs.qrels, pairs.candidates)._replace(ruled_out=ruled_out)
    read = {"Heed": (plain, [folder / CORPUS]), "Heed (Parquet)": (parquet, pairs.corpus)}
    return {name: records._replace(documents=_digest_of_files(paths)) for name, (records, paths) in read.items()}


def _digest_of_files(paths: Sequence[Path]) -> str:
    return digest_of(line.document[:3] for line in Files(paths).lines() if line.document)


def _by_ir_datasets(folder: Path, _: str) -> dict[str, Records]:
    import ir_datasets

    sys.path.insert(0, str(folder))
    name, read = import_module(Path(DEFINITION).stem).NAME, Records({}, {})
    for condition in CONDITIONS:
        dataset, ending = ir_datasets.load(f"{name}/{condition}"), ENDINGS[condition]
        for query in dataset.queries_iter():
            read.queries[query.query_id + ending] = [query.text, query.instruction]
        for judgement in dataset.qrels_iter():
            read.qrels.setdefault(judgement.query_id + ending, {})[judgement.doc_id] = judgement.relevance
    documents = ir_datasets.load(name)
    texts = digest_of(tuple(document)[:3] for document in documents.docs_iter()) if documents.has_docs() else None
    return {"ir_datasets": read._replace(documents=texts)}


def _by_mteb(folder: Path, lang: str) -> dict[str, Records]:
    """Return the records as the loaders of MTEB's tasks FollowIR and mFollowIR read them."""
    multilingual = import_module("mteb.tasks.instruction_reranking.multilingual.m_follow_ir")
    loaders = import_module("mteb.abstasks.retrieval_dataset_loaders")
    loaded = loaders.RetrievalDatasetLoader(str(folder), "main").load()
    rows = import_module("datasets").load_dataset(str(folder), "qrel_diff", split="qrel_diff")
    changed = {row["query-id"]: row["corpus-ids"] for row in rows}
    by_id = {row["id"]: [row["text"], row["instruction"]] for row in loaded["queries"]}
    texts = digest_of((row["id"], row["title"], row["text"]) for row in loaded["corpus"])
    english = Records(by_id, loaded["relevant_docs"], loaded["top_ranked"], changed, texts)
    parts = (part[lang]["test"] for part in multilingual.load_data(str(folder), [lang], ["test"], "main"))
    corpus, queries, instructions, qrels, ranked, changed = parts
    by_id = {full: [text, instructions[full]] for full, text in queries.items()}
    texts = digest_of((docid, document["title"], document["text"]) for docid, document in corpus.items())
    return {"MTEB (FollowIR)": english, "MTEB (mFollowIR)": Records(by_id, qrels, ranked, changed, texts)}


READERS = {"ir_datasets": _by_ir_datasets, "mteb": _by_mteb}


def read_by_others(folder: Path, lang: str, readers: Iterable[str]) -> dict[str, Records]:
    """Return the records as the programs of ``readers`` that are installed read them, each in its own process."""
    read: dict[str, Records] = {}
    for reader in filter(find_spec, readers):
        with TemporaryDirectory() as cache:
            places = dict.fromkeys(("HF_HOME", "HF_DATASETS_CACHE", "IR_DATASETS_HOME", "MTEB_CACHE"), cache)
            settings = os.environ | places | {"HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, "-m", __name__, str(folder.absolute()), lang, reader]
            done = subprocess.run(command, env=settings, capture_output=True, text=True)  # noqa: S603 (ours)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise DataError(f"{folder}: {reader} cannot read the release ({reason}); please report it")
        read |= {name: Records(*values) for name, values in json.loads(done.stdout.splitlines()[-1]).items()}
    return read


if __name__ == "__main__":
    sys.stdout.write(json.dumps(READERS[sys.argv[3]](Path(sys.argv[1]), sys.argv[2])))
