"""Test runs as NIST would, and more; write corrected copies; prepare a track's package of runs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import HeedError, fail
from heed.types import CONDITIONS
from heed.validation.track_rules import TRACKS
from pipelines.options import positive, run_command, talk_options

if TYPE_CHECKING:
    from heed.validation.run_rules import Checked, Rules
    from heed.validation.track_rules import Shape, Track


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.check``."""
    tracks = "; ".join(f"{name}: {track.about}" for name, track in TRACKS.items())
    made = argparse.ArgumentParser(prog="python -m pipelines.check", description=__doc__)
    made.add_argument("run", nargs="+", type=Path, metavar="RUN", help="TREC runs; .gz")
    rules = made.add_argument_group("rules")
    rules.add_argument("--track", choices=TRACKS, default="trec", help=f"whose rules (default trec): {tracks}")
    rules.add_argument("--depth", type=positive, metavar="N", help="documents a topic (default: the track's)")
    rules.add_argument(
        "--team", default="", metavar="NAME", help="the team's registered name, a part of NeuCLIR's tags"
    )
    rules.add_argument("--tag", default="", metavar="TAG", help="the tag that the run must have; --fix writes it")
    rules.add_argument("--named-as-tag", action="store_true", help="a file not named as its tag is an error")
    rules.add_argument("--topics", type=Path, metavar="PATH", help="topics in any form, or a list of ids")
    rules.add_argument("--condition", choices=CONDITIONS, help="the topics that can be asked so (default: all)")
    rules.add_argument(
        "--docs", nargs="+", default=[], metavar="[LANG=]PATH", help="the collection: .jsonl[.gz], folders, ids"
    )
    rules.add_argument(
        "--docids", nargs="+", default=[], metavar="[LANG=]PATH", help="its ids, one a line, or indexes/…/documents"
    )
    rules.add_argument("--docid-pattern", metavar="REGEX", help="what a whole docid looks like (default: the track's)")
    rules.add_argument("--reranking", type=Path, metavar="PATH", help="run or pool (.jsonl) that was to be reranked")
    output = made.add_argument_group("output")
    output.add_argument("--limit", type=positive, default=20, metavar="N", help="problems shown of a kind (default 20)")
    output.add_argument("--json", type=Path, metavar="FILE", help="write what was found to this file too")
    output.add_argument("--fix", metavar="PATH", help="write corrected copies into this folder, or one to this file")
    output.add_argument("--submission", type=Path, metavar="DIR", help="write a package of runs, form and manifest")
    output.add_argument(
        "--metadata", nargs="+", type=Path, default=[], metavar="FILE", help="the track's form, filled in: YAML or JSON"
    )
    output.add_argument("--no-gzip", action="store_true", help="leave the runs of the package uncompressed")
    talk_options(output)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.io.files import write_json
    from heed.progress import timed
    from heed.validation.run_checks import check_run

    fail(_contradictions(options))
    rules = _rules(options)
    found = []
    for path in options.run:
        with timed("check", path.name) as work:
            found.append(check_run(path, rules))
            work.did(found[-1].lines, "lines")
        _tell(found[-1])
    print(_not_tested(options, rules))
    if options.json:
        write_json(options.json, {"track": options.track, "runs": [one.as_data() for one in found]})
    if options.fix:
        _fix(options, rules, found)
        return
    wrong = [line for one in found for line in one.report.told("error")]
    if wrong:
        no_package = [f"{options.submission}: not written; mend the runs first"] if options.submission else []
        raise HeedError("\n".join(wrong + no_package))
    if options.submission:
        from heed.validation.submission import Package, write_package

        package = Package(options.submission, options.track, options.team, not options.no_gzip)
        for line in write_package(package, found, options.metadata):
            print(line)


def _contradictions(options: argparse.Namespace) -> list[str]:
    told = []
    if options.fix and options.submission:
        told.append("--fix with --submission: correct first, then package the corrected runs")
    if options.tag and len(options.run) > 1:
        told.append(f"--tag {options.tag} with {len(options.run)} runs: a tag names one run; give one")
    if options.condition and not options.topics:
        told.append(f"--condition {options.condition} without --topics: name the topics")
    if not options.submission and (options.metadata or options.no_gzip):
        told.append("--metadata and --no-gzip belong to --submission DIR")
    if options.submission and not TRACKS[options.track].form:
        tracks = ", ".join(name for name, track in TRACKS.items() if track.form)
        told.append(f"--submission for the track {options.track}: its form is not known; --track takes {tracks}")
    if options.submission and options.named_as_tag:
        told.append("--named-as-tag with --submission: a package names its files itself; leave it out")
    if options.team and not (TRACKS[options.track].sources or TRACKS[options.track].team_first):
        told.append(f"--team {options.team} for the track {options.track}: its tags carry no team's name; leave it out")
    if options.docid_pattern and (options.docs or options.docids):
        told.append("--docid-pattern with --docs or --docids: the documents themselves are known; leave it out")
    same = {path.resolve() for path in options.run}
    if len(same) < len(options.run):
        told.append(f"{len(options.run)} runs given, {len(options.run) - len(same)} of them again; name each once")
    return told


