"""Collections for Python users: by name, or from files of their own."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Collection
from heed.datasets.described import find_entries
from heed.datasets.followir import REPOSITORIES
from heed.datasets.followtable import find_tables
from heed.datasets.infosearch import find_dimensions
from heed.datasets.irds import IrDataset
from heed.datasets.neuclir import NewsSettings, find_news
from heed.datasets.own_files import SAMPLE, english_sample, ir_dataset, own_collection
from heed.errors import DataError, UsageError, fail
from heed.formats.topic_files import OwnFiles
from heed.languages import code_of, language

ENTRIES = ("catalogue", "data", "fields")  # the arguments of an entry of the catalogue
OTHERS = ("lang", "fields")  # the arguments of an ir_datasets id, and of the English sample
NAMES = {  # the arguments of each name
    "neuclir-sample": ("lang", "query_lang", "docs_lang", "fields"),
    "neuclir1": ("lang", "query_lang", "docs_lang", "fields", "translation", "years"),
    "hc4": ("lang", "query_lang", "docs_lang", "fields", "translation"),
    "mfollowir": ("lang", "query_lang", "data"),
    "mfollowir-crosslingual": ("lang", "data"),  # mFollowIR with query_lang eng
    "tables-sample": ("form",),
    "followtable": ("subset", "data", "form"),
    "infosearch": ("dimension", "data"),
    "infosearch-sample": ("dimension",),
}
REQUIRED = ("lang", "dimension")  # by the names that take them


def load(
    name: str,
    *,
    lang: str | None = None,
    query_lang: str | None = None,
    docs_lang: str | None = None,
    translation: str | None = None,
    years: Sequence[str | int] = (),
    fields: str | None = None,
    subset: str | None = None,
    dimension: str | None = None,
    form: str | None = None,
    data: str | Path | None = None,
    catalogue: str | Path | None = None,
) -> Collection:
    """Return the collection ``name``: one of ``NAMES``, an entry of the catalogue, or an id of ir_datasets.

    The arguments are the options of the commands: ``lang`` is an ISO 639 code; ``query_lang`` and ``docs_lang``
    are ``native`` or ``eng``; ``translation`` is ``human`` or ``machine``; ``fields`` takes the title, description or
    both as the query; ``subset`` is one of FollowTable's, ``dimension`` one of InfoSearch's; ``form`` is how tables
    are written for systems (``--serialise``); ``data`` is a local copy, ``catalogue`` a file of entries of one's own.
    An entry may be a data set of the hub, as ``hub:OWNER/NAME``. Raises :class:`UsageError` for an unknown name, with
    the nearest ones, and for arguments that ``name`` does not take; :class:`DataError` for missing data, saying how to
    get them.
    """
    given = [argument for argument, value in locals().items() if value and argument != "name"]
    entries = Catalogue([Path(catalogue)] if catalogue else [])
    if name not in NAMES and name in entries:
        return _entry(name, entries, given, Path(data) if data else None, fields or "title")
    _check(name, given, code_of(lang or ""))
    if name == SAMPLE and lang:
        lang = language(lang).code
    folder = Path(data) if data else None
    if name == SAMPLE and lang == "eng":
        return english_sample(fields or "title")
    if name == "mfollowir-crosslingual":
        name, query_lang = "mfollowir", "eng"
    if name in ("neuclir-sample", "neuclir1", "hc4", "mfollowir"):
        settings = NewsSettings(
            lang=lang or "",
            collection={"neuclir-sample": "sample", "mfollowir": "auto"}.get(name, name),
            years=tuple(map(str, years)),
            query_lang=query_lang or "native",
            translation=translation,
            docs_lang=docs_lang or "native",
            fields=fields or "title",
        )
        if name != "mfollowir":
            return find_news(settings)
        topics = str(folder or REPOSITORIES["eng" if query_lang == "eng" else "native"])
        return find_news(settings, OwnFiles(topics=topics, topics_format="mfollowir"))
    if name in ("tables-sample", "followtable"):
        return find_tables(data=folder, subset=subset, form=form or "raw")
    if name in ("infosearch", "infosearch-sample"):
        source = "sample" if name == "infosearch-sample" else name
        return find_dimensions([dimension or ""], data=folder, collection=source)[0]
    return ir_dataset(name, lang=lang, fields=fields or "title")


def _entry(name: str, entries: Catalogue, given: Sequence[str], data: Path | None, fields: str) -> Collection:
    """Return the collection of an entry, or of one of its subsets."""
    unused = sorted(set(given).difference(ENTRIES))
    fail([f"{', '.join(unused)}: not used by {name}; it takes {', '.join(ENTRIES)}"] if unused else [], UsageError)
    if len(members := entries.find(name)) > 1:
        names = ", ".join(member.name for member in members)
        raise UsageError(f"{name}: several collections; expected one of {names}")
    return find_entries(name, entries, data=data, fields=fields)[0]


def _check(name: str, given: Sequence[str], lang: str) -> None:
    """Raise :class:`UsageError` for an unknown name, and for arguments that it lacks or does not take."""
    if name not in NAMES:
        _check_id(name)
    takes = OTHERS if name == SAMPLE and lang == "eng" else NAMES.get(name, OTHERS)
    unused = [argument for argument in given if argument not in takes]
    if unused:
        raise UsageError(f"{', '.join(unused)}: not used by {name}; it takes {', '.join(takes)}")
    missing = [argument for argument in REQUIRED if argument in NAMES.get(name, ()) and argument not in given]
    if missing:
        raise UsageError(f"{name}: needs {' and '.join(missing)}")
    if name == "followtable" and len({"subset", "data"}.intersection(given)) != 1:
        raise UsageError("followtable: needs either subset or data")


def _check_id(name: str) -> None:
    import ir_datasets

    try:
        IrDataset(name)
    except DataError:
        members = [member for member in NAMES if member.startswith(f"{name}/")]
        # the name itself may be an id of ir_datasets that has no documents
        others = [other for other in (*NAMES, *Catalogue().entries, *ir_datasets.registry) if other != name]
        nearest = members or difflib.get_close_matches(name, others, n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        expected = f"expected {', '.join(NAMES)}, an entry of the catalogue (heed fetch), or an id of ir_datasets"
        raise UsageError(f"{name}: no collection of this name{hint}; {expected}") from None


def load_files(
    docs: str | Path | Sequence[str | Path],
    topics: str | Path | None = None,
    qrels: str | Path | None = None,
    *,
    changed_qrels: str | Path | None = None,
    reversed_qrels: str | Path | None = None,
    lang: str | None = None,
    fields: str = "title",
    topics_format: str | None = None,
    name: str | None = None,
) -> Collection:
    """Return the collection of the user's own files, as ``python -m pipelines.trec`` reads them.

    ``docs`` are files, folders or one id of ir_datasets; ``lang`` defaults to English. A folder in BEIR's or MTEB's
    layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels/test.tsv``) needs neither ``topics`` nor ``qrels``: they are
    taken from it, the judgements of the split ``test``, or of the only one. Results and indexes go to folders called
    ``name``, by default after the first of ``docs``. Raises :class:`UsageError` without topics.
    """
    paths = [docs] if isinstance(docs, str | Path) else docs
    original, changed, reverse = (Path(path) if path else None for path in (qrels, changed_qrels, reversed_qrels))
    given = str(topics) if topics else None
    files = OwnFiles(tuple(map(str, paths)), given, topics_format, original, changed, reverse, name)
    return own_collection(files, lang=lang, fields=fields)
