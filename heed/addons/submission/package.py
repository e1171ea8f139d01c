"""A track's package: runs named by their tags, NeuCLIR's submission form, and a manifest with digests.

The form's questions and answers are those of neuclir.github.io/2023, "Tasks" and "Submission".
"""

import difflib
import gzip
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from heed.addons.submission.run_report import WARNING, CheckedRun
from heed.addons.submission.tracks import DATA, LETTERS, QUERIES, SOURCES, TRACKS, RunName, parse_name
from heed.errors import DataError, UsageError, fail
from heed.files import digest, finished_folder, locked, read_text, unpacked, write_bytes, write_json

Entry = dict[str, Any]

CHOICES, OPTIONAL = DATA.questions, DATA.optional
FIELDS = ("run", "priority", *CHOICES, *OPTIONAL)
OPEN = "?"  # in a template, an answer that only the team knows
MANIFEST, FORM, RUNS = "manifest.json", "metadata.yml", "runs"


def template(known: Mapping[str, Mapping[str, str]]) -> str:
    """Return the form for the runs whose answers, as far as they are ``known``, stand by tag; pooled in that order."""
    lines = [
        "# NeuCLIR's submission form. Replace each ?; delete optional lines that you leave empty.",
        "# priority: the order in which the runs should be pooled, 1 first.",
        "runs:",
    ]
    for priority, (tag, answers) in enumerate(known.items(), 1):
        lines += [f"- run: {tag!r}", f"  priority: {priority}"]
        for name, (question, choices) in CHOICES.items():
            lines.append(f"  {name}: {answers.get(name, repr(OPEN))}  # {question}: {', '.join(choices)}")
        lines += [f"  {name}:  # optional: {question}" for name, question in OPTIONAL.items()]
    return "\n".join(lines) + "\n"


def known_answers(run: CheckedRun, track: str, team: str, reranks: bool) -> dict[str, str]:
    """Return the answers that follow from a run's options and from its name.

    Where names do not tell task and documents, these follow from the documents' languages if all are known and make up
    one of the tasks.
    """
    rules, answers = TRACKS[track], {"retrieval": "RR"} if reranks else {}
    if rules.sources:
        return answers | _from_name(parse_name(run.tag, team))
    for source in SOURCES.values():
        if source.docid == rules.docid and {*source.languages} == run.languages.keys():
            return answers | {"task": source.task, "documents": source.documents}
    return answers


def _from_name(name: RunName) -> dict[str, str]:
    answers = {"task": name.documents.task, "documents": name.documents.documents} if name.documents else {}
    languages = [QUERIES[letter] for letter in name.letters if letter in QUERIES]
    if len(languages) == 1:
        answers["query_language"] = languages[0]
    if "2" in name.letters:
        answers["retrieval"] = "RR"
    kinds = [letter for letter in name.letters if letter in "AM"]
    if len(kinds) == 1:
        answers["type"] = LETTERS[kinds[0]]
    return answers


def read_form(path: Path) -> dict[str, Entry]:
    """Read the answers by run from a YAML or JSON file with ``runs``, a list.

    Raises :class:`DataError` for another form, and for a run that is repeated.
    """
    entries: dict[str, Entry] = {}
    problems = []
    for entry in _entries(path):
        tag = entry.get("run")
        if not isinstance(tag, str):
            problems.append(f"{path}: run is {tag!r}, expected its tag in quotes")
        elif tag in entries:
            problems.append(f"{path}: run {tag} comes twice; keep one")
        else:
            entries[tag] = entry
    fail(problems)
    return entries


