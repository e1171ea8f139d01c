"""A track's package: runs named by their tags, the form, and a manifest with digests."""

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

from heed.errors import DataError, UsageError, fail
from heed.files import digest, finished_folder, locked, open_packed, read_bytes, write_bytes, write_json
from heed.progress import brief
from heed.submission.form import (
    Entry,
    as_yaml,
    contradicting_documents,
    form_problems,
    known_answers,
    read_form,
    template,
)
from heed.submission.run_names import parse_name
from heed.submission.run_report import WARNING, CheckedRun
from heed.submission.tracks import TRACKS

MANIFEST, FORM, RUNS = "manifest.json", "metadata.yml", "runs"
KIND = "heed submission"


class Package(NamedTuple):
    """A package's folder, track and team, and whether its runs are gzipped and rerank the official list."""

    folder: Path
    track: str
    team: str
    gzipped: bool
    reranks: bool = False


def write_package(package: Package, runs: Sequence[CheckedRun], forms: Sequence[Path]) -> list[str]:
    """Write the package of ``runs``, which have no errors, with the answers of ``forms``; return a line for each run.

    The same runs and answers give the same bytes, whatever the order of the arguments; the complete
    folder appears at once. Without ``forms`` a template is written beside the folder, and a
    :class:`UsageError` says so. Raises :class:`DataError` for answers that are missing or wrong, two runs
    of one tag, and a folder that holds anything but a package.
    """
    tags = [run.tag for run in runs]
    repeated = sorted({tag for tag in tags if tags.count(tag) > 1})
    fail(f"tag {tag}: two runs have it, and NIST takes a tag once; rename one" for tag in repeated)
    teams = sorted({parse_name(run.tag, package.team).team for run in runs if TRACKS[package.track].sources})
    if len(teams) > 1:
        raise DataError(f"found runs of the teams {', '.join(teams)}, expected one team; package them separately")
    _refuse_other_folder(package.folder)
    if not forms:
        _write_template(package, runs)
    entries = read_form(forms)
    fail(_form_problems(package, runs, entries, forms))
    by_priority = sorted(runs, key=lambda run: cast(int, entries[run.tag]["priority"]))
    with locked(package.folder.parent), finished_folder(package.folder) as part:
        listed = [_add(part, run, entries[run.tag], package.gzipped) for run in by_priority]
        write_bytes(part / FORM, as_yaml([entries[run.tag] for run in by_priority]))
        form = {"file": FORM, "sha256": digest(part / FORM)}
        head = {"track": package.track, "team": package.team or None, "form": form}
        write_json(part / MANIFEST, {"package": KIND, **head, "runs": listed})
    return [f"{package.folder / run['file']}: {run['lines']} lines, {run['bytes']} bytes" for run in listed]


def _refuse_other_folder(folder: Path) -> None:
    """Raise an error if the folder, which will be replaced, is anything but an earlier package."""
    if folder.name in ("", "..") or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"--submission {folder}: name a new folder for the package")
    inside = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    others = sorted(inside - _packaged(folder / MANIFEST))
    if others:
        raise DataError(f"{folder}: holds {brief(others)}, no part of a package; name a new folder, or move them")


def _packaged(manifest: Path) -> set[str]:
    """Return the files of the package that ``manifest`` describes; none if it is no manifest."""
    try:
        listed = json.loads(read_bytes(manifest))
        if listed["package"] != KIND:
            return set()
        return {MANIFEST, listed["form"]["file"], *(run["file"] for run in listed["runs"])}
    except (DataError, ValueError, KeyError, TypeError):
        return set()


def _write_template(package: Package, runs: Sequence[CheckedRun]) -> NoReturn:
    path = package.folder.with_name(f"{package.folder.name}.{FORM}")
    written = not path.exists()
    if written:
        known = {run.tag: known_answers(run, package.track, package.team, package.reranks) for run in runs}
        write_bytes(path, template(known).encode())
    problem = f"no --metadata: {path} is {'written for you' if written else 'there already'}"
    raise UsageError(f"{problem}; fill it in, then run again with --metadata {path}")


def _form_problems(
    package: Package, runs: Sequence[CheckedRun], entries: dict[str, Entry], forms: Sequence[Path]
) -> list[str]:
    where, tags = ", ".join(map(str, forms)), sorted(run.tag for run in runs)
    problems = [f"{where}: no answers for run {tag}; add them" for tag in tags if tag not in entries]
    problems += [
        f"{where}: answers for {tag}, which is none of the runs; delete them" for tag in entries if tag not in tags
    ]
    priorities: dict[int, str] = {}
    for run in sorted((run for run in runs if run.tag in entries), key=lambda run: run.tag):
        tag, entry, answers = run.tag, entries[run.tag], f"{where}, run {run.tag}"
        contradictions = form_problems(entry, package.track, package.team) or contradicting_documents(
            entry, run, package.track
        )
        problems += [f"{answers}: {problem}" for problem in contradictions]
        priority = entry.get("priority")
        if not isinstance(priority, int) or isinstance(priority, bool) or priority < 1:
            problems.append(f"{answers}: priority is {priority!r}, expected 1 for the first to be pooled, 2 …")
        elif priorities.setdefault(priority, tag) != tag:
            problems.append(f"{answers}: priority {priority} is {priorities[priority]}'s too; give each run another")
    return problems


def _add(part: Path, run: CheckedRun, entry: Entry, gzipped: bool) -> dict[str, Any]:
    """Copy a run under its tag; return its entry in the manifest."""
    target = part / RUNS / (f"{run.tag}.gz" if gzipped else run.tag)
    target.parent.mkdir(exist_ok=True)
    with open_packed(run.path) as source, target.open("wb") as stream:
        if gzipped:  # no time and no name inside: the same run gives the same bytes
            with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
                shutil.copyfileobj(source, packed)
        else:
            shutil.copyfileobj(source, stream)
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
