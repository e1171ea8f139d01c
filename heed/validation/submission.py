"""A track's package: the runs under their tags, the form, and a manifest with digests."""

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from heed.errors import HeedError, fail
from heed.io.files import digest, finished_folder, locked, open_packed, read_bytes, write_bytes, write_json
from heed.progress import brief
from heed.validation.run_report import WARNING
from heed.validation.run_rules import Checked
from heed.validation.run_tag import parse_name
from heed.validation.submission_form import Entry, as_yaml, form_problems, read_form, template
from heed.validation.track_rules import TRACKS

MANIFEST, FORM, RUNS = "manifest.json", "metadata.yml", "runs"
KIND = "heed submission"


class Package(NamedTuple):
    """Where a package goes, of which track and team, and whether its runs are gzipped."""

    folder: Path
    track: str
    team: str
    gzipped: bool


def write_package(package: Package, runs: Sequence[Checked], forms: Sequence[Path]) -> list[str]:
    """Write the package of ``runs``, which have no errors, with the answers of ``forms``; gives back what to tell.

    The same runs and answers give the same bytes, whatever the order of the arguments; the whole
    folder appears at once. Without ``forms`` a template is written beside the folder, and a
    :class:`HeedError` says so. Raises it too for answers that are missing or wrong, two runs
    of one tag, and a folder that holds anything but a package.
    """
    twice = sorted({one.tag for one in runs if [other.tag for other in runs].count(one.tag) > 1})
    fail(f"tag {tag}: two runs have it, and NIST takes a tag once; rename one" for tag in twice)
    fail(_teams(package, runs))
    _refuse_other_folder(package.folder)
    if not forms:
        _leave_template(package, [one.tag for one in runs])
    entries = read_form(forms)
    fail(_form_problems(package, runs, entries, forms))
    in_order = sorted(runs, key=lambda one: cast(int, entries[one.tag]["priority"]))
    with locked(package.folder.parent), finished_folder(package.folder) as part:
        listed = [_add(part, one, entries[one.tag], package.gzipped) for one in in_order]
        write_bytes(part / FORM, as_yaml([entries[one.tag] for one in in_order]))
        form = {"file": FORM, "sha256": digest(part / FORM)}
        head = {"track": package.track, "team": package.team or None, "form": form}
        write_json(part / MANIFEST, {"package": KIND, **head, "runs": listed})
    return [f"{package.folder / one['file']}: {one['lines']} lines, {one['bytes']} bytes" for one in listed]


def _teams(package: Package, runs: Sequence[Checked]) -> list[str]:
    teams = sorted({parse_name(one.tag, package.team).team for one in runs if TRACKS[package.track].sources})
    return [f"found runs of the teams {', '.join(teams)}, expected one team; package them apart"] if teams[1:] else []


def _refuse_other_folder(folder: Path) -> None:
    """What stands at the place of the package is taken away: it must be an earlier package, and no more."""
    if folder.name in ("", "..") or (folder.exists() and not folder.is_dir()):
        raise HeedError(f"--submission {folder}: name a new folder for the package")
    inside = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    others = sorted(inside - _packaged(folder / MANIFEST))
    if others:
        raise HeedError(f"{folder}: holds {brief(others)}, no part of a package; name a new folder, or move them")


def _packaged(manifest: Path) -> set[str]:
    """The files of the package that ``manifest`` describes; none if it is no such file."""
    try:
        listed = json.loads(read_bytes(manifest))
        if listed["package"] != KIND:
            return set()
        return {MANIFEST, listed["form"]["file"], *(one["file"] for one in listed["runs"])}
    except (HeedError, ValueError, KeyError, TypeError):
        return set()


def _leave_template(package: Package, tags: Sequence[str]) -> None:
    path = package.folder.with_name(f"{package.folder.name}.{FORM}")
    if not path.exists():
        write_bytes(path, template(tags, package.track, package.team).encode())
        raise HeedError(f"no --metadata: {path} is written for you; fill it in, then run again with --metadata {path}")
    raise HeedError(f"no --metadata: {path} is there already; fill it in, then run again with --metadata {path}")


def _form_problems(
    package: Package, runs: Sequence[Checked], entries: dict[str, Entry], forms: Sequence[Path]
) -> list[str]:
    where, tags = ", ".join(map(str, forms)), sorted(one.tag for one in runs)
    problems = [f"{where}: no answers for run {tag}; add them" for tag in tags if tag not in entries]
    problems += [
        f"{where}: answers for {tag}, which is none of the runs; delete them" for tag in entries if tag not in tags
    ]
    wished: dict[int, str] = {}
    for tag in sorted(entries.keys() & set(tags)):
        problems += [f"{where}, run {tag}: {told}" for told in form_problems(entries[tag], package.track, package.team)]
        priority = entries[tag].get("priority")
        if not isinstance(priority, int) or isinstance(priority, bool) or priority < 1:
            problems.append(f"{where}, run {tag}: priority is {priority!r}, expected 1 for the first to be pooled, 2 …")
        elif wished.setdefault(priority, tag) != tag:
            problems.append(f"{where}, run {tag}: priority {priority} is {wished[priority]}'s too; give each its own")
    return problems


def _add(part: Path, run: Checked, entry: Entry, gzipped: bool) -> dict[str, Any]:
    """Copy one run under its tag; gives back its line of the manifest."""
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
