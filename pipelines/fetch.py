"""Download a collection, or say how to get it; without a name, list all collections."""

import argparse

from heed.datasets.catalogue import Catalogue
from heed.datasets.fetchable import Holding, Repository, holdings, hub_download
from heed.downloads import Download, File, bytes_to_fetch, check, check_space
from heed.errors import SHOWN, DataError, UsageError, fail
from heed.files import free_space, size_text
from heed.progress import log, timed
from pipelines import as_started
from pipelines.command import main_of
from pipelines.options.data import catalogue_option
from pipelines.options.parser import command_parser

EXAMPLES = ("", "neuclir1 --lang fas --dry-run", "followir")
SUBSETS = 12  # that are listed by name


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed fetch``."""
    command = command_parser("fetch", "[COLLECTION]", __doc__, EXAMPLES)
    command.add_argument(
        "collection", nargs="?", metavar="COLLECTION", help="collection, or a group such as followir or infosearch"
    )
    command.add_argument(
        "--lang", action="append", metavar="LANG", help="language of the documents: zho or zh, fas, rus; repeatable"
    )
    command.add_argument(
        "--dry-run", action="store_true", help="print what would be downloaded, and download nothing; needs no network"
    )
    catalogue_option(command)
    return command


def _run(options: argparse.Namespace) -> None:
    catalogue = Catalogue(options.catalogue)
    if not options.collection:
        if options.lang or options.dry_run:
            raise UsageError("--lang and --dry-run need a collection; without either, all are listed")
        print("\n".join(_listing(catalogue)))
        return
    chosen = holdings(options.collection, options.lang or [], catalogue)
    planned = [(holding, *_downloads(holding, offline=options.dry_run)) for holding in chosen]
    if options.dry_run or not options.quiet:
        print("\n".join(line for parts in planned for line in _plan(*parts)), flush=True)
    check_space([download for _, downloads, _ in planned for download in downloads])
    if not options.dry_run:
        _fetch([(holding, downloads) for holding, downloads, _ in planned])


def _downloads(holding: Holding, *, offline: bool) -> tuple[list[Download], list[Repository]]:
    """Return all downloads of a collection; with ``offline`` data sets of a hub that is out of reach are the second."""
    downloads, unreachable = holding.known_downloads(), []
    for repository in holding.repositories():
        try:
            downloads.append(hub_download(repository))
        except DataError:
            if not offline:
                raise
            unreachable.append(repository)
    return downloads, unreachable


def _fetch(planned: list[tuple[Holding, list[Download]]]) -> None:
    """Fetch what is missing, check everything, print the commands that use it; raise for what only the user can do."""
    downloads = [download for _, of_holding in planned for download in of_holding]
    with timed("fetch") as work:
        for download in downloads:
            if download.missing:
                work.did(len(download.missing), "files")
                download.fetch(download.missing)
    with timed("check") as work:
        work.did(sum(len(download.files) for download in downloads), "files")
        fail(problem for download in downloads for problem in check(download))
    for holding, of_holding in planned:
        if of_holding:
            count = sum(len(download.files) for download in of_holding)
            log.info(f"{holding.title}: {count} files are here, their digests are right")
    fail(line for holding, _ in planned for line in _left_to_do(holding))
    for holding, _ in planned:
        print(as_started(holding.entry.use or f"heed trec --dataset {holding.name}"))


def _left_to_do(holding: Holding) -> list[str]:
    file, by_hand, problem = holding.file_by_hand(), holding.entry.by_hand, holding.problem_by_hand()
    if not file or not by_hand or not problem:
        return []
    return [f"{file.path.absolute()}: {problem} ({by_hand.why}); do this, then run again:", *by_hand.how]


def _plan(holding: Holding, downloads: list[Download], unreachable: list[Repository]) -> list[str]:
    """Return lines with what will be fetched, licence, sizes, where it goes and how much space is there."""
    entry = holding.entry
    lines = [f"{holding.title}: {entry.holds}"]
    facts = {"licence": entry.licence or "not known", "paper": entry.paper, "size": entry.size, "note": entry.note}
    lines += [f"  {name}: {text}" for name, text in facts.items() if text]
    if entry.embedded:
        lines.append("  it comes with Heed, so there is nothing to fetch")
    for download in downloads:
        lines += _download_lines(download)
    for repository in unreachable:
        files = f"files {', '.join(repository.patterns)}" if repository.patterns else "all files"
        lines.append(f"  {repository.name}, hub data set at {repository.revision}, to {repository.cache}")
        lines.append(f"    {files}; the hub, which knows their sizes, is out of reach")
    return lines + _by_hand_lines(holding)


def _download_lines(download: Download) -> list[str]:
    shown = download.files[:SHOWN]
    width = max(len(file.name) for file in shown)
    lines = [f"  {download.title}, to {download.root}"]
    lines += [f"    {file.name:<{width}}  {size_text(file.size):>34}  {_state(file)}" for file in shown]
    if len(download.files) > SHOWN:
        lines.append(f"    … and {len(download.files) - SHOWN} more files")
    missing, (_, free) = download.missing, free_space(download.root)
    total = f"to fetch: {len(missing)} of {len(download.files)} files, {size_text(bytes_to_fetch(missing))}"
    return [*lines, f"    {total}; {size_text(free)} free there"]


def _state(file: File) -> str:
    if file.path.is_file():
        return "here"
    return f"to fetch, from byte {file.fetched:,} on" if file.fetched else "to fetch"


def _by_hand_lines(holding: Holding) -> list[str]:
    file, by_hand = holding.file_by_hand(), holding.entry.by_hand
    if not file or not by_hand:
        return []
    here = file.path.exists()
    lines = [f"  {by_hand.why}: {file.path.absolute()}, {'here' if here else 'not here'}"]
    return lines if here else [*lines, *(f"    {line}" for line in by_hand.how)]


def _listing(catalogue: Catalogue) -> list[str]:
    """Return all collections, one a line: name, how it comes, licence, what it holds, how much, subsets."""
    rows = []
    for name, entry in catalogue.entries.items():
        variants = [Holding(*named) for named in catalogue.find(name, entry.languages)]
        subsets = f"; {len(variants)} subsets: {', '.join(entry.subsets)}" if entry.subsets else ""
        if len(entry.subsets) > SUBSETS:
            subsets = f"; {len(variants)} subsets, such as {', '.join(list(entry.subsets)[:SUBSETS])}"
        size = f" ({entry.size})" if entry.size else ""
        rows.append((name, _origin(variants[0]), entry.licence or "not known", f"{entry.holds}{size}{subsets}"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows]


def _origin(holding: Holding) -> str:
    """Return how a collection comes: hub, ir_datasets, licence, or several of them."""
    if holding.entry.embedded:
        return "embedded"
    origins = ["hub"] if holding.repositories() else []
    origins += ["ir_datasets"] if holding.files() else []
    origins += ["web"] if holding.pages() else []
    return " + ".join([*origins, holding.entry.by_hand.why] if holding.entry.by_hand else origins)


main = main_of(parser, _run)
