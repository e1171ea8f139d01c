"""Texts that are tables as a whole are told from running text."""

import json

import pytest
from conftest import ROOT

from heed.tables.markup import as_table

NEWS = "The ferry sank on Monday.\nNobody was hurt | said the port.\nMore follows."


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        ("<table><tr><th>A</th></tr><tr><td>1</td></tr></table>", True),
        ("| A | B |\n|---|---|\n| 1 | 2 |", True),
        ("# Caption\n\n| A | B |\n|---|---|\n| 1 | 2 |", True),
        # the words of keys to sort by, which no page shows, are not lost
        ('<table><tr><th>A<tr><td><span class="sortkey">Gulf, the great</span>The Gulf</table>', True),
        (NEWS, False),
        ("a,b,c\n1,2,3\n", False),  # commas are in all news
        (f"{NEWS}\n" * 5 + "| A | B |\n|---|---|\n| 1 | 2 |", False),
        # a caption wins over the text outside, which would be lost: shown as text
        (f"{NEWS}<table><caption>C</caption><tr><td>1</td></tr><tr><td>2</td></tr></table>", False),
        ("<table><tr><td>alone</td></tr></table>", False),
        ("", False),
    ],
)
def test_a_text_is_a_table_where_no_words_are_lost(text: str, is_table: bool) -> None:
    assert (as_table(text) is not None) is is_table


def test_the_sample_of_tables_is_drawn_whole() -> None:
    records = map(json.loads, (ROOT / "documents" / "tables-sample" / "tables.jsonl").read_text().splitlines())
    assert all(as_table(record["text"]) for record in records)
    for path in (ROOT / "documents/neuclir-sample").glob("*.jsonl"):
        assert not any(as_table(json.loads(line)["text"]) for line in path.read_text().splitlines())
