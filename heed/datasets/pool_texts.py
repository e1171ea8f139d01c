"""The topics and documents of a pool, in any form: for what judges, rescores or exports the documents of a pool."""

from collections.abc import Sequence
from pathlib import Path

from heed.data import Data
from heed.datasets import irds
from heed.datasets.collection import Collection, with_warnings
from heed.datasets.followir import is_mfollowir, read_mfollowir
from heed.datasets.own_files import documents_language, given_topics, plain_collection
from heed.errors import DataError
from heed.files import unpacked_name
from heed.formats.data_sets import collection_name
from heed.formats.documents import SUFFIXES, TSV, Documents, Files, Source, corpus_files
from heed.formats.topics import TopicTexts, read_topics
from heed.formats.trec_documents import is_trec_documents
from heed.tables.documents import TABLE_SUFFIXES, Tables
from heed.types import Topic


@with_warnings
def pool_texts(data: Data, translation: str = "") -> Collection:
    """Return the topics and documents that ``data`` names as a collection without judgements; either may be missing.

    ``translation`` chooses among those of NeuCLIR's topics (human or machine); mFollowIR's bring their documents along.
    The language defaults to the one that ir_datasets names, else to English. Raises as the readers of the files do.
    """
    lang = documents_language([path for path in data.docs if not Path(path).exists()], data.lang)
    topics, corpus = _topics(data, lang, translation) if data.topics else ([], [])
    docs = data.docs or [str(path) for path in corpus]
    source = documents_of(docs, data.encoding or lang) if docs else Documents([])
    first = Path(docs[0] if docs else "pool")
    name = data.name or (collection_name(first) if first.exists() else str(first).replace("/", "-"))
    return plain_collection(name, lang, source, topics, {})


def _topics(data: Data, lang: str, translation: str) -> tuple[list[Topic], Sequence[Path]]:
    """Return the topics over documents in ``lang``, and the documents that belong to them if they are mFollowIR's."""
    path, known = Path(data.topics), irds.parse_id(data.topics)
    query_lang = "eng" if data.query_lang == "eng" else lang
    if known and not path.exists():
        texts = TopicTexts(query_lang, lang, translation or "any", data.fields)
        return irds.judged(known.source, [known.part], texts)[0], []
    if is_mfollowir(path, lang):
        topics, _, _, corpus = read_mfollowir(path, lang, query_lang)
        return topics, corpus
    if not path.exists():
        return given_topics(data, query_lang), []
    reading = (query_lang, data.fields, data.topics_format, data.encoding)
    return read_topics(path, *reading, collection=lang, translation=translation or "any"), []


def documents_of(docs: Sequence[str], encoding: str) -> Source:
    """Return the documents of files and folders, or of one id of ir_datasets; tables where there are no records."""
    paths, known = [*map(Path, docs)], irds.parse_id(docs[0])
    if not paths[0].exists() and known is None and len(docs) == 1:
        return irds.IrDataset(docs[0])
    if not paths[0].exists() and known:
        paths = [irds.documents_file(known.source, known.lang)]
        if not paths[0].exists():
            raise DataError(f"{paths[0]}: no documents of {docs[0]}; heed fetch says how to get them")
    files = corpus_files(paths, TABLE_SUFFIXES)
    suffixes = (*SUFFIXES, *[TSV for path in paths if path.is_file()])  # a table, where it is not named itself
    records = [file for file in files if unpacked_name(file).endswith(suffixes) or is_trec_documents(file)]
    return Files(records, encoding) if records else Tables(files, "raw", encoding=encoding)
