"""NeuCLIR's submission form: what it asks of each run, its template, and where an answer cannot be right.

Questions and answers are those of neuclir.github.io/2023, "Tasks" and "Submission".
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from heed.errors import HeedError, fail
from heed.io.files import read_bytes
from heed.validation.run_tag import LETTERS, QUERIES, RunName, parse_name
from heed.validation.track_rules import SOURCES, TRACKS, Source

Entry = dict[str, Any]

CHOICES: dict[str, tuple[str, ...]] = {
    "task": ("single-language news", "multilingual news", "single-language technical"),
    "documents": ("zho", "fas", "rus", "fas+rus+zho", "csl"),
    "query_language": ("eng", "zho", "fas", "rus", "other"),
    "topic_fields": ("title", "desc", "both", "other"),
    "retrieval": ("FR", "RR"),
    "method": ("neural", "statistical", "both"),
    "type": ("automatic", "manual"),
}
ASKED = {
    "task": "the task",
    "documents": "language of the documents; csl: technical abstracts",
    "query_language": "language of the queries; the provided human translation counts as that language",
    "topic_fields": "what of a topic was used",
    "retrieval": "FR: full retrieval; RR: reranking of the official list",
    "method": "neural, statistical, or a combination",
    "type": "automatic: no human intervention of any kind",
}
OPTIONAL = {
    "mean_response_seconds": "mean response time of a query, in seconds",
    "parameters": "parameters of all models together",
    "carbon_tracked": "whether carbon emissions were tracked: true or false",
    "carbon_offset": "whether they were offset: true or false",
    "description": "a sentence on how the run was made",
}
FIELDS = ("run", "priority", *CHOICES, *OPTIONAL)
MOST_VALUES = 1_000_000  # of a form, with what its aliases stand for
OPEN = "?"  # what a template has where nobody but the team knows the answer


def template(tags: Sequence[str], track: str, team: str) -> str:
    """The form for runs, wished to be pooled in the order of ``tags``; what their names tell is filled in."""
    lines = [
        "# NeuCLIR's submission form. Fill in what has a ?; delete optional lines that you leave open.",
        "# priority: the order in which you wish the runs to be pooled, 1 first.",
        "runs:",
    ]
    for priority, tag in enumerate(tags, 1):
        told = _told_by(parse_name(tag, team)) if TRACKS[track].sources else {}
        lines += [f"- run: {tag!r}", f"  priority: {priority}"]
        for name, choices in CHOICES.items():
            lines.append(f"  {name}: {told.get(name, repr(OPEN))}  # {ASKED[name]}: {', '.join(choices)}")
        lines += [f"  {name}:  # optional: {asked}" for name, asked in OPTIONAL.items()]
    return "\n".join(lines) + "\n"


def _told_by(name: RunName) -> dict[str, str]:
    """What a name says for sure."""
    told = {"task": name.over.task, "documents": name.over.documents} if name.over else {}
    spoken = [QUERIES[one] for one in name.letters if one in QUERIES]
    if len(spoken) == 1:
        told["query_language"] = spoken[0]
    if "2" in name.letters:
        told["retrieval"] = "RR"
    kinds = [one for one in name.letters if one in "AM"]
    if len(kinds) == 1:
        told["type"] = LETTERS[kinds[0]]
    return told


def read_form(paths: Iterable[Path]) -> dict[str, Entry]:
    """The answers by run, from YAML or JSON files with ``runs``, a list, or with one run each.

    Raises :class:`HeedError` for another form, and a run that comes twice.
    """
    found: dict[str, Entry] = {}
    problems = []
    for path in paths:
        for entry in _entries(path):
            tag = entry.get("run")
            if not isinstance(tag, str):
                problems.append(f"{path}: run is {tag!r}, expected its tag in quotes")
            elif tag in found:
                problems.append(f"{path}: run {tag} comes twice; keep one")
            else:
                found[tag] = entry
    fail(problems)
    return found


def _entries(path: Path) -> list[Entry]:
    import yaml

    try:
        text = read_bytes(path).decode("utf-8-sig")
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        # some hundred bytes of aliases of aliases stand for more than any memory holds
        if _size(node, {}) > MOST_VALUES:
            raise HeedError(f"{path}: aliases (*name) stand for more than {MOST_VALUES} values; write the answers out")
        read = loader.construct_document(node) if node else None
    except HeedError:
        raise
    except Exception as error:  # what PyYAML raises for a text that is not what its tag says, as !!bool x
        raise HeedError(f"{path}: neither YAML nor JSON ({' '.join(str(error).split())}); mend the form") from error
    entries = read.get("runs", [read]) if isinstance(read, dict) else read
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        raise HeedError(f"{path}: found no runs, expected runs: and a list of answers; start from the template")
    return entries


def _size(node: Any, known: dict[int, int]) -> int:
    """The values of a YAML node, those that aliases stand for counted each time."""
    if not node or isinstance(node.value, str):
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_VALUES  # of a node inside itself
        pairs = (one if isinstance(one, tuple) else (one,) for one in node.value)
        known[id(node)] = 1 + sum(_size(one, known) for pair in pairs for one in pair)
    return known[id(node)]


def as_yaml(entries: Iterable[Entry]) -> bytes:
    """The answers in the form's own order, without those left open."""
    import yaml

    runs = [{name: entry[name] for name in FIELDS if entry.get(name) is not None} for entry in entries]
    text: str = yaml.safe_dump({"runs": runs}, sort_keys=False, allow_unicode=True, width=100)
    return text.encode()


