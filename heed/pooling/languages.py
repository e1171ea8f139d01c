"""In which language a pooled document is, for budgets of each language."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from heed.errors import HeedError, fail
from heed.io.documents import ID_FIELDS, corpus_files
from heed.io.files import read_lines
from heed.io.topics import read_objects
from heed.progress import bar, brief

JSON = (".jsonl", ".jsonl.gz")


def language_file(text: str) -> tuple[str, Path]:
    """``LANG=PATH`` as its parts; ValueError for another form."""
    language, equals, path = text.partition("=")
    if not (language and equals and path) or language.split() != [language]:
        raise ValueError(f"found {text!r}, expected LANG=PATH")
    return language, Path(path)


def document_languages(given: Sequence[tuple[str, Path]], docids: Collection[str]) -> dict[str, str]:
    """The language of each of ``docids`` that ``given`` (language, path) tells.

    A path is a list of ids (one a line, or the first column), documents as JSONL with an id in one
    of ``id``, ``_id``, ``docid``, ``doc_id``, or a folder of the latter; ``.gz`` too. Raises
    :class:`HeedError` for documents that are in no file or in those of two languages, and for bad lines.
    """
    wanted = set(docids)
    found: dict[str, str] = {}
    clashes: dict[str, str] = {}
    for language, path in given:
        for docid in bar(_ids(path), 0, language, "ids"):
            if docid not in wanted:
                continue
            if found.setdefault(docid, language) != language:
                clashes[docid] = f"document {docid}: in the files of {found[docid]} and of {language}; keep one"
    fail(clashes.values())
    lost = sorted(wanted - found.keys())
    if lost:
        raise HeedError(
            f"--language: {len(lost)} of {len(wanted)} documents of the runs are in none of the files: {brief(lost)}; "
            "add the file that holds them"
        )
    return found


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
                raise HeedError(f"{file}, line {line_no}: id is {docid!r}, {expected}")
            yield str(docid)


def topic_languages(path: Path, topics: Iterable[str]) -> dict[str, str]:
    """The ``lang`` of each of ``topics`` in JSON lines of ``qid`` and ``lang``.

    Raises :class:`HeedError` for a topic without a language or with several: then the documents'
    own languages must be told.
    """
    languages: dict[str, set[str]] = {}
    for _, record in read_objects(path):
        if isinstance(record.get("lang"), str):
            languages.setdefault(str(record.get("qid")), set()).add(record["lang"])
    told = {topic: sorted(languages.get(topic, ())) for topic in topics}
    fail(
        f"{path}: topic {topic} has {' and '.join(found) if found else 'no'} lang, expected one; "
        "tell the documents' languages with --language LANG=PATH"
        for topic, found in told.items()
        if len(found) != 1
    )
    return {topic: found[0] for topic, found in told.items()}
