"""The door to collections, by name or from files of one's own, for Python and for the commands."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heed.datasets.catalogue import Catalogue, CatalogueEntry, Named
from heed.datasets.collection import Collection
from heed.datasets.irds import has_documents
from heed.datasets.layout import Layout, Settings, check_settings, layout_at
from heed.datasets.own_files import IDS, OWN_FILES
from heed.errors import UsageError, fail
from heed.formats.topic_ids import numbered
from heed.formats.user_files import OwnFiles


def find_collections(name: str | None, settings: Settings, catalogue: Catalogue | None = None) -> list[Collection]:
    """Return the collections called ``name``: one, or each of a group such as ``followir``.

    ``name`` is an entry of the catalogue, ``hub:OWNER/NAME`` or an id of ir_datasets; None for the files of
    ``settings`` alone. Raises :class:`UsageError` for an unknown name, with the nearest ones, and for settings
    that it does not take; :class:`DataError` for missing data, saying how to get them, and for damaged files.
    """
    members, layout, settings = _resolved(name, settings, catalogue or Catalogue())
    collections, files = layout.read(members, settings), settings.files
    carried = {condition for each in collections for topic in each.topics for condition in topic.instructions}
    fail(
        f"--{condition}-qrels {path}: no topic has an instruction for {condition}; expected topics as JSON lines with "
        f'"instructions": {{"original": "…", "{condition}": "…"}}'
        for condition, path in (("changed", files.changed_qrels), ("reversed", files.reversed_qrels))
        if path and condition not in carried
    )
    return collections


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
    """Return the collection ``name``: an entry of the catalogue, or an id of ir_datasets.

    The arguments are the options of the commands: ``lang`` is an ISO 639 code; ``query_lang`` and ``docs_lang``
    are ``native`` or ``eng``; ``translation`` is ``human`` or ``machine``; ``fields`` takes the title, description or
    both as the query; ``subset`` is one of FollowTable's, ``dimension`` one of InfoSearch's; ``form`` is how tables
    are written for systems (``--serialise``); ``data`` is a local copy, ``catalogue`` a file of entries of one's own.
    An entry may be a data set of the hub, as ``hub:OWNER/NAME``. Raises :class:`UsageError` for an unknown name, with
    the nearest ones, and for arguments that ``name`` does not take; :class:`DataError` for missing data, saying how to
    get them.
    """
    settings = Settings(
        lang=lang or "",
        query_lang=query_lang or "native",
        docs_lang=docs_lang or "native",
        translation=translation,
        years=tuple(map(str, years)),
        fields=fields or "title",
        subsets=tuple(part for part in (subset, dimension) if part),
        form=form or "raw",
        data=Path(data) if data else None,
    )
    members, layout, settings = _resolved(name, settings, Catalogue(Path(catalogue) if catalogue else None))
    if len(members) > 1:
        names = ", ".join(member.name for member in members)
        raise UsageError(f"{name}: several collections; expected one of {names}")
    [collection] = layout.read(members, settings)
    if collection.parts:
        raise UsageError(f"{name}: documents in several languages, one collection each; load them by their languages")
    return collection


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
    topic_ids: str | None = None,
    name: str | None = None,
    encoding: str | None = None,
) -> Collection:
    """Return the collection of the user's own files, as ``heed trec`` reads them.

    ``docs`` are files, folders or one id of ir_datasets; ``lang`` defaults to English. A folder in BEIR's or MTEB's
    layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels/test.tsv``) needs neither ``topics`` nor ``qrels``: they are
    taken from it, the judgements of the split ``test``, or of the only one. ``topic_ids="number"`` leaves prefix and
    leading zeros of topics' ids out, so that ``051`` is 51. Results and indexes go to folders called ``name``, by
    default after the first of ``docs``. ``encoding`` is that of all files that are not UTF-8, by default one of the
    language's that fits clearly. Raises :class:`UsageError` without topics.
    """
    paths = [docs] if isinstance(docs, str | Path) else docs
    original, changed, reverse = (Path(path) if path else None for path in (qrels, changed_qrels, reversed_qrels))
    topics_path = str(topics) if topics else None
    files = OwnFiles(tuple(map(str, paths)), topics_path, topics_format, original, changed, reverse, name, encoding)
    with numbered(topic_ids):
        [collection] = find_collections(None, Settings(files, lang=lang or "", fields=fields))
    return collection


def _resolved(name: str | None, settings: Settings, catalogue: Catalogue) -> tuple[list[Named], Layout, Settings]:
    """Return the entries called ``name``, those of ``settings.subsets`` in a group, and their layout."""
    if name is None:
        members, layout = list[Named](), OWN_FILES
    elif name in catalogue:
        members = catalogue.find(name)
        layout = layout_at(members[0].entry.layout, name)
        if members[0].subset and settings.subsets:
            members, settings = _chosen(name, members, settings.subsets), replace(settings, subsets=())
    elif has_documents(name):
        members, layout = [Named(name, "", "", CatalogueEntry(holds=name, id=name))], IDS
    else:
        import ir_datasets

        # the name itself may be an id of ir_datasets that has no documents
        raise catalogue.unknown(name, ir_datasets.registry)
    check_settings(name or "--docs", layout, settings)
    return members, layout, settings


def _chosen(name: str, members: Sequence[Named], subsets: Sequence[str]) -> list[Named]:
    by_subset = {member.subset: member for member in members}
    expected = ", ".join(by_subset)
    unknown = [subset for subset in subsets if subset not in by_subset]
    fail([f"{subset}: no subset of {name}; expected one of {expected}" for subset in unknown], UsageError)
    return [by_subset[subset] for subset in dict.fromkeys(subsets)]
