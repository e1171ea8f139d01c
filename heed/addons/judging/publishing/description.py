"""How a release describes itself: README with datasheet and statistics for people, Croissant for programs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from heed.addons.judging.publishing.facts import Facts
from heed.addons.judging.publishing.records import CONDITIONS, CORPUS
from heed.files import digest, parse_json, read_text
from heed.languages import language
from heed.types import Qrels, Topic

HERE = Path(__file__).parent
SECTIONS = {"agreement": "Agreement of assessors", "reusable": "Can it be used for another system?"}
HEADS = ("", "topics", "relevant before", "relevant after", "query", "original narrative", "changed narrative")


def readme(
    facts: Facts, topics: Sequence[Topic], qrels: Mapping[str, Qrels], lang: str, parts: Mapping[str, str]
) -> str:
    """Return the README; ``parts`` are those of its template that are of the files, and of ``SECTIONS``."""
    counts = [f"{sum(map(len, qrels[condition].values()))} {condition} judgements" for condition in CONDITIONS]
    texts = {name: facts[name] for name in facts.answers} | {**parts}
    texts |= {name: f"## {title}\n\n{parts[name]}\n\n" for name, title in SECTIONS.items() if parts[name]}
    texts["mteb"] = read_text(HERE / "mteb.md").format_map(texts) if parts["docs"] == CORPUS else ""
    texts["citation"] = "".join(f"    {line}\n" for line in facts["citation"].splitlines())
    texts |= {"lang": lang, "short": language(lang).short, "judgements": " and ".join(counts)}
    return read_text(HERE / "readme.md").format_map(texts | {"table": statistics(topics, qrels, language(lang).name)})


def statistics(topics: Sequence[Topic], qrels: Mapping[str, Qrels], name: str) -> str:
    """Return mFollowIR's Table 2 of the topics that are judged under both narratives, as Markdown."""
    both = [topic for topic in topics if all(topic.qid in qrels[condition] for condition in CONDITIONS)]
    relevant = [
        fmean(sum(grade > 0 for grade in qrels[condition][topic.qid].values()) for topic in both)
        for condition in CONDITIONS
    ]
    lengths = [fmean(len(topic.query) for topic in both)]
    lengths += [fmean(len(topic.instructions[condition]) for topic in both) for condition in CONDITIONS]
    cells = [name, str(len(both)), *(f"{value:.1f}" for value in relevant), *(f"{value:.0f}" for value in lengths)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEADS, ["---"] * len(HEADS), cells))


FORMATS = {".gz": "application/gzip", ".json": "application/json", ".parquet": "application/x-parquet"}


def croissant(facts: Facts, folder: Path, columns: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the folder's files and the records of its Parquet files in Croissant 1.0 (mlcommons.org/croissant).

    ``columns`` are those of each file.
    """
    paths = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        "@context": parse_json(read_text(HERE / "croissant_context.json")),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": facts["name"],
        "alternateName": facts["title"],
        "description": facts["description"],
        "version": facts["version"],
        "datePublished": facts["date"],
        "license": facts["licence"],
        "url": facts["address"] or ".",
        "creator": [{"@type": "sc:Person", "name": name} for name in facts.listed("creators")],
        "citeAs": facts["citation"] or f"{facts['creators']}: {facts['title']}",
        "distribution": [_file(folder, path) for path in paths],
        "recordSet": [_records(path, names) for path, names in columns.items()],
    }


def _file(folder: Path, path: str) -> dict[str, Any]:
    kind = FORMATS.get(Path(path).suffix, "text/plain")
    names = {"@type": "cr:FileObject", "@id": path, "name": path, "contentUrl": path}
    return {**names, "encodingFormat": kind, "sha256": digest(folder / path)}


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
