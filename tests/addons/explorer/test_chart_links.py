"""Charts of a report lead to the pages of topics and documents, and show some of many."""

import re
from pathlib import Path

from report_folders import charts_of, marks_of, row, three_topics, write_results

from heed.report.page import page
from heed.report.results import read_tree


def test_of_many_topics_the_two_ends_have_bars(tmp_path: Path) -> None:
    values = {f"t{index}": (index - 1000) / 1000 for index in range(2000)}
    one = row("a", "original>changed", "p-MRR", -0.0005, 2000)
    given = {"rows": [one | {"per_topic": values}], "shifts": []}
    found = read_tree(write_results(tmp_path, [one], per_topic=given))
    spec = charts_of(page(found, tmp_path))["topics.p-MRR.a.original-changed"]
    assert "the worst and the best 20 of 2,000 topics" in spec["title"]["subtitle"]
    links = [re.fullmatch(r"#/./topic/t(\d+)\?system=a", mark["to"]) for mark in marks_of(spec)]
    bars = [int(link[1]) for link in links if link]
    assert bars == [*range(20), *range(1980, 2000)]


def test_of_many_documents_the_chart_shows_some_from_end_to_end_and_says_so(tmp_path: Path) -> None:
    one, detail = three_topics("a", "p-MRR")
    shifts = [
        {"system": "a", "qid": "1", "docid": str(at), "group": "violating", "base": at + 1, "new": 5000 - at}
        for at in range(5000)
    ]
    found = read_tree(write_results(tmp_path, [one], per_topic={"rows": [detail], "shifts": shifts}))
    spec = charts_of(page(found, tmp_path))["shift.a"]
    assert spec["title"]["subtitle"] == "600 of 5,000 documents, evenly by distance moved"
    assert {mark["group"] for mark in marks_of(spec)} == {"ruled out (5,000)"}
    links = [re.fullmatch(r"#/./document/(\d+)\?topic=1&system=a", mark["to"]) for mark in marks_of(spec)]
    numbers = {link[1] for link in links if link}
    assert len(links) == len(numbers) == 600 and {"0", "4999"} < numbers
