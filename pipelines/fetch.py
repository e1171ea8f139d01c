"""Fetch a collection, and say how to get what cannot be fetched; without a name: what there is."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heed.errors import SHOWN, HeedError, fail
from pipelines.options import run_command, talk_options

if TYPE_CHECKING:
    from heed.datasets.downloads import File, Store
    from heed.datasets.fetchable import ByHand, Holding


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.fetch``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.fetch", description=__doc__)
    made.add_argument(
        "collection", nargs="?", metavar="COLLECTION", help="a collection, or a group of them as followir or infosearch"
    )
    made.add_argument(
        "--lang", action="append", metavar="LANG", help="language of the documents: zho, fas or rus; repeatable"
    )
    made.add_argument("--dry-run", action="store_true", help="tell what would be fetched, and fetch nothing")
    talk_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.downloads import check_space
    from heed.datasets.fetchable import holdings

    if not options.collection:
        if options.lang or options.dry_run:
            raise HeedError("--lang and --dry-run need a collection; without either, all are listed")
        print("\n".join(_listing()))
        return
    chosen = holdings(options.collection, options.lang or [])
    planned = [(one, one.stores()) for one in chosen]
    if options.dry_run or not options.quiet:
        print("\n".join(line for one, stores in planned for line in _plan(one, stores)), flush=True)
    check_space([store for _, stores in planned for store in stores])
    if options.dry_run:
        return
    _fetch(planned)


def _fetch(planned: "list[tuple[Holding, list[Store]]]") -> None:
    """Fetch what is missing, check everything, and tell what is still to be done, or the commands that use it."""
    from heed.datasets.downloads import check
    from heed.progress import log, timed

    with timed("fetch") as work:
        for _, stores in planned:
            for store in stores:
                if store.missing:
                    work.did(len(store.missing), "files")
                    store.fetch(store.missing)
    with timed("check") as work:
        work.did(sum(len(store.files) for _, stores in planned for store in stores), "files")
        fail(problem for _, stores in planned for store in stores for problem in check(store))
    for one, stores in planned:
        if stores:
            log.info(
                f"{_title(one)}: {sum(len(store.files) for store in stores)} files are here, their digests are right"
            )
    fail(line for one, _ in planned for line in _still_by_hand(one))
    for one, _ in planned:
        print(one.text("use"))


def _still_by_hand(one: "Holding") -> list[str]:
    by_hand = one.by_hand()
    problem = by_hand.problem() if by_hand else ""
    if not by_hand or not problem:
        return []
    return [f"{by_hand.file.path.absolute()}: {problem} ({by_hand.why}); do this, then run again:", *by_hand.how]


def _title(one: "Holding") -> str:
    return f"{one.name} {one.lang}".rstrip()


def _plan(one: "Holding", stores: "list[Store]") -> list[str]:
    """What will be fetched, with sizes, where it goes and how much space is there."""
    lines = [f"{_title(one)}: {one.text('holds')}"]
    if one.text("note"):
        lines.append(f"  note: {one.text('note')}")
    for store in stores:
        lines += _store_lines(store)
    by_hand = one.by_hand()
    return lines + (_by_hand_lines(by_hand) if by_hand else [])


def _store_lines(store: "Store") -> list[str]:
    from heed.datasets.downloads import free_space, to_come, told

    shown = store.files[:SHOWN]
    width = max(len(file.name) for file in shown)
    lines = [f"  {store.title}, to {store.root}"]
    lines += [f"    {file.name:<{width}}  {told(file.size):>34}  {_state(file)}" for file in shown]
    if len(store.files) > SHOWN:
        lines.append(f"    … and {len(store.files) - SHOWN} more files")
    missing, (_, free) = store.missing, free_space(store.root)
    total = f"to fetch: {len(missing)} of {len(store.files)} files, {told(to_come(missing))}"
    return [*lines, f"    {total}; {told(free)} free there"]


def _state(file: "File") -> str:
    if file.path.is_file():
        return "here"
    return f"to fetch, from byte {file.started:,} on" if file.started else "to fetch"


def _by_hand_lines(by_hand: "ByHand") -> list[str]:
    here = by_hand.file.path.exists()
    lines = [f"  {by_hand.why}: {by_hand.file.path.absolute()}, {'here' if here else 'not here'}"]
    return lines if here else [*lines, *(f"    {line}" for line in by_hand.how)]


def _listing() -> list[str]:
    """All collections, one a line: name, how it comes, what of it is here, what it holds."""
    from itertools import groupby

    from heed.datasets.fetchable import every_holding

    rows = []
    for name, group in groupby(every_holding(), key=lambda one: one.name):
        variants = list(group)
        found = {one.lang: _here(one) for one in variants}
        here = ", ".join(f"{lang} {state}".strip() for lang, state in found.items() if state) or "not here"
        rows.append((name, _way(variants[0]), here, variants[0].text("holds")))
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    return ["  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows]


def _way(one: "Holding") -> str:
    """How a collection comes: hub, ir_datasets, licence, or several of them."""
    by_hand = one.by_hand()
    ways = ["hub"] if one.repository() else []
    ways += ["ir_datasets"] if one.files() else []
    return " + ".join([*ways, by_hand.why] if by_hand else ways)


def _here(one: "Holding") -> str:
    """What of a collection is here, if anything; of a hub data set the number of files, for the hub is not asked."""
    repository, by_hand = one.repository(), one.by_hand()
    if repository:
        count = len(repository.files_here())
        return f"{count} files here" if count else ""
    paths = [file.path for file in one.files()] + ([by_hand.file.path] if by_hand else [])
    count = sum(path.exists() for path in paths)
    return "here" if count == len(paths) else f"{count} of {len(paths)} here" if count else ""


if __name__ == "__main__":
    sys.exit(main())
