"""The languages of pooled documents, for budgets by language."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from heed.errors import DataError, fail
from heed.io.documents import ID_FIELDS, corpus_files
from heed.io.files import read_lines
from heed.io.topics import read_objects
from heed.progress import bar, brief

JSON = (".jsonl", ".jsonl.gz")


def document_languages(files: Sequence[tuple[str, Path]], docids: Collection[str]) -> dict[str, str]:
    """Return the language of each of ``docids`` by ``files``, pairs of a language and a path.

    A path is a list of ids (one a line, or the first column), documents as JSONL with an id in one
    of ``id``, ``_id``, ``docid``, ``doc_id``, or a folder of such files; ``.gz`` too. Raises
    :class:`DataError` for documents that are in no file or in those of two languages, and for bad lines.
    """
    wanted = set(docids)
    languages: dict[str, str] = {}
    clashes: dict[str, str] = {}
    for language, path in files:
        for docid in bar(_ids(path), 0, language, "ids"):
            if docid not in wanted:
                continue
            if languages.setdefault(docid, language) != language:
                clashes[docid] = f"document {docid}: in the files of {languages[docid]} and of {language}; keep one"
    fail(clashes.values())
    missing = sorted(wanted - languages.keys())
    if missing:
        raise DataError(
            f"--language: {len(missing)} of {len(wanted)} documents of the runs are in none of the files: "
            f"{brief(missing)}; add the file that holds them"
        )
    return languages


def _ids(path: Path) -> Iterator[str]:
    if path.is_file() and not path.name.endswith(JSON):
        for _, line in read_lines(path):
            yield from line.split()[:1]
        return
    for file in corpus_files([path], JSON):
        for line_no, record in read_objects(file):
            docid = next((record[name] for name in ID_FIELDS if record.get(name) is not None), None)
            if not isinstance(docid, str | int) or isinstance(docid, bool):
                expected = f"expected a word in one of {', '.join(ID_FIELDS)}"
                raise DataError(f"{file}, line {line_no}: id is {docid!r}, {expected}")
            yield str(docid)


def topic_languages(path: Path, topics: Iterable[str]) -> dict[str, str]:
    """Return the ``lang`` of each of ``topics`` in JSON lines of ``qid`` and ``lang``.

    Raises :class:`DataError` for a topic without a language or with several: then the languages
    of the documents must be given.
    """
    named: dict[str, set[str]] = {}
    for _, record in read_objects(path):
        if isinstance(record.get("lang"), str):
            named.setdefault(str(record.get("qid")), set()).add(record["lang"])
    languages = {topic: sorted(named.get(topic, ())) for topic in topics}
    fail(
        f"{path}: topic {topic} has {' and '.join(several) if several else 'no'} lang, expected one; "
        "give the documents' languages with --language LANG=PATH"
        for topic, several in languages.items()
        if len(several) != 1
    )
    return {topic: only for topic, (only,) in languages.items()}
