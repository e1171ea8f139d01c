"""Write docs/fidelity.md: ``python -m hardening.fidelity``, from the ``golden`` markers of tests and the registry.

The markers are read from the tests' source, so nothing is imported and nothing runs. ``--check`` writes nothing and
fails where the page is not what it would be.
"""

import argparse
import ast
import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hardening.lock import ROOT
from heed.addons.published.figures import read_paper
from heed.models.registry.entries import AUTHOR, FAMILIES, Model, Registry

PAGE = ROOT / "docs" / "fidelity.md"
TESTS = ROOT / "tests"
MARKER = "pytest.mark.golden"
MEASURES = ("nDCG@10", "nDCG@20", "R@100")  # the columns of these figures
FIGURES = Path(__file__).with_name("real_figures.json")  # measured by heed reproduce mteb, by hand
HEAD = """\
# Is a score what another program computes?

## Run with real weights

`make real` brings these weights. Figures are times 100. Beside ours stands the published one in brackets, which
[`heed reproduce mteb`](reports.md#the-papers-own-figures) compares again.

| weights | collection | nDCG@10 | nDCG@20 | R@100 | |
|---|---|---|---|---|---|
"""
REAL = """
With the same weights `make real-test` compares, to 1e-5:

"""
CHECKED = """
## Checked on tiny weights, or none

Each line is of tests with the marker `golden`, against the program or its recorded output in `tests/data/golden/`.
Most scores of models must be equal to 1e-5 in float32. Tiny random weights show that texts, tokens and arithmetic are
equal, not that published figures are reproduced. pytrec-eval-terrier contains NIST's trec_eval, pyndeval its ndeval,
pyserini Anserini.
"""
MODELS = """
### Models, by family

"""
OTHERS = """
### Measures, runs and files

"""
UNCOMPARED = """
## What is compared with nothing

- The measures IRS, NFR, WISE, SICR, INSTFOL, WinRate, MonotonicOrder, FlipRate and selectivity. Their tests are
  calculated by hand from their equations.
- `polarity` and `decompose:`, which are Heed's own: no other program computes them.
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
    wrong, text = problems(found, entries), page(found, entries, json.loads(FIGURES.read_text(encoding="utf-8")))
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


def page(found: Sequence[Comparison], entries: Mapping[str, Model], figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the page's text; ``figures`` are those measured with real weights."""
    running = {name: model for name, model in entries.items() if model.status != "named"}
    groups: dict[tuple[str, str], list[Comparison]] = {}
    real = [one for one in found if one.place.startswith("real/")]
    for one in found:
        if one not in real:
            groups.setdefault((_what(one, running), one.program), []).append(one)
    equal = {group: "; ".join(dict.fromkeys(one.compared for one in some)) for group, some in sorted(groups.items())}
    models = [f"- **{family}**, {program}: {texts}" for (family, program), texts in equal.items() if family]
    others = [f"- {program}: {texts}" for (family, program), texts in equal.items() if not family]
    compared = [f"- {one.compared}: {one.program}" for one in real]
    parts = (
        (HEAD, _figure_rows(figures)),
        *([(REAL, compared)] if compared else []),
        (CHECKED, []),
        (MODELS, models),
        (OTHERS, others),
        (UNCOMPARED, _uncompared(running, found)),
    )
    return "".join(head + "".join(f"{line}\n" for line in lines) for head, lines in parts) + FOOT


def _figure_rows(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a row for each model, with MTEB's figures; :class:`KeyError` where MTEB has none of the model named."""
    published = {(row.model, row.subset, row.measure): row.value for row in read_paper("mteb").tables[0].rows}
    rows = []
    for one in figures:
        cells = [f"`{one['weights']}`", one["collection"]]
        for measure in MEASURES:
            printed = f" ({published[one['model'], one['collection'], measure]})" if one["model"] else ""
            cells.append(f"{one['ours'][measure]}{printed}")
        rows.append(_row((*cells, one["why"])))
    return rows


def _what(one: Comparison, entries: Mapping[str, Model]) -> str:
    """Return the families of a comparison's systems; nothing where it is not of models."""
    if not one.systems or "lexical" in one.systems:
        return ""
    names = (name.partition("@") for name in one.systems)
    families = (
        name if name in FAMILIES else entries[name].preset(preset or AUTHOR).family for name, _, preset in names
    )
    return ", ".join(dict.fromkeys(family or "unknown" for family in families))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _uncompared(entries: Mapping[str, Model], found: Sequence[Comparison]) -> list[str]:
    """Return the lines about families of which nothing is compared, and about systems that are only read."""
    compared = {name.partition("@")[0] for one in found for name in one.systems}
    families = {family: [name for name, model in entries.items() if model.family == family] for family in FAMILIES}
    without = {family: names for family, names in families.items() if names and not compared & {family, *names}}
    listed = ", ".join(f"{family} ({len(names)} systems)" for family, names in without.items())
    unread = [f"`{name}`" for name in entries if name not in compared]
    return [
        *([f"- The families {listed}: what such a server answers is not computed by Heed."] if without else []),
        f"- {len(unread)} of {len(entries)} systems have no test of their own; their families have, except those above."
        f" Their entries only follow the authors' code or card: {', '.join(unread)}.",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
