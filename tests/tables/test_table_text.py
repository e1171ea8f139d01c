import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heed.errors import HeedError
from heed.tables.html import squeeze
from heed.tables.markup import (
    FORMS,
    Table,
    as_fields,
    column_names,
    fit,
    parse_csv,
    parse_html,
    parse_markdown,
    serialise,
)

TABLE = Table(
    "Limits <2020>",
    [["Type", "Type", "Rate", "Rate"], ["Type", "Kind", "SEER", ""]],
    [["A|B", "x, y", "1", ""], ["", "", "", ""], ["C", 'say "z"', "", "R&D"]],
)
NO_HEADER = Table("", [], [["a", "b"], ["c", ""]])
EMPTY = Table("Just a caption", [], [])


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (
            "markdown",
            "# Limits <2020>\n\n| Type | Type / Kind | Rate / SEER | Rate |\n| --- | --- | --- | --- |\n"
            '| A\\|B | x, y | 1 |  |\n|  |  |  |  |\n| C | say "z" |  | R&D |',
        ),
        (
            "html",
            "<table><caption>Limits &lt;2020&gt;</caption>\n"
            "<thead><tr><th>Type</th><th>Type</th><th>Rate</th><th>Rate</th></tr>\n"
            "<tr><th>Type</th><th>Kind</th><th>SEER</th><th></th></tr></thead>\n"
            "<tr><td>A|B</td><td>x, y</td><td>1</td><td></td></tr>\n"
            "<tr><td></td><td></td><td></td><td></td></tr>\n"
            '<tr><td>C</td><td>say "z"</td><td></td><td>R&amp;D</td></tr>\n</table>',
        ),
        (
            "csv",
            '# Limits <2020>\n\nType,Type / Kind,Rate / SEER,Rate\nA|B,"x, y",1,\n,,,\nC,"say ""z""",,R&D',
        ),
        (
            "rows",
            'Limits <2020>\nType: A|B | Type / Kind: x, y | Rate / SEER: 1\nType: C | Type / Kind: say "z" | Rate: R&D',
        ),
        ("header", "Limits <2020>\nType | Type / Kind | Rate / SEER | Rate"),
    ],
)
def test_each_form_has_caption_then_header_then_a_row_a_line(form: str, text: str) -> None:
    assert serialise(TABLE, form) == text


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("markdown", "|  |  |\n| --- | --- |\n| a | b |\n| c |  |"),
        ("html", "<table>\n<thead></thead>\n<tr><td>a</td><td>b</td></tr>\n<tr><td>c</td><td></td></tr>\n</table>"),
        ("csv", "a,b\nc,"),
        ("rows", "a | b\nc"),
        ("header", ""),
    ],
)
def test_a_table_without_caption_and_header_has_no_lines_for_them(form: str, text: str) -> None:
    assert serialise(NO_HEADER, form) == text


def test_a_caption_alone_and_a_header_alone_are_kept_in_every_form() -> None:
    for form in FORMS[1:]:
        assert "Just a caption" in serialise(EMPTY, form)
        assert "Name" in serialise(Table("", [["Name", "Age"]], []), form)


def test_newlines_in_cells_given_by_hand_break_no_row() -> None:
    table = Table("a\nb", [["c\nd", "e"]], [["f\u2028g", "h\r\ni"]])
    for form, lines in {"markdown": 5, "html": 4, "csv": 4, "rows": 2, "header": 2}.items():
        assert len(serialise(table, form).splitlines()) == lines


@pytest.mark.parametrize("form", ["raw", "xml", ""])
def test_other_forms_are_refused(form: str) -> None:
    with pytest.raises(HeedError, match=f"table form is '{form}', expected one of markdown, html, csv, rows, header"):
        serialise(TABLE, form)


def test_column_names_join_the_header_rows() -> None:
    assert column_names(Table("", [["a", "a"], ["a", ""], ["b", "a"]], [])) == ["a / b", "a"]
    assert column_names(Table("", [["a"], ["b"], ["a"]], [])) == ["a / b / a"]
    assert column_names(NO_HEADER) == ["", ""]
    assert column_names(EMPTY) == []


def test_fields_have_each_header_text_once_and_all_cells() -> None:
    assert as_fields(TABLE) == {
        "caption": "Limits <2020>",
        "header": "Type Rate Kind SEER",
        "cells": 'A|B x, y 1\n\nC say "z" R&D',
    }
    assert as_fields(EMPTY) == {"caption": "Just a caption", "header": "", "cells": ""}


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=12)
SYNTAX = st.text(st.sampled_from(list("|\\-:`#<>br/&;,\"' \ta中م")), max_size=12)
WHOLE = st.sampled_from(["---", ":-:", "<br>", "<td>", "&amp;", "# x", "</table>"])
CELLS = (TEXTS | SYNTAX | WHOLE).map(squeeze)


@st.composite
def tables(draw: st.DrawFn, header: st.SearchStrategy[int], columns: int = 1) -> Table:
    width = draw(st.integers(columns, 4))
    rows = st.lists(CELLS, min_size=width, max_size=width)
    count = draw(header)
    return Table(draw(CELLS), draw(st.lists(rows, min_size=count, max_size=count)), draw(st.lists(rows, max_size=4)))


@given(tables(st.integers(0, 3)))
def test_html_is_read_back_as_it_was(table: Table) -> None:
    assert parse_html(serialise(table, "html")) == table


@given(tables(st.just(1)))
@example(Table("", [["R&amp;D"]], [["x&#124;y"], ["&bogus; A&B"]]))
@example(Table("", [["---", ":-:"]], [["a\\|b", "\\<br>"]]))  # a header that looks like the delimiter row below it
def test_markdown_is_read_back_as_it_was(table: Table) -> None:
    assert parse_markdown(serialise(table, "markdown")) == table


@given(tables(st.just(1), columns=2))
def test_csv_is_read_back_as_it_was(table: Table) -> None:
    assert parse_csv(serialise(table, "csv")) == table


def words(text: str) -> int:
    return len(text.split())


@given(st.lists(st.text("ab ", max_size=9), max_size=40).map("\n".join), st.integers(-1, 200))
def test_no_longer_prefix_would_have_fitted(text: str, room: int) -> None:
    lines = text.split("\n")
    for count in (len, words, lambda prefix: 3 * len(prefix)):
        fitting = [n for n in range(2, len(lines) + 1) if count("\n".join(lines[:n])) <= room]
        assert fit(text, room, count) == "\n".join(lines[: max(fitting, default=1)])


def test_the_counter_is_called_few_times_and_never_on_much_more_than_fits() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 4

    assert fit("one\ntwo", 10, count) == "one\ntwo"
    assert counted == [7]
    counted.clear()
    assert fit("\n".join(["x" * 39] * 100_000), 5_000, count).count("x" * 39) == 500
    assert len(counted) < 15
    assert max(counted) <= 2 * 20_000
