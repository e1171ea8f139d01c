"""NeuCLIR and HC4 topics: English originals, translations by people and machines, narratives."""

from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import fail
from heed.files import read_objects
from heed.formats.topic_ids import topics_with_ids
from heed.formats.topics import query_and_description
from heed.languages import code_of
from heed.progress import brief, log, warn
from heed.types import Topic

ORIGINAL, HUMAN = "original", "human translation"  # the files' own names; any other source is a machine

# HC4's four levels of value as one instruction. "Not that valuable" becomes grade 0 when HC4 and
# NeuCLIR grade (guidelines 2022), so it comes under what is not relevant.
LEVELS = (
    ("very_valuable", "Highly relevant: {}"),
    ("somewhat_valuable", "Also relevant: {}"),
    ("not_that_valuable", "Not relevant: {}"),
    ("non_relevant", "Not relevant: {}"),
)


class TopicTexts(NamedTuple):
    """Which of a topic's texts to read.

    ``lang`` is the query's language, ``collection`` the documents' (narratives of HC4 are kept by
    it), ``translation`` human, machine, or any (human where there is one), ``fields`` title,
    description or both.
    """

    lang: str
    collection: str
    translation: str
    fields: str


def read_neuclir_topics(path: Path, texts: TopicTexts, encoding: str | None = None) -> list[Topic]:
    """Return the topics of a NeuCLIR or HC4 file, with the narrative as the original instruction.

    A topic without a text in the wanted language and translation is left out, with a warning. Where the
    narrative exists in another form only (2023 has no human translation of it, HC4 has English
    alone), that one is used and logged. Raises :class:`DataError` naming each line that is not of
    these files' form, and if no topic is left.
    """
    topics: list[Topic] = []
    problems: list[str] = []
    left_out: list[str] = []
    forms: dict[str, list[str]] = {}
    for line_no, record in read_objects(path, encoding or texts.lang):
        problem = _problem(record)
        if problem:
            problems.append(f"{path}, line {line_no}: {problem}")
            continue
        qid = str(record.get("topic_id", ""))
        form, text = _text(record, texts.lang, texts.translation)
        query, description = query_and_description(text.get("topic_title"), text.get("topic_description"), texts.fields)
        if not qid or not query:
            left_out.append(qid or f"line {line_no}")
            continue
        narrated, narrative = _narrative(record, texts)
        if form != narrated:
            form = f"{form}, with the instruction as {narrated}"
        forms.setdefault(form, []).append(qid)
        instructions = {"original": narrative} if narrative else {}
        topics.append(Topic(qid, texts.lang, query, instructions, description=description))
    fail(problems)
    for form, qids in forms.items():
        log.info(f"{path}: {len(qids)} topics as {form}")
    if left_out:
        warn(f"{path}: {len(left_out)} topics have no such text and are left out: {brief(left_out)}")
    sought = f"in {texts.lang}, translation {texts.translation}, with {texts.fields}"
    fail([] if topics else [f"{path}: no topic {sought}; try another --query-lang, --translation or --fields"])
    return topics_with_ids(topics, path)


def _problem(record: dict[str, Any]) -> str:
    """Return the problem with the ids, texts or narratives of a line, else an empty text; all may be missing."""
    qid, entries, narratives = record.get("topic_id", ""), record.get("topics"), record.get("narratives")
    if isinstance(qid, bool) or not isinstance(qid, str | int) or (qid != "" and str(qid).split() != [str(qid)]):
        return f"topic_id is {qid!r}, expected a word"
    if not isinstance(entries, list | None) or not all(isinstance(entry, dict) for entry in entries or []):
        return f"topics is {repr(entries)[:60]}, expected a list of objects"
    if not all(isinstance(entry.get("topic_narrative"), str | None) for entry in entries or []):
        return f"topic {qid}: a topic_narrative is no text"
    if not isinstance(narratives, dict | None):
        return f"narratives is {repr(narratives)[:60]}, expected an object"
    for narrative in (narratives or {}).values():
        if not isinstance(narrative, dict | None) or not all(
            isinstance(text, str | None) for text in (narrative or {}).values()
        ):
            return f"topic {qid}: narratives hold {repr(narrative)[:60]}, expected texts by level"
    return ""


def _text(record: dict[str, Any], lang: str, translation: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of translation and its entry; of several machines' the one with the latest tag."""
    in_lang = (entry for entry in record.get("topics") or [] if code_of(str(entry.get("lang"))) == lang)
    entries = {str(entry.get("source")): entry for entry in in_lang}
    if lang == "eng":
        return "English originals", entries.get(ORIGINAL, {})
    machines = sorted(entries.keys() - {HUMAN, ORIGINAL})
    if translation == "human" or (translation == "any" and (HUMAN in entries or not machines)):
        return "human translations", entries.get(HUMAN, {})
    return "machine translations", entries[machines[-1]] if machines else {}


def _narrative(record: dict[str, Any], texts: TopicTexts) -> tuple[str, str]:
    """Return the kind of narrative and the instruction: the entry's own narrative first, then the nearest other."""
    for lang, translation in ((texts.lang, texts.translation), (texts.lang, "machine"), ("eng", "any")):
        form, entry = _text(record, lang, translation)
        if (entry.get("topic_narrative") or "").strip():
            return form, entry["topic_narrative"].strip()
    levels = (record.get("narratives") or {}).get(texts.collection)
    return ("HC4's four levels, in English", instruction_of_levels(levels)) if levels else ("none", "")


def instruction_of_levels(levels: dict[str, str]) -> str:
    """Return one instruction made of HC4's four levels: what is relevant, what is less so, what is not."""
    parts = []
    for name, form in LEVELS:
        lines = [line.strip(" \t-•") for line in (levels.get(name) or "").splitlines()]
        lines_with_text = [line for line in lines if line and line.upper().rstrip(".") not in ("N/A", "NA", "NONE")]
        if lines_with_text:
            parts.append(form.format(" ".join(line if line[-1] in ".!?" else f"{line}." for line in lines_with_text)))
    return " ".join(parts)
