"""A track's package: runs named by their tags, the form, and a manifest with digests."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from heed.addons.submission.form import Entry, as_yaml, form_problems, known_answers, read_form, template
from heed.addons.submission.run_names import parse_name
from heed.addons.submission.run_report import WARNING, CheckedRun
from heed.addons.submission.tracks import TRACKS
from heed.errors import DataError, UsageError, fail
from heed.files import digest, finished_folder, locked, unpacked, write_bytes, write_json

MANIFEST, FORM, RUNS = "manifest.json", "metadata.yml", "runs"


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
    missing or wrong, and for two runs of one tag.
    """
    tags = [run.tag for run in runs]
    repeated = sorted({tag for tag in tags if tags.count(tag) > 1})
    fail(f"tag {tag}: two runs have it, and NIST takes a tag once; rename one" for tag in repeated)
    teams = sorted({parse_name(run.tag, package.team).team for run in runs if TRACKS[package.track].sources})
    if len(teams) > 1:
        raise DataError(f"found runs of the teams {', '.join(teams)}, expected one team; package them separately")
    if package.folder.exists() or package.folder.name in ("", ".."):
        raise UsageError(f"submission: {package.folder} is there already; name a new folder, or delete it")
    if not form:
        raise UsageError(_write_template(package, runs))
    entries = read_form(form)
    fail(_form_problems(runs, entries, form))
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


def _form_problems(runs: Sequence[CheckedRun], entries: dict[str, Entry], form: Path) -> list[str]:
    tags = sorted(run.tag for run in runs)
    problems = [f"{form}: no answers for run {tag}; add them" for tag in tags if tag not in entries]
    problems += [
        f"{form}: answers for {tag}, which is none of the runs; delete them" for tag in sorted(entries.keys() - tags)
    ]
    priorities: dict[int, str] = {}
    for tag in (tag for tag in tags if tag in entries):
        problems += [f"{form}, run {tag}: {problem}" for problem in form_problems(entries[tag])]
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
