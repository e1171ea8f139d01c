import json
import re
from collections import defaultdict
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
from conftest import Heed

from heed.addons.published.figures import Figure, Paper, as_rows, find_table, read_paper, select
from heed.errors import UsageError
from heed.types import PAPERS

COMMAND = "pipelines.published"
TABLES = [(key, table.table) for key in PAPERS for table in read_paper(key).tables]
PARTS = {  # subsets of a printed average
    **{"followir": 3, "mfollowir": 3, "followtable": 4, "infosearch": 6},
    **{"modern": 3, "mteb": 3},
}
WHOLE = {"average", "total", "all", "sample"}
ROUNDING = 0.1 + 1e-6  # ×100: half a last place of an average, and half a last place of its parts

# of json.dumps(tables, sort_keys=True) of the files as they were transcribed and checked, so that no digit changes
DIGESTS = {
    "followir": "4208e228afba77be",
    "mfollowir": "5f3dd74a5c5b93b2",
    "followtable": "cf5a3693101124a2",
    "infosearch": "22d0c391faf991fc",
    "modern": "22e7e0c78dc2bcca",
    "mteb": "ad3881e559e079a5",
}


@pytest.mark.parametrize("key", PAPERS)
def test_no_digit_of_a_table_has_changed(key: str) -> None:
    tables = json.loads((files("heed.addons.published") / f"{key}.json").read_text(encoding="utf-8"))["tables"]
    assert sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()[:16] == DIGESTS[key]


def test_all_tables_are_here() -> None:
    counts = {key: sum(len(table.rows) for table in read_paper(key).tables) for key in PAPERS}
    assert (counts.pop("modern"), counts.pop("mteb"), sum(counts.values()), len(TABLES)) == (7, 15, 2636, 26)


@pytest.mark.parametrize("key", PAPERS)
def test_averages_are_those_of_their_parts_or_marked(key: str) -> None:
    paper = read_paper(key)
    parts: dict[tuple[object, ...], dict[str, list[tuple[str, Figure]]]] = defaultdict(lambda: defaultdict(list))
    for table in paper.tables:
        for row in table.rows:
            if row.system and row.subset not in WHOLE and row.benchmark == key:
                parts[_figure(key, row)][row.subset].append((table.table, row))
    checked = 0
    for table in paper.tables:
        for row in table.rows:
            held = parts[_figure(key, row)]
            own = [part for listed in held.values() for where, part in listed if where == table.table]
            used = own or [listed[-1][1] for listed in held.values()]  # else those of the appendix, the last
            if row.subset == "average" and len(used) == PARTS[key]:
                mean = sum(map(_times_100, used)) / len(used)
                near = abs(mean - _times_100(row)) <= ROUNDING
                assert near or any(part.doubtful for part in (row, *used)), (table.table, row)
                checked += 1
    averages = {"followir": 49, "mfollowir": 72, "followtable": 64, "infosearch": 126, "modern": 0, "mteb": 0}
    assert checked == averages[key]


def _figure(key: str, row: Figure) -> tuple[object, ...]:
    measure = "Score" if key == "followir" and row.measure in ("AP", "nDCG@5") else row.measure
    return row.model or row.system, row.setting, row.condition, measure


def _times_100(row: Figure) -> float:
    return row.value * (100 if row.unit == "1" and row.measure.startswith("nDCG") else 1)


@pytest.mark.parametrize("key", PAPERS)
def test_a_figure_printed_twice_is_the_same_or_marked(key: str) -> None:
    printed: dict[tuple[object, ...], list[Figure]] = defaultdict(list)
    for table in read_paper(key).tables:
        for row in table.rows:
            if row.system:
                who = row.model or row.system
                printed[who, row.benchmark, row.subset, row.setting, row.condition, row.measure].append(row)
    for rows in printed.values():
        assert len({row.value for row in rows}) == 1 or any(row.doubtful for row in rows), rows
        assert all(bool(row.doubtful) == bool(row.why) for row in rows)


@pytest.mark.parametrize(("key", "name"), TABLES)
def test_every_figure_of_a_table_is_printed_in_its_system_s_line(key: str, name: str) -> None:
    paper = read_paper(key)
    table = find_table(paper, name)
    lines = str(table).splitlines()
    figures: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for row in table.rows:
        figures[row.group, row.system or row.subset].append(f"{row.value}{'*' * row.doubtful}")
    body = [line for line in lines[1:] if any(f"{system}" in line for _, system in figures)]
    for (_, system), values in figures.items():
        assert any(_holds(line, system, values) for line in body), (system, values)