def form_problems(entry: Entry, track: str, team: str) -> list[str]:
    """What is wrong with one run's answers, in themselves and beside the run's name."""
    told = []
    for name in entry:
        if name not in FIELDS:
            near = difflib.get_close_matches(str(name), FIELDS, n=1)
            told.append(f"found {name!r}, expected {near[0] if near else ', '.join(FIELDS)}; rename or delete it")
    for name, choices in CHOICES.items():
        if entry.get(name) not in choices:
            told.append(f"{name} is {entry.get(name)!r}, expected one of {', '.join(choices)}")
    return told + _optional(entry) + ([] if told else _against_name(entry, track, team))


def _optional(entry: Entry) -> list[str]:
    told = []
    seconds, parameters = entry.get("mean_response_seconds"), entry.get("parameters")
    if seconds is not None and not _above_zero(seconds):
        told.append(f"mean_response_seconds is {seconds!r}, expected a number above 0, or none")
    if parameters is not None and not (_above_zero(parameters) and isinstance(parameters, int)):
        told.append(f"parameters is {parameters!r}, expected a whole number above 0, or none")
    for name in ("carbon_tracked", "carbon_offset"):
        if not isinstance(entry.get(name), bool | None):
            told.append(f"{name} is {entry[name]!r}, expected true or false, or none")
    if not isinstance(entry.get("description"), str | None):
        told.append(f"description is {entry['description']!r}, expected a text, or none")
    return told


def _above_zero(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _against_name(entry: Entry, track: str, team: str) -> list[str]:
    """Answers that contradict each other, or the first part or the letters of a 2023 name."""
    told = []
    if (entry["task"], entry["documents"]) not in {(one.task, one.documents) for one in SOURCES.values()}:
        told.append(f"task is {entry['task']}, which has no documents {entry['documents']}; mend one")
    name = parse_name(entry["run"], team)
    if not TRACKS[track].sources or name.over is None:
        return told
    for field, expected in (("task", name.over.task), ("documents", name.over.documents)):
        if entry[field] != expected:
            told.append(f"{field} is {entry[field]}, and the name's {name.source}- says {expected}; mend one")
    for field, answers in _said(name.letters, name.over):
        if entry[field] not in answers:
            said = " or ".join(answers)
            told.append(f"{field} is {entry[field]}, and the name's letters {name.letters} say {said}; mend one")
    return told


def _said(letters: str, over: Source) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The answers that letters leave open, by question."""
    spoken = tuple(QUERIES[one] for one in letters if one in QUERIES)
    if spoken:
        yield "query_language", spoken
    elif "1" in letters and "T" not in letters:
        yield "query_language", over.languages
    if "2" in letters:
        yield "retrieval", ("RR",)
    kinds = tuple(LETTERS[one] for one in letters if one in "AM")
    if kinds:
        yield "type", kinds
    if set(letters) & set("DL") and not set(letters) & set("SH"):
        yield "method", ("neural", "both")
