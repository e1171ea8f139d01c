"""The site of many results folders: its tables, the names of its pages, and what is in its folder after any end."""

import re
from html import unescape
from pathlib import Path

import pytest
from conftest import Heed
from report_folders import HOSTILE, NASTY, hostile_results, row, write_results

from heed.addons.explorer.static_site import first_page, leaderboard, page_names, write_site
from heed.errors import DataError
from heed.report.results import read_folders, read_tree

MANIFEST = "data:\n  test collection:\n    topics: t\n    qrels:\n      original: {}\n"


def compared(system: str, selectivity: float, ndcg: float = 0.5) -> list[dict[str, object]]:
    """Return the rows of a system, with a value of selectivity."""
    return [
        row(system, "original", "nDCG@20", ndcg, 12),
        row(system, "changed", "nDCG@20", 0.25, 12),
        row(system, "original>changed", "p-MRR", -0.125, 12),
        row(system, "original>changed", "selectivity", selectivity, 12),
    ]


def site_files(site: Path) -> dict[str, bytes]:
    return {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_a_table_has_the_best_first_and_each_figure_leads_to_the_topics_of_its_system(tmp_path: Path) -> None:
    per_topic = {str(number): value for number, value in enumerate((0.1, 0.2, 0.3, 0.2, 0.1))}
    rows = compared("a/b", 0.3) + compared("c", 0.18, 0.6)  # c ranks better, although it follows less
    details = {"rows": [rows[-1] | {"per_topic": per_topic}], "shifts": []}
    folders = read_tree(write_results(tmp_path, rows, per_topic=details))
    [table] = leaderboard(folders, page_names(folders))
    assert table.columns[table.decides] == ("original", "nDCG@20")
    assert (table.title, table.topics, table.paper) == ("made zho", 12, "")
    assert [(line.system, line.link) for line in table.lines] == [
        ("c", "made-zho.html#/./topic?system=c"),
        ("a/b", "made-zho.html#/./topic?system=a%2Fb"),
    ]
    assert [[cell and cell.text for cell in line.cells] for line in table.lines] == [
        ["60.0", "25.0", "18.0", "-12.5"],
        ["50.0", "25.0", "30.0", "-12.5"],
    ]
    low, high = re.findall(r"[\d.]+", table.lines[0].cells[2].interval)  # type: ignore[union-attr]
    assert 10 <= float(low) < 18 < float(high) <= 30


def test_published_systems_stand_among_ours_without_a_link(tmp_path: Path) -> None:
    rows = [row("ours", "query", "nDCG@10", 0.5), row("ours", "original", "nDCG@10", 0.758)]
    rows += [row("ours", "query>original", "IRS", 0.2), row("ours", "query>original", "p-MRR", 0.3)]
    folders = read_tree(write_results(tmp_path, rows, "followtable", "WTR"))
    [table] = leaderboard(folders, page_names(folders))
    lines = [(line.system, bool(line.link), [cell and cell.text for cell in line.cells]) for line in table.lines]
    assert table.paper == "followtable" and len(lines) == 16
    # FollowTable, Table 4: Promptriever has 82.3, 76.4, IRS 23.7 and p-MRR 10.6 on WTR, Qwen3-Emb (8B) 75.4
    assert lines[:2] == [
        ("Promptriever (7B)", False, ["82.3", "76.4", "23.7", "10.6"]),
        ("ours", True, ["50.0", "75.8", "20.0", "30.0"]),
    ]
    assert lines[2][0] == "Qwen3-Emb (8B)" and not any(linked for _, linked, _ in lines[2:])
    text = first_page(folders, page_names(folders), "Ours")
    assert text.count('<tr class="theirs">') == 15


def test_folders_of_one_collection_are_one_table_if_their_judgements_are_the_same(tmp_path: Path) -> None:
    for name, qrels in (("first", "q"), ("second", "q"), ("third", "other")):
        folder = write_results(tmp_path / name, compared("bm25", 0.1) + compared(name, 0.2))
        (folder / "manifest.yml").write_text(MANIFEST.format(qrels))
    folders = read_folders([tmp_path / name for name in ("second", "first", "third", "second")])
    tables = leaderboard(folders, page_names(folders))
    assert [table.pages for table in tables] == [["made-zho.html", "made-zho-2.html"], ["made-zho-3.html"]]
    assert [line.link for line in tables[0].lines] == [
        "made-zho.html#/./topic?system=second",
        "made-zho-2.html#/./topic?system=first",
        "made-zho.html#/./topic?system=bm25",
        "made-zho-2.html#/./topic?system=bm25",
    ]
    assert [line.system for line in tables[0].lines] == ["second", "first", "bm25", "bm25 (first)"]


def test_results_without_a_change_of_instruction_have_their_first_measure(tmp_path: Path) -> None:
    rows = [row(system, "query", "nDCG@20", value) for system, value in (("a", 0.1), ("b", 0.2))]
    folders = read_tree(write_results(tmp_path, rows))
    [table] = leaderboard(folders, page_names(folders))
    assert [(line.system, line.cells[0] and line.cells[0].text) for line in table.lines] == [
        ("b", "20.0"),
        ("a", "10.0"),
    ]
    assert "b" in first_page(folders, page_names(folders), "Ours")


def test_names_of_pages_are_safe_on_every_file_system_and_no_two_alike(tmp_path: Path) -> None:
    titles = [("../../etc", "zho"), ("A", "b"), ("a", "B"), ("index", ""), ("سامانه", ""), ("con.", "x" * 300)]
    for number, (collection, subset) in enumerate(titles):
        write_results(tmp_path / str(number), compared("s", 0.1), collection, subset)
    names = page_names(read_tree(tmp_path))
    assert names[:5] == ["etc-zho.html", "A-b.html", "a-B-2.html", "index-2.html", "results.html"]
    assert names[5].startswith("con-xxx") and len(names[5]) < 100
    page = first_page(read_tree(tmp_path), names, "Ours")
    assert "etc zho <small>nDCG@20 original</small></th>" in page  # of all collections


def test_nothing_of_the_results_is_markup_and_the_first_page_asks_for_nothing(tmp_path: Path) -> None:
    folders = read_tree(hostile_results(tmp_path))
    text = first_page(folders, page_names(folders), HOSTILE)
    assert HOSTILE not in text and NASTY not in text
    assert "default-src 'none'" in unescape(text) and "unsafe-inline" not in text
    links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert links and all(re.match(r"data:,$|#|[\w-]+\.html", link) for link in links)


def test_a_site_is_written_again_with_the_same_bytes_and_without_the_pages_of_folders_that_are_gone(
    tmp_path: Path,
) -> None:
    for name in ("a", "b", "c"):
        write_results(tmp_path / "runs" / name, compared("s", 0.1), name, "")
    site = tmp_path / "site"
    write_site(read_tree(tmp_path / "runs"), site, "Ours")
    files = site_files(site)
    assert set(files) == {"index.html", "vega.js", "a.html", "b.html", "c.html", ".made/site.json"}
    assert b'<a href="index.html" dir="auto">' in files["a.html"]
    write_site(read_tree(tmp_path / "runs"), site, "Ours")
    assert site_files(site) == files
    (site / "CNAME").write_text("example.org")
    (site / "c.html").write_text("written by hand")
    write_site(read_tree(tmp_path / "runs/a"), site, "Ours")
    assert set(site_files(site)) == {"index.html", "vega.js", "a.html", "c.html", "CNAME", ".made/site.json"}


def test_files_that_are_not_of_an_earlier_site_are_never_replaced(tmp_path: Path) -> None:
    runs, site = write_results(tmp_path / "runs", compared("s", 0.1)), tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("our home page")
    with pytest.raises(DataError, match=r"site: index\.html is not of an earlier site"):
        write_site(read_tree(runs), site, "Ours")
    assert (site / "index.html").read_text() == "our home page" and not (site / "made-zho.html").exists()


def test_a_site_that_was_stopped_is_the_earlier_one_or_has_no_first_page_and_is_finished_later(tmp_path: Path) -> None:
    runs, site = tmp_path / "runs", tmp_path / "site"
    write_results(runs / "a", compared("s", 0.1), "a", "")
    write_site(read_tree(runs), site, "Ours")
    earlier = site_files(site)
    write_results(runs / "b", compared("s", 0.2), "b", "")
    (runs / "b/s.original.run").write_text("1 Q0 d 1 0.5 s\n")
    (runs / "b/topics.json").write_text("[]")
    with pytest.raises(DataError, match=r"topics\.json"):  # while the second page is made
        write_site(read_tree(runs), site, "Ours")
    assert site_files(site) == earlier
    (runs / "b/topics.json").unlink()
    (runs / "b/s.original.run").unlink()
    (site / "b.html").mkdir()
    (site / ".made/site.json").write_text('{"files": {"a.html": "", "b.html": "", "index.html": "", "vega.js": ""}}')
    with pytest.raises(IsADirectoryError):  # while pages are put in place
        write_site(read_tree(runs), site, "Ours")
    assert not (site / "index.html").exists()
    (site / "b.html").rmdir()
    write_site(read_tree(runs), site, "Ours")
    write_site(read_tree(runs), tmp_path / "undisturbed", "Ours")
    assert site_files(site) == site_files(tmp_path / "undisturbed")


def test_the_command_makes_a_site_of_several_folders(heed: Heed, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_results(tmp_path / name, compared("s", 0.1), name, "")
    done = heed("pipelines.report", "a", "b", "--site", "public", "--title", "Our <systems>")
    assert done.returncode == 0, done.stderr
    assert "public/index.html: the site of 2 results folders" in done.stderr
    assert '<h1 dir="auto">Our &lt;systems&gt;</h1>' in (tmp_path / "public/index.html").read_text()
    done = heed("pipelines.report", "a", "b", "--html")
    assert done.returncode == 1 and "--html of several folders: give its file" in done.stderr
    done = heed("pipelines.report", "a", "--title", "Ours")
    assert done.returncode == 1 and "--title: not used here; it is the heading of --site" in done.stderr