def _rules(options: argparse.Namespace) -> "Rules":
    from heed.validation.collection_ids import read_members
    from heed.validation.expected_topics import expected_topics
    from heed.validation.run_rules import Rules

    track = TRACKS[options.track]
    return Rules(
        track=track,
        depth=options.depth or track.depth,
        limit=options.limit,
        team=options.team,
        tag=options.tag,
        docid=_pattern(options.docid_pattern) if options.docid_pattern else None,
        topics=expected_topics(options.topics, options.condition) if options.topics else None,
        members=read_members(options.docs, options.docids) if options.docs or options.docids else None,
        candidates=_candidates(options.reranking) if options.reranking else None,
        file_name=_file_name(options, track),
    )


def _file_name(options: argparse.Namespace, track: "Track") -> str:
    """How bad another name than the tag is; a package names its files itself."""
    if options.submission:
        return ""
    return "error" if options.named_as_tag else "warning" if track.sources else ""


def _pattern(regex: str) -> "Shape":
    import re

    from heed.validation.track_rules import Shape

    try:
        re.compile(regex)
    except re.error as error:
        raise HeedError(
            f"--docid-pattern {regex}: not a regular expression ({error}); quote it for the shell"
        ) from error
    return Shape(regex, f"what --docid-pattern {regex} describes")


def _candidates(path: Path) -> dict[str, set[str]]:
    from heed.io.pools import read_pool
    from heed.io.run_formats import read_any_run

    is_pool = path.name.endswith((".jsonl", ".jsonl.gz"))
    lists = read_pool(path) if is_pool else read_any_run(path)
    return {qid: set(docids) for qid, docids in lists.items()}


def _tell(one: "Checked") -> None:
    from heed.progress import log

    for line in one.report.told("warning"):
        log.info(f"warning: {line}")
    found = "; ".join(_counted(one, what) for what in ("error", "warning") if one.report.count(what)) or "no problem"
    languages = ", ".join(f"{code} {times}" for code, times in one.languages.items() if code)
    spoken = f"; documents by language: {languages}" if languages else ""
    documents = sum(one.topics.values())
    print(f"{one.path}: tag {one.tag or '-'}, {len(one.topics)} topics, {documents} documents{spoken}: {found}")


def _counted(one: "Checked", severity: str) -> str:
    kinds, times = ", ".join(one.report.kinds(severity)), one.report.count(severity)
    return f"{times} {severity}{'s' if times > 1 else ''} ({kinds})"


def _not_tested(options: argparse.Namespace, rules: "Rules") -> str:
    """What needs an option to be tested, so that silence is not taken for a pass."""
    track = rules.track
    missing = [] if options.topics else ["topics that are missing (--topics)"]
    missing += [] if rules.members else ["membership of documents (--docs or --docids)"]
    missing += [] if options.team or not (track.sources or track.team_first) else ["the team's name (--team)"]
    return f"not tested: {'; '.join(missing)}" if missing else "all was tested that the track asks for"


def _fix(options: argparse.Namespace, rules: "Rules", found: "Sequence[Checked]") -> None:
    from heed.validation.run_fixes import fix_run

    targets = _targets(options, rules, found)
    refused = []
    for one, target in zip(found, targets, strict=True):
        try:
            _, done = fix_run(one.path, target, rules)
            print(f"{target}: {'; '.join(done) or 'nothing to mend, copied'}")
        except HeedError as error:
            refused.append(str(error))
    if refused:
        raise HeedError("\n".join(refused))


def _targets(options: argparse.Namespace, rules: "Rules", found: "Sequence[Checked]") -> list[Path]:
    """Where corrected copies go: into a folder under their own names or, where the track wants it, their tags."""
    import re

    place = Path(options.fix)
    if len(found) == 1 and not place.is_dir() and not options.fix.endswith("/"):
        return [place]
    names = []
    for one in found:
        tag, suffix = options.tag or one.tag, ".gz" if one.path.suffix == ".gz" else ""
        named = rules.file_name and re.fullmatch(rules.track.tag.pattern, tag)
        names.append(f"{tag}{suffix}" if named else one.path.name)
    fail(f"--fix {place}: two runs would be written to {name}; correct them one by one" for name in _twice(names))
    return [place / name for name in names]


def _twice(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


if __name__ == "__main__":
    sys.exit(main())
