"""Check runs as NIST does, and more; write corrected copies; make the package that a track asks for."""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from heed.addons.submission.expected import Rules, expected_topics, read_candidates, read_collection_ids
from heed.addons.submission.package import Package, write_package
from heed.addons.submission.run_checks import check_run, check_tags
from heed.addons.submission.run_fixes import fix_run
from heed.addons.submission.run_report import CheckedRun
from heed.addons.submission.tracks import TRACKS
from heed.errors import DataError, HeedError, UsageError, fail
from heed.files import write_json
from heed.progress import timed, warn
from heed.types import CONDITIONS
from pipelines.command import main_of
from pipelines.options.data import data_options
from pipelines.options.output import json_option
from pipelines.options.parser import command_parser, listed, positive

EXAMPLES = (
    "runs/neuclir-sample/zho/*.run --topics topics/neuclir-sample/zho.jsonl",
    "mine.run --track neuclir-2023 --team acme --topics topics.jsonl --docs zho=zho.ids",
    "mine.run --topics topics.jsonl --fix fixed/",
    "mine.run --track neuclir-2023 --team acme --submission package --metadata form.yml",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed check``."""
    tracks = listed({name: track.about for name, track in TRACKS.items()})
    command = command_parser("check", "RUN…", __doc__, EXAMPLES)
    command.add_argument("run", nargs="+", type=Path, metavar="RUN", help="TREC run; .gz")
    rules = command.add_argument_group("rules")
    rules.add_argument(
        "--track", choices=TRACKS, default="trec", metavar="NAME", help=f"rules of this track (default trec):{tracks}"
    )
    rules.add_argument("--depth", type=positive, metavar="N", help="most documents per topic (default: the track's)")
    rules.add_argument(
        "--team", default="", metavar="NAME", help="registered name of the team, a part of NeuCLIR's tags"
    )
    rules.add_argument("--tag", default="", metavar="TAG", help="tag that the run must have; --fix writes it")
    rules.add_argument("--named-as-tag", action="store_true", help="refuse a file that is not named as its tag")
    rules.add_argument("--topics", type=Path, metavar="PATH", help="topics in any form, or a list of their ids")
    data_options(rules, "topics_format")
    rules.add_argument("--condition", choices=CONDITIONS, help="expect topics with this condition only (default: all)")
    rules.add_argument(
        "--docs",
        nargs="+",
        default=[],
        metavar="[LANG=]PATH",
        help="documents: .jsonl, folders, indexes/…/documents, or lists of docids, one a line",
    )
    rules.add_argument("--reranking", type=Path, metavar="PATH", help="run or pool (.jsonl) that was to be reranked")
    output = command.add_argument_group("output")
    output.add_argument(
        "--limit", type=positive, default=20, metavar="N", help="problems of a kind to print (default 20)"
    )
    json_option(output)
    output.add_argument("--fix", metavar="PATH", help="write corrected copies into this folder, or one to this file")
    output.add_argument("--submission", type=Path, metavar="DIR", help="write a package of runs, form and manifest")
    output.add_argument("--metadata", type=Path, metavar="FORM", help="form of the track, filled in: YAML or JSON")
    return command


def _run(options: argparse.Namespace) -> None:
    fail(_contradictions(options), UsageError)
    rules = _rules(options)
    runs = [_checked(path, rules) for path in options.run]
    check_tags(runs, rules.track)
    for run in runs:
        for message in run.report.messages("warning"):
            warn(message)
        print(run.as_text())
    print("\n".join(_not_checked(options, rules, runs)))
    if options.json:
        write_json(options.json, {"track": options.track, "runs": [run.as_data() for run in runs]})
    if options.fix:
        _fix(options, rules, runs)
        return
    errors = [message for run in runs for message in run.report.messages("error")]
    if errors:
        no_package = [f"{options.submission}: not written; fix the runs first"] if options.submission else []
        fixable = ["fixable: --fix PATH writes corrected copies"] if "fixable" in "".join(errors) else []
        raise DataError("\n".join(errors + no_package + fixable))
    if options.submission:
        package = Package(options.submission, options.track, options.team, reranks=bool(options.reranking))
        for line in write_package(package, runs, options.metadata):
            print(line)


def _checked(path: Path, rules: Rules) -> CheckedRun:
    with timed("check", path.name) as work:
        run = check_run(path, rules)
        work.did(run.lines, "lines")
    return run


def _contradictions(options: argparse.Namespace) -> list[str]:
    problems = []
    track = TRACKS[options.track]
    if options.fix and options.submission:
        problems.append("--fix with --submission: correct first, then package the corrected runs")
    if options.tag and len(options.run) > 1:
        problems.append(f"--tag {options.tag} with {len(options.run)} runs: a tag names one run; give one")
    if len(options.tag.split()) > 1:
        problems.append(f"--tag {options.tag!r}: found blanks, expected one word")
    for option in ("condition", "topics_format"):
        if (chosen := getattr(options, option)) and not options.topics:
            problems.append(f"--{option.replace('_', '-')} {chosen} without --topics: give the topics")
    if options.metadata and not options.submission:
        problems.append("--metadata belongs to --submission DIR")
    if options.submission and not track.form:
        tracks = ", ".join(name for name, entry in TRACKS.items() if entry.form)
        problems.append(f"--submission for the track {options.track}: its form is not known; --track takes {tracks}")
    return problems


def _rules(options: argparse.Namespace) -> Rules:
    track = TRACKS[options.track]
    return Rules(
        track=track,
        depth=options.depth or track.depth,
        limit=options.limit,
        team=options.team,
        tag=options.tag,
        topics=expected_topics(options.topics, options.condition, options.topics_format) if options.topics else None,
        collection=read_collection_ids(options.docs) if options.docs else None,
        candidates=read_candidates(options.reranking) if options.reranking else None,
        # a package names its files by tag anyway
        file_name="error" if options.named_as_tag else "warning" if track.sources and not options.submission else "",
    )


def _not_checked(options: argparse.Namespace, rules: Rules, runs: Sequence[CheckedRun]) -> Iterator[str]:
    """Yield what was not checked and which rules are not known, so that silence is not read as a pass."""
    track = rules.track
    missing = [f"{run.unread}, which cannot be read" for run in runs if run.unread]
    missing += [] if options.topics else ["topics that are missing or not the track's (--topics)"]
    missing += [] if rules.collection else ["membership of documents (--docs)"]
    if options.team and not track.names_team:
        missing.append(f"--team {options.team}: no rule of {options.track} asks for a team's name in a tag")
    elif track.names_team and not options.team:
        missing.append("the team's name (--team)")
    known = f"checked all rules of {options.track} that are known" if track.unknown else "checked all the track's rules"
    yield f"not checked: {'; '.join(missing)}" if missing else known
    if track.unknown:
        yield f"not known, so not checked: {track.unknown}; see the track's guidelines"


def _fix(options: argparse.Namespace, rules: Rules, runs: Sequence[CheckedRun]) -> None:
    refused = []
    for run, target in zip(runs, _targets(options, rules, runs), strict=True):
        try:
            changes = fix_run(run, target, rules)
            print(f"{target}: {'; '.join(changes) or 'nothing to fix, copied'}")
        except HeedError as error:
            refused.append(str(error))
    if refused:
        raise DataError("\n".join(refused))


def _targets(options: argparse.Namespace, rules: Rules, runs: Sequence[CheckedRun]) -> list[Path]:
    """Return where corrected copies go: into a folder under their names or, where the track needs it, their tags."""
    folder = Path(options.fix)
    if len(runs) == 1 and not folder.is_dir() and not options.fix.endswith("/"):
        return [folder]
    names = []
    for run in runs:
        tag, suffix = options.tag or run.tag, ".gz" if run.path.suffix == ".gz" else ""
        by_tag = rules.file_name and re.fullmatch(rules.track.tag.pattern, tag)
        names.append(f"{tag}{suffix}" if by_tag else run.path.name)
    repeated = sorted({name for name in names if names.count(name) > 1})
    problems = [f"--fix {folder}: two runs would be written to {name}; correct them one by one" for name in repeated]
    fail(problems, UsageError)
    return [folder / name for name in names]


main = main_of(parser, _run)
