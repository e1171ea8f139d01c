"""The door to collections, by name or from files of one's own, for Python and for the commands."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heed.data import Data
from heed.datasets.catalogue import Catalogue, Named
from heed.datasets.collection import Collection, Layout
from heed.datasets.irds import has_documents
from heed.datasets.own_files import own_entry
from heed.errors import DataError, UsageError, fail
from heed.extras import named_object
from heed.formats.topic_ids import numbered


def find_collections(
    name: str | None,
    data: Data,
    parameters: Mapping[str, Any] | None = None,
    catalogue: Catalogue | None = None,
    *,
    only_one: bool = False,
) -> list[Collection]:
    """Return the collections called ``name``: one, or each of a group such as ``followir``.

    ``name`` is an entry of the catalogue, ``hub:OWNER/NAME`` or an id of ir_datasets; None for the files of ``data``
    alone. ``parameters`` are those of the collection's layout, and ``subset``, one or several, of a group. Raises
    :class:`UsageError` for an unknown name, with the nearest ones, for what it does not take, and with ``only_one`` for
    a group; :class:`DataError` for missing data, saying how to get them, and for damaged files.
    """
    chosen = {each: value for each, value in (parameters or {}).items() if value not in (None, (), "", False)}
    members = _members(name, catalogue or Catalogue())
    layout, called = layout_of(members[0]), name or members[0].name
    if members[0].subset and "subset" in chosen:
        members = _chosen(called, members, chosen.pop("subset"))
    layout.check(called, data, chosen)
    if only_one and len(members) > 1:
        raise UsageError(f"{name}: several collections; expected one of {', '.join(each.name for each in members)}")
    collections = layout.read(members, data, **chosen)
    carried = {condition for each in collections for topic in each.topics for condition in topic.instructions}
    fail(
        f"{condition}_qrels: {path}: no topic has an instruction for {condition}; expected topics as JSON lines with "
        f'"instructions": {{"original": "…", "{condition}": "…"}}'
        for condition, path in data.judged.items()
        if condition != "original" and condition not in carried
    )
    return collections


def _members(name: str | None, catalogue: Catalogue) -> list[Named]:
    """Return the entries that ``name`` means; of an id of ir_datasets, or of the user's own files, one for these."""
    if name is None or (name not in catalogue and has_documents(name)):
        return [own_entry(name or "")]
    if name not in catalogue:
        import ir_datasets

        # the name itself may be an id of ir_datasets that has no documents
        raise catalogue.unknown(name, ir_datasets.registry)
    return catalogue.find(name)


def layout_of(named: Named) -> Layout:
    """Return the layout of an entry; :class:`UsageError` where there is none, :class:`DataError` for another object."""
    reference = named.entry.layout
    layout = named_object(reference)
    if not isinstance(layout, Layout):
        kind = f"{reference} is a {type(layout).__name__}"
        raise DataError(f"{named.group}: {kind}, expected a heed.datasets.collection.Layout")
    return layout


def _chosen(name: str, members: Sequence[Named], subset: str | Sequence[str]) -> list[Named]:
    by_subset, subsets = {member.subset: member for member in members}, [subset] if isinstance(subset, str) else subset
    unknown = [subset for subset in subsets if subset not in by_subset]
    fail((f"{each}: no subset of {name}; expected one of {', '.join(by_subset)}" for each in unknown), UsageError)
    return [by_subset[each] for each in dict.fromkeys(subsets)]


def load(
    name: str,
    *,
    lang: str | None = None,
    query_lang: str | None = None,
    fields: str | None = None,
    subset: str | None = None,
    dimension: str | None = None,
    catalogue: str | Path | None = None,
    **parameters: Any,  # of the collection's layout, which may be the user's: no list of all could be complete
) -> Collection:
    """Return the collection ``name``: an entry of the catalogue, or an id of ir_datasets.

    ``lang`` is an ISO 639 code; ``query_lang`` is ``native`` or ``eng``; ``fields`` takes the title, description or
    both as the query; ``subset`` is one of a group such as FollowTable's, called ``dimension`` of InfoSearch;
    ``catalogue`` is a file of entries of one's own. An entry may be a data set of the hub, as ``hub:OWNER/NAME``.

    The other arguments are parameters of the collection's layout: of NeuCLIR and HC4 ``docs_lang`` (``native`` or
    ``eng``), ``translation`` (``human`` or ``machine``) and ``years``; of tables ``form``, how they are written for
    systems, and ``traps``; ``data`` is a local copy of what is on the hub. Raises :class:`UsageError` for an unknown
    name, with the nearest ones, and for arguments that ``name`` does not take, naming those that it takes;
    :class:`DataError` for missing data, saying how to get them.
    """
    data = Data(lang=lang or "", query_lang=query_lang or "native", fields=fields or "title")
    known = Catalogue(Path(catalogue) if catalogue else None)
    [collection] = find_collections(name, data, {**parameters, "subset": subset or dimension}, known, only_one=True)
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
    original, changed, reverse = (Path(path) if path else None for path in (qrels, changed_qrels, reversed_qrels))
    data = Data(
        docs=tuple(map(str, [docs] if isinstance(docs, str | Path) else docs)),
        topics=str(topics or ""),
        topics_format=topics_format or "",
        qrels=original,
        changed_qrels=changed,
        reversed_qrels=reverse,
        lang=lang or "",
        fields=fields,
        encoding=encoding or "",
        name=name or "",
    )
    with numbered(topic_ids):
        return find_collections(None, data)[0]