def _entries(path: Path) -> list[Entry]:
    import yaml

    try:
        text = read_text(path)
        # a few hundred bytes of aliases of aliases can expand to more than any memory holds
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise DataError(f"{path}: found an alias (*name), expected plain answers; write them out")
        read = yaml.safe_load(text)
    except DataError:
        raise
    except Exception as error:  # PyYAML raises many kinds, also for a value that does not match its tag, as !!bool x
        raise DataError(f"{path}: neither YAML nor JSON ({' '.join(str(error).split())}); correct the form") from error
    entries = read.get("runs") if isinstance(read, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        raise DataError(f"{path}: found no runs, expected runs: and a list of answers; start from the template")
    return entries


def as_yaml(entries: Iterable[Entry]) -> bytes:
    """Return the answers in the form's order, without the empty ones."""
    import yaml

    runs = [{name: entry[name] for name in FIELDS if entry.get(name) is not None} for entry in entries]
    text: str = yaml.safe_dump({"runs": runs}, sort_keys=False, allow_unicode=True, width=100)
    return text.encode()


def form_problems(entry: Entry, known: Mapping[str, str]) -> list[str]:
    """Return the problems of a run's answers, of which some are ``known`` from its tag, options and documents."""
    problems = []
    for name in entry:
        if name not in FIELDS:
            near = difflib.get_close_matches(str(name), FIELDS, n=1)
            problems.append(f"found {name!r}, expected {near[0] if near else ', '.join(FIELDS)}; rename or delete it")
    for name, (_, choices) in CHOICES.items():
        if entry.get(name) not in choices:
            problems.append(f"{name} is {entry.get(name)!r}, expected one of {', '.join(choices)}")
        elif name in known and entry[name] != known[name]:
            source = "the run's tag, its documents or the list to rerank"
            problems.append(f"{name} is {entry[name]}, expected {known[name]} by {source}; correct the form or the run")
    seconds = entry.get("mean_response_seconds")
    wrong = seconds is not None and not isinstance(seconds, int | float)
    return problems + [f"mean_response_seconds is {seconds!r}, expected a number such as 0.5"] * wrong


class Package(NamedTuple):
    """A package's folder, track and team, and whether its runs rerank the official list."""

    folder: Path
    track: str
    team: str
    reranks: bool


def write_package(package: Package, runs: Sequence[CheckedRun], form: Path | None) -> list[str]:
    """Write the package of ``runs``, which have no errors, with the answers of ``form``; return a line for each run.

    The same runs and answers give the same bytes, whatever the order of the arguments; the complete
    folder appears at once. Without ``form`` a template is written beside the folder, and a
    :class:`UsageError` says so, as for a folder that is there already. Raises :class:`DataError` for answers that are
    missing or wrong.
    """
    teams = sorted({parse_name(run.tag, package.team).team for run in runs if TRACKS[package.track].sources})
    if len(teams) > 1:
        raise DataError(f"found runs of the teams {', '.join(teams)}, expected one team; package them separately")
    if package.folder.exists() or package.folder.name in ("", ".."):
        raise UsageError(f"submission: {package.folder} is there already; name a new folder, or delete it")
    if not form:
        raise UsageError(_write_template(package, runs))
    entries = read_form(form)
    fail(_form_problems(package, runs, entries, form))
    by_priority = sorted(runs, key=lambda run: cast(int, entries[run.tag]["priority"]))
    with locked(package.folder.parent), finished_folder(package.folder) as part:
        listed = [_add(part, run, entries[run.tag]) for run in by_priority]
        write_bytes(part / FORM, as_yaml([entries[run.tag] for run in by_priority]))
        answers = {"file": FORM, "sha256": digest(part / FORM)}
        head = {"track": package.track, "team": package.team or None, "form": answers}
        write_json(part / MANIFEST, {**head, "runs": listed})
    return [f"{package.folder / run['file']}: {run['lines']} lines, {run['bytes']} bytes" for run in listed]


def _write_template(package: Package, runs: Sequence[CheckedRun]) -> str:
    """Write the form beside the package's folder unless it is there; return what is to be done with it."""
    path = package.folder.with_name(f"{package.folder.name}.{FORM}")
    written = not path.exists()
    if written:
        known = {run.tag: known_answers(run, package.track, package.team, package.reranks) for run in runs}
        write_bytes(path, template(known).encode())
    problem = f"metadata: none given, {path} is {'written for you' if written else 'there already'}"
    return f"{problem}; fill it in, then give it"


def _form_problems(package: Package, runs: Sequence[CheckedRun], entries: dict[str, Entry], form: Path) -> list[str]:
    known = {run.tag: known_answers(run, package.track, package.team, package.reranks) for run in runs}
    tags = sorted(run.tag for run in runs)
    problems = [f"{form}: no answers for run {tag}; add them" for tag in tags if tag not in entries]
    problems += [
        f"{form}: answers for {tag}, which is none of the runs; delete them" for tag in sorted(entries.keys() - tags)
    ]
    priorities: dict[int, str] = {}
    for tag in (tag for tag in tags if tag in entries):
        problems += [f"{form}, run {tag}: {problem}" for problem in form_problems(entries[tag], known[tag])]
        priority = entries[tag].get("priority")
        if not isinstance(priority, int) or isinstance(priority, bool) or priority < 1:
            problems.append(f"{form}, run {tag}: priority is {priority!r}, expected 1 for the first to be pooled, 2 …")
        elif priorities.setdefault(priority, tag) != tag:
            other = priorities[priority]
            problems.append(f"{form}, run {tag}: priority {priority} is {other}'s too; give each run another")
    return problems


def _add(part: Path, run: CheckedRun, entry: Entry) -> dict[str, Any]:
    """Copy a run under its tag, gzipped; return its entry in the manifest."""
    target = part / RUNS / f"{run.tag}.gz"
    target.parent.mkdir(exist_ok=True)
    with (
        target.open("wb") as stream,
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed,  # no name and no time: a run gives the same bytes
    ):
        packed.writelines(unpacked(run.path))
    return {
        "priority": entry["priority"],
        "run": run.tag,
        "file": f"{RUNS}/{target.name}",
        "sha256": digest(target),
        "bytes": target.stat().st_size,
        "lines": run.lines,
        "topics": len(run.topics),
        "documents": sum(run.topics.values()),
        "warnings": run.report.kinds(WARNING),
        "source": {"name": run.path.name, "sha256": digest(run.path)},
    }
