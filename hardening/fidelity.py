"""Write docs/fidelity.md: ``python -m hardening.fidelity``, from the ``golden`` markers of tests and the registry.

The markers are read from the tests' source, so nothing is imported and nothing runs. ``--check`` writes nothing and
fails where the page is not what it would be.
"""

import argparse
import ast
import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hardening.lock import ROOT
from heed.models.registry.entries import FAMILIES, Model, Registry

PAGE = ROOT / "docs" / "fidelity.md"
TESTS = ROOT / "tests"
MARKER = "pytest.mark.golden"
HEAD = """\
# Is a score what another program computes?

Each line of these tables is a test that compares Heed with another program. If that program can be installed beside
Heed, the test runs it. Otherwise its output was recorded once in `tests/data/golden/`, with its version and the script
that recorded it. How close two numbers must be stands in the test: for most scores of models, 1e-5 in float32.

Tests of models use tiny random weights. They show that texts, tokens and arithmetic are equal. They do not show that
published figures are reproduced: [`heed reproduce`](reports.md#the-papers-own-figures) runs published rows again.

## Measures, runs and files

pytrec-eval-terrier contains NIST's trec_eval, pyndeval its ndeval, pyserini Anserini.

| compared with | what is equal | test |
|---|---|---|
"""
UNCOMPARED = """
## What is compared with nothing

- The measures IRS, NFR, WISE, SICR, INSTFOL, WinRate, MonotonicOrder, FlipRate and selectivity. Their tests are
  calculated by hand from their equations.
- `polarity` and `decompose:`, which are Heed's own: no other program computes them.
"""
FAMILY_HEAD = """
## Families

A family is a kind of model, and is compared from text to score.

| family | systems | compared with | what is equal | test |
|---|---|---|---|---|
"""
SYSTEM_HEAD = """
## Systems

A system is an entry of the registry. What the entry decides is compared: templates, lengths, tokens. `NAME@followir` is
the model as the FollowIR paper ran it; so for the other papers, and `NAME@mteb` as MTEB runs it. *Only read* means: the
entry was written after the authors' code or card, and no test of its own compares it.

| system | family | compared with | what is equal | test | note |
|---|---|---|---|---|---|
"""
NAMED_HEAD = """
## Named in papers, and not runnable

"""
FOOT = """
<!-- Written by `python -m hardening.fidelity` from the golden markers of the tests and the registry; do not edit. -->
"""


class Comparison(NamedTuple):
    """One marker: the test that carries it, the other program and version, what is compared, and of which systems.

    ``systems`` are names of families, of entries, and of entries with a preset; none where no system is compared.
    """

    place: str
    test: str
    program: str
    compared: str
    systems: tuple[str, ...]


def main() -> int:
    """Write the page or compare it with what it should be; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hardening.fidelity", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    options = parser.parse_args()
    found, entries = comparisons(TESTS), Registry().entries
    wrong, text = problems(found, entries), page(found, entries)
    if options.check and (not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text):
        wrong.append(f"{PAGE.relative_to(ROOT)} is not up to date; write it with python -m hardening.fidelity")
    if not wrong and not options.check:
        PAGE.write_text(text, encoding="utf-8")
    print("\n".join(wrong) or f"{PAGE.relative_to(ROOT)}: {len(found)} comparisons")
    return 1 if wrong else 0


def comparisons(tests: Path) -> list[Comparison]:
    """Return the markers of all tests under ``tests``, by file and line; :class:`ValueError` where one is malformed."""
    return [one for path in sorted(tests.rglob("test_*.py")) for one in read_markers(path, tests)]


def read_markers(path: Path, tests: Path) -> Iterator[Comparison]:
    """Yield the markers of a file under ``tests``; their arguments are literals, or names of literals in the file."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    named = {
        target.id: node.value
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == MARKER:
                place = f"{path.relative_to(tests)}:{decorator.lineno}"
                yield Comparison(place, node.name, **_arguments(path, decorator, named))


class _Named(ast.NodeTransformer):
    """Replaces names by what the file gives them."""

    def __init__(self, named: Mapping[str, ast.expr]) -> None:
        self._named = named

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._named.get(node.id, node)


def _arguments(path: Path, call: ast.Call, named: Mapping[str, ast.expr]) -> dict[str, Any]:
    place = f"{path.name}, line {call.lineno}"
    try:
        given: dict[str | None, Any] = {
            one.arg: ast.literal_eval(_Named(named).visit(copy.deepcopy(one.value))) for one in call.keywords
        }
    except ValueError as error:
        raise ValueError(f"{place}: {MARKER} has an argument that is no literal") from error
    wanted = {"program": str, "compared": str, "systems": tuple}
    if call.args or {name: type(value) for name, value in given.items()} != wanted:
        raise ValueError(f"{place}: {MARKER} needs program=, compared= (texts) and systems= (a tuple)")
    return {name: given[name] for name in wanted}


