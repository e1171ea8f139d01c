"""How a release describes itself: README with datasheet and statistics for people, Croissant for programs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from heed.addons.judging.annotate.task import CONDITIONS
from heed.addons.judging.publishing.facts import Facts
from heed.addons.judging.publishing.records import CORPUS, DEFINITION
from heed.files import parse_json, read_text
from heed.languages import Language, language
from heed.progress import number_of
from heed.types import Qrels, Topic

HERE = Path(__file__).parent
SECTIONS = {"agreement": "Agreement of assessors", "reusable": "Can it be used for another system?"}
HEADS = ("", "topics", "relevant before", "relevant after", "query", "original narrative", "changed narrative")
QUESTIONS = {  # that answer Croissant's
    "name": "name",
    "alternateName": "title",
    "description": "description",
    "version": "version",
    "datePublished": "date",
    "license": "licence",
}
SCRIPTS = {  # in ISO 15924, as MTEB names languages, by the letters that a language has
    **{"LATIN": "Latn", "CJK": "Hans", "ARABIC": "Arab", "CYRILLIC": "Cyrl", "GREEK": "Grek", "BENGALI": "Beng"},
    **{"DEVANAGARI": "Deva", "TELUGU": "Telu", "THAI": "Thai", "KANA": "Jpan", "HANGUL": "Hang"},
}
FORMATS = {".gz": "application/gzip", ".json": "application/json", ".parquet": "application/x-parquet"}


def readme(
    facts: Facts, topics: Sequence[Topic], qrels: Mapping[str, Qrels], lang: Language, parts: Mapping[str, str]
) -> str:
    """Return the README; ``parts`` are those of its template that are of the files, and of ``SECTIONS``."""
    counts = [
        f"{number_of(sum(map(len, qrels[condition].values())), f'{condition} judgement')} of "
        f"{number_of(len(qrels[condition]), 'topic')}"
        for condition in CONDITIONS
    ]
    if without := len(qrels["original"].keys() - qrels["changed"].keys()):
        has = "topic, which has" if without == 1 else "topics, which have"
        counts[1] += f" (the table is without {without} {has} no judged changed narrative)"
    texts = {name: facts.text(name) for name in facts.answers} | {**parts}
    texts |= {name: f"## {title}\n\n{parts[name]}\n\n" for name, title in SECTIONS.items() if parts[name]}
    langs = dict.fromkeys((language(topics[0].lang), lang))  # of queries and of documents
    texts["langs"] = json.dumps([f"{each.code}-{SCRIPTS[each.letters]}" for each in langs])
    texts["mteb"] = read_text(HERE / "mteb.md").format_map(texts) if parts["docs"] == CORPUS else ""
    texts["citation"] = "".join(f"    {line}\n" for line in facts.text("citation").splitlines())
    texts["quoted title"] = json.dumps(texts["title"], ensure_ascii=False)  # of YAML, where a colon has a meaning
    texts |= {"lang": lang.code, "short": lang.short, "judgements": " and ".join(counts)}
    return read_text(HERE / "readme.md").format_map(texts | {"table": statistics(topics, qrels, lang.name)})


def definition(labels: Mapping[int, str]) -> str:
    """Return the registration with ir_datasets, with the meanings of the campaign's grades where they are known."""
    text = read_text(HERE / DEFINITION)
    usual = next(line for line in text.splitlines() if line.startswith("GRADES = "))
    return text.replace(usual, f"GRADES = { ({-1: 'not judged'} | dict(labels))!r}") if labels else text


def statistics(topics: Sequence[Topic], qrels: Mapping[str, Qrels], name: str) -> str:
    """Return mFollowIR's Table 2 of the topics that are judged under both narratives, as Markdown."""
    both = [topic for topic in topics if all(topic.qid in qrels[condition] for condition in CONDITIONS)]
    relevant = ([sum(grade > 0 for grade in qrels[part][topic.qid].values()) for topic in both] for part in CONDITIONS)
    texts = ([topic.query for topic in both], *([topic.instructions[part] for topic in both] for part in CONDITIONS))
    cells = [name, str(len(both)), *(f"{fmean(counts):.1f}" for counts in relevant)]
    cells += [f"{fmean(map(len, of_topics)):.0f}" for of_topics in texts]
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEADS, ["---"] * len(HEADS), cells))


def croissant(facts: Facts, digests: Mapping[str, str], columns: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return files, by their ``digests``, and records in Croissant 1.0 (mlcommons.org/croissant).

    ``columns`` are those of each Parquet file.
    """
    return {
        **parse_json(read_text(HERE / "croissant.json")),
        **{key: facts.text(question) for key, question in QUESTIONS.items()},
        "url": facts.text("address") or ".",
        "creator": [{"@type": "sc:Person", "name": name} for name in facts.listed("creators")],
        "citeAs": facts.text("citation") or f"{facts.text('creators')}: {facts.text('title')}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                **dict.fromkeys(("@id", "name", "contentUrl"), path),
                "encodingFormat": FORMATS.get(Path(path).suffix, "text/plain"),
                "sha256": sha256,
            }
            for path, sha256 in digests.items()
        ],
        "recordSet": [_records(path, names) for path, names in columns.items()],
    }


def _records(path: str, columns: Sequence[str]) -> dict[str, Any]:
    config = Path(path).parts[0]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{config}/{column}",
            "dataType": "sc:Integer" if column == "score" else "sc:Text",
            "repeated": column == "corpus-ids",
            "source": {"fileObject": {"@id": path}, "extract": {"column": column}},
        }
        for column in columns
    ]
    return {"@type": "cr:RecordSet", "@id": config, "name": config, "field": fields}
