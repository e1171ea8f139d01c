"""How well instructions are read: ``python -m benchmarks.reader FILE…``, over narratives that people have labelled.

A line of a file is a JSON object with ``lang``, ``collection``, ``text`` as its source has it, ``squeezed`` (one blank
for white space) and ``spans`` of this: ``class`` is E for what is excluded, N for what is neutral, E? where both are
defensible; the rest is asked for. Content words are compared, of Chinese and Japanese single characters: all but those
in ``reader_words.json``, which are frequent or about the task, and those of N and E?.

Precision, recall and F1 are of excluded words, in per cent. Of narratives: read perfectly; of those that exclude
something, missed wholly, with none of its words; with a wanted word excluded. The time is a narrative's on processors.
"""

import argparse
import json
import re
import time
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from heed.files import read_objects
from heed.instructions.reader import Reader, reader_at
from heed.languages import LANGUAGES

LISTS = json.loads(Path(__file__).with_name("reader_words.json").read_text(encoding="utf-8"))
HAN = re.compile("[\u4e00-\u9fff]")
WORD = re.compile(r"\w\w+")
HEAD = ("", "n", "precision", "recall", "F1", "read perfectly", "missed wholly", "wanted words excluded", "ms")
PLACE = re.compile(r"(<!-- benchmarks\.reader -->\n).*?(<!-- end -->)", re.DOTALL)


class Score(NamedTuple):
    """How one narrative was read: numbers of excluded words that were found and missed, and of wanted ones excluded."""

    found: int
    missed: int
    wrong: int
    seconds: float


def content_words(text: str, lang: str) -> list[int]:
    """Return where the content words of ``text`` begin."""
    if lang in ("zho", "jpn"):
        return [match.start() for match in HAN.finditer(text) if match[0] not in LISTS["han"]]
    left_out = {*LISTS["task"].split(), *LISTS.get(lang, "").split()}
    return [match.start() for match in WORD.finditer(text) if match[0].lower() not in left_out]


def scored(reader: Reader, row: dict[str, Any]) -> Score:
    """Return how the reader reads a labelled narrative."""
    text, squeezed = row["text"], row["squeezed"]
    start = time.process_time()
    spans = reader.as_given(text)
    seconds = time.process_time() - start
    before, within = (
        list(accumulate((not letter.isspace() for letter in each), initial=0)) for each in (text, squeezed)
    )
    excluded = [(before[span.start], before[span.end]) for span in spans if span.kind == "excluded"]
    found, missed, wrong = 0, 0, 0
    for word in content_words(squeezed, row["lang"]):
        label = next((each["class"] for each in row["spans"] if each["start"] <= word < each["end"]), "A")
        is_excluded = any(first <= within[word] < last for first, last in excluded)
        found += label == "E" and is_excluded
        missed += label == "E" and not is_excluded
        wrong += label == "A" and is_excluded
    return Score(found, missed, wrong, seconds)


def line(name: str, scores: Sequence[Score]) -> list[str]:
    """Return a line of the table."""
    found, missed, wrong = (sum(getattr(score, field) for score in scores) for field in ("found", "missed", "wrong"))
    excluding = [score for score in scores if score.found + score.missed]
    shares = [
        (found, found + wrong),
        (found, found + missed),
        (2 * found, 2 * found + missed + wrong),
        (sum(not score.missed + score.wrong for score in scores), len(scores)),
        (sum(not score.found for score in excluding), len(excluding)),
        (sum(score.wrong > 0 for score in scores), len(scores)),
    ]
    mean = 1000 * sum(score.seconds for score in scores) / len(scores)
    figures = [f"{100 * part / whole:.1f}" if whole else "–" for part, whole in shares]
    return [name, str(len(scores)), *figures, f"{mean:.1f}"]


def table(rows: Iterable[dict[str, Any]], reader: Reader) -> tuple[str, str]:
    """Return the table in Markdown, of languages and of all together, and its further lines, of collections."""
    groups: dict[tuple[str, str], list[Score]] = {}
    for row in rows:
        score = scored(reader, row)
        for group in ((row["lang"], ""), ("", ""), (row["lang"], row["collection"])):
            groups.setdefault(group, []).append(score)
    languages = [lang for lang, collection in groups if lang and not collection]
    whole = [line(LANGUAGES[lang].name, groups[lang, ""]) for lang in languages] + [line("all", groups["", ""])]
    further = [line(f"{LANGUAGES[lang].name} {name}", scores) for (lang, name), scores in groups.items() if name]
    return _markdown([[*HEAD], ["---"] * len(HEAD), *whole]), _markdown(further)


def _markdown(lines: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write it into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reader", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--reader", type=Path, metavar="DIR", help="folder of another reader than Heed's own")
    parser.add_argument("--page", type=Path, metavar="FILE", help="page whose table is replaced, as docs/polarity.md")
    options = parser.parse_args(arguments)
    reader = reader_at(options.reader)
    reader.spans("What is loaded now is not timed.")
    rows = [row for path in options.files for _, row in read_objects(path)]
    made, further = table(rows, reader)
    print(made + further, end="")
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        if not PLACE.search(page):
            parser.error(f"{options.page}: no <!-- benchmarks.reader --> … <!-- end --> to fill")
        options.page.write_text(PLACE.sub(lambda match: match[1] + made + match[2], page), encoding="utf-8")


if __name__ == "__main__":
    main()