def _holds(line: str, system: str, values: list[str]) -> bool:
    cells = [cell.rstrip("†") for cell in line.split()]
    return system in line and all(values.count(value) <= cells.count(value) for value in values)


def test_a_table_stands_as_the_paper_has_it(heed: Heed) -> None:
    """Rows and heads of FollowTable's Table 5 for one system and of FollowIR's Table 3 for another, by hand."""
    result = heed(COMMAND, "followtable", "--table", "Table 5", "--system", "rank1 (7b)")
    assert result.stdout.splitlines()[1:4] == [
        "                                 query  original  query>original",
        "group              system      nDCG@10   nDCG@10           p-MRR   IRS  relative time",
        "General Rerankers  Rank1 (7B)     83.1      79.0            18.3  46.3           403†",
    ]


def test_a_notebook_shows_a_table_with_one_head() -> None:
    """The same table as above."""
    paper = read_paper("followtable")
    table, *_ = select([find_table(paper, "5")], system="rank1 (7b)")
    assert repr(table) == "Table(Table 5: Rerankers on FollowTable, averages and time; 5 figures)"
    assert len(repr(paper)) < 2000
    pair = "query&gt;original"
    assert re.findall(r"<t[hd] [^>]*>([^<]*)</", table._repr_html_()) == [
        *("group", "system", "query nDCG@10", "original nDCG@10", f"{pair} p-MRR", f"{pair} IRS", "relative time"),
        *("General Rerankers", "Rank1 (7B)", "83.1", "79.0", "18.3", "46.3", "403†"),
    ]


def test_a_doubtful_figure_is_marked_with_the_reason(heed: Heed) -> None:
    result = heed(COMMAND, "infosearch", "--table", "3", "--system", "bm25", "--subset", "source", "--measure", "WISE")
    assert result.stdout.splitlines()[1:] == [
        "system   WISE",
        "BM25    1.97*",
        "* Table 20 prints -9.4, and the average -12.0 of this row needs -9.4 "
        "(BM25 source query>original>reversed WISE)",
    ]


def test_the_figures_are_written_as_data(heed: Heed, tmp_path: Path) -> None:
    chosen = "mfollowir --table 4 --system jhu-clsp/FollowIR-7B --subset zho --measure p-MRR --json rows.json"
    assert heed(COMMAND, *chosen.split()).returncode == 0
    [row] = json.loads((tmp_path / "rows.json").read_text())
    fixed = {"paper": "mfollowir", "table": "Table 4", "system": "FollowIR-7B", "model": "jhu-clsp/FollowIR-7B"}
    where = {"benchmark": "mfollowir", "subset": "zho", "setting": "xx-xx", "condition": "original>changed"}
    assert {**fixed, **where, "measure": "p-MRR", "value": 6.7, "unit": "x100"}.items() <= row.items()


@pytest.mark.parametrize("key", PAPERS)
def test_every_row_of_the_data_has_its_figure(key: str) -> None:
    """A figure of 0 is one, which 52 rows of FollowIR's, mFollowIR's and InfoSearch's tables print."""
    paper: Paper = read_paper(key)
    printed = [row.value for table in paper.tables for row in table.rows]
    assert [row["value"] for row in as_rows(paper, paper.tables)] == printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("followir", "--table", "9"), "9: no table of FollowIR; expected one of Table 1, Table 2"),
        (("followir", "--table", "Table 6"), "Table 6 of FollowIR: not here: "),
        (("followtable", "--system", "BM52"), "system BM52: not in these tables; did you mean BM25?"),
        (("followtable", "--subset", "WRT"), "subset WRT: not in these tables; did you mean WTR or WQT?"),
        (("infosearch", "--measure", "SIRC"), "measure SIRC: not in these tables; did you mean SICR?"),
    ],
)
def test_a_name_that_no_table_has_gets_the_nearest(heed: Heed, arguments: tuple[str, ...], message: str) -> None:
    result = heed(COMMAND, *arguments)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {message}")


def test_select_takes_the_registrys_name_without_owner_or_preset() -> None:
    tables = read_paper("followir").tables
    assert select(tables, system="followir-7b") == select(tables, system="jhu-clsp/FollowIR-7B")
    with pytest.raises(UsageError, match="no figures of this paper; expected one of followir"):
        read_paper("trec")
