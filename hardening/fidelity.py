"""Write docs/fidelity.md: ``python -m hardening.fidelity``, from the ``golden`` markers of tests and the registry.

The markers are read from the tests' source, so nothing is imported and nothing runs. ``--check`` writes nothing and
fails where the page is not what it would be.
"""

import argparse
import ast
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hardening.lock import ROOT
from heed.models.registry.entries import FAMILIES, Model, Registry

PAGE = ROOT / "docs" / "fidelity.md"
TESTS = ROOT / "tests"
MARKER = "pytest.mark.golden"
HEAD = """\
# What Heed was compared with

Written by `python -m hardening.fidelity` from the tests that carry the marker `golden`; do not edit. Each of them
compares with what another program computes: one that is installed beside Heed runs in the test; what another one gave
is recorded in `tests/data/golden/`, with its version and the script that recorded it. They run on tiny weights, since
two programs differ in how they treat texts, tokens and numbers: no figure of real weights is compared here.

A **family** is compared from text to score: any model of it is computed as the other program computes it. A **system**
is compared by its entry: templates, lengths, tokens. What is *only read* was written from the source that its note
names, and no test compares it with that source; its family's comparisons hold for it. What is *named only* cannot run.
"""
FAMILY_HEAD = ["", "## Families", "", "| family | entries | compared with | what | test |", "|---|---|---|---|---|"]
SYSTEM_HEAD = ["", "## Systems", "", "| system | family | compared with | what | test |", "|---|---|---|---|---|"]
OTHER_HEAD = ["", "## Figures, runs and files", "", "| compared with | what | test |", "|---|---|---|"]


class Comparison(NamedTuple):
    """One marker: the test that carries it, the other program and version, what is compared, and of which systems.

    ``systems`` are names of families, of entries, and of entries with a preset; none where no system is compared.
    """

    place: str
    test: str
    program: str
    compared: str
    systems: tuple[str, ...]

    @property
    def cells(self) -> str:
        """Return program, what is compared and a link to the test's file as the cells of a row."""
        return f"{self.program} | {self.compared} | [{self.test}](../tests/{self.place.partition(':')[0]}) |"


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
    lines = [*FAMILY_HEAD]
    for family in FAMILIES:
        lines += _family_rows(family, found, [name for name, model in entries.items() if model.family == family])
    lines += SYSTEM_HEAD
    for name, model in entries.items():
        lines += _system_rows(name, model, found)
    others = [one for one in found if not one.systems]
    lines += [*OTHER_HEAD, *(f"| {one.cells}" for one in others)] if others else []
    return HEAD + "\n".join(lines) + "\n"


def _family_rows(family: str, found: Sequence[Comparison], entries: Sequence[str]) -> list[str]:
    rows = [f"| {family} | {len(entries)} | {one.cells}" for one in found if family in one.systems]
    alone = any(name.partition("@")[0] in entries for one in found for name in one.systems)
    return rows or [f"| {family} | {len(entries)} | *{'its systems alone, below' if alone else 'nothing'}* | | |"]


def _system_rows(name: str, model: Model, found: Sequence[Comparison]) -> list[str]:
    """Return the rows of an entry and its presets; presets that change nothing stand beside the entry's name."""
    family = model.family or "unknown"
    same = [preset for preset, fields in model.presets.items() if not fields]
    label = ", ".join([f"`{name}`", *(f"@{preset}" for preset in same)])
    rows = [f"| {label} | {family} | {one.cells}" for one in _of({name, *(f"{name}@{one}" for one in same)}, found)]
    if not rows:
        state = "named only" if model.status == "named" else "only read"
        rows = [f"| {label} | {family} | *{state}* | {_cell(model.note)} | |"]
    changed = [preset for preset in model.presets if preset not in same]
    unread = [preset for preset in changed if not _of({f"{name}@{preset}"}, found)]
    for preset in changed:
        own = _of({f"{name}@{preset}"}, found)
        rows += [f"| `{name}@{preset}` | {_family_of(model, preset)} | {one.cells}" for one in own]
    if unread:
        rows.append(f"| {', '.join(f'`{name}@{preset}`' for preset in unread)} | {family} | *only read* | | |")
    return rows


def _family_of(model: Model, preset: str) -> str:
    return model.preset(preset).family or "unknown"


def _of(names: Collection[str], found: Sequence[Comparison]) -> list[Comparison]:
    return [one for one in found if names & set(one.systems)]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


if __name__ == "__main__":
    raise SystemExit(main())