def problems(found: Sequence[Comparison], entries: Mapping[str, Model]) -> list[str]:
    """Return which markers name no family, entry or preset that there is."""
    known = {*FAMILIES, *entries}
    known.update(f"{name}@{preset}" for name, model in entries.items() for preset in model.presets)
    return [
        f"tests/{one.place}: {name} is no family, model or preset of the registry"
        for one in found
        for name in one.systems
        if name not in known
    ]


def page(found: Sequence[Comparison], entries: Mapping[str, Model]) -> str:
    """Return the page's text."""
    running = {name: model for name, model in entries.items() if model.status != "named"}
    families = {family: [name for name, model in running.items() if model.family == family] for family in FAMILIES}
    rows_of_systems = [row for name, model in running.items() for row in _system_rows(name, model, found)]
    rows_of_families = [row for family, names in families.items() for row in _family_rows(family, names, found)]
    named = [f"- `{name}`: {_cell(model.note)}" for name, model in entries.items() if model.status == "named"]
    parts = (
        (HEAD, [_row(cells) for cells in _cells(one for one in found if not one.systems or "lexical" in one.systems)]),
        (UNCOMPARED, _uncompared(families, found)),
        (FAMILY_HEAD, rows_of_families),
        (SYSTEM_HEAD, rows_of_systems),
        (NAMED_HEAD, named),
    )
    return "".join(head + "".join(f"{line}\n" for line in lines) for head, lines in parts) + FOOT


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(found: Iterable[Comparison]) -> list[tuple[str, str, str]]:
    """Return program, what is equal, and links to the tests: one row for each program, in the order of the tests."""
    programs: dict[str, list[Comparison]] = {}
    for one in found:
        programs.setdefault(one.program, []).append(one)
    return [
        (program, *("; ".join(dict.fromkeys(texts)) for texts in ([one.compared for one in some], map(_link, some))))
        for program, some in programs.items()
    ]


def _link(one: Comparison) -> str:
    path = one.place.partition(":")[0]
    return f"[{Path(path).stem.removeprefix('test_')}](../tests/{path})"


def _uncompared(families: Mapping[str, Sequence[str]], found: Sequence[Comparison]) -> list[str]:
    """Return the lines about families of which nothing is compared, and how many systems are only read."""
    names = {name.partition("@")[0] for one in found for name in one.systems}
    without = [family for family, systems in families.items() if systems and not names & {family, *systems}]
    unread = sum(name not in names for systems in families.values() for name in systems)
    total = sum(map(len, families.values()))
    listed = ", ".join(f"{family} ({len(families[family])} systems)" for family in without)
    return [
        *([f"- The families {listed}: what such a server answers is not computed by Heed."] if without else []),
        f"- {unread} of {total} systems have no test of their own; their families have, except those above.",
    ]


def _family_rows(family: str, systems: Sequence[str], found: Sequence[Comparison]) -> list[str]:
    label = (family, str(len(systems)))
    rows = [_row((*label, *cells)) for cells in _cells(one for one in found if family in one.systems)]
    by_system = any(name.partition("@")[0] in systems for one in found for name in one.systems)
    return rows or [_row((*label, "*see its systems*" if by_system else "*nothing*", "", ""))]


def _system_rows(name: str, model: Model, found: Sequence[Comparison]) -> list[str]:
    """Return the rows of an entry and its presets; presets that change nothing stand beside the entry's name."""
    same = [preset for preset, fields in model.presets.items() if not fields]
    names = [name, *(f"{name}@{preset}" for preset in same)]
    label, note = ", ".join(f"`{one}`" for one in names), _cell(model.note)
    compared = _cells(_of(names, found)) or [("*only read*", "", "")]
    rows = [_row((label, model.family or "unknown", *cells, "" if i else note)) for i, cells in enumerate(compared)]
    unread: dict[str, list[str]] = {}
    for preset in model.presets:
        full, family = f"{name}@{preset}", _family_of(model, preset)
        cells_of_preset = _cells(_of([full], found))
        rows += [_row((f"`{full}`", family, *cells, "")) for cells in cells_of_preset if preset not in same]
        if not cells_of_preset and preset not in same:
            unread.setdefault(family, []).append(f"`{full}`")
    return rows + [_row((", ".join(presets), family, "*only read*", "", "", "")) for family, presets in unread.items()]


def _family_of(model: Model, preset: str) -> str:
    return model.preset(preset).family or "unknown"


def _of(names: Collection[str], found: Sequence[Comparison]) -> list[Comparison]:
    return [one for one in found if not set(names).isdisjoint(one.systems)]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


if __name__ == "__main__":
    raise SystemExit(main())
