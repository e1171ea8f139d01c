"""How a release describes itself: README with datasheet and statistics for people, Croissant for programs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from heed.addons.judging.publishing.facts import Facts
from heed.addons.judging.publishing.records import CONDITIONS, DEFINITION, TOPICS
from heed.files import digest
from heed.formats.topic_ids import ENDINGS, stem
from heed.languages import language
from heed.types import Qrels, Topic

# the names of MTEB's task mFollowIR stand beside FollowIR's, over the same files
SPLITS = {
    "corpus": "corpus",
    "queries": "queries",
    "instruction": "instruction",
    "top_ranked": "top_ranked",
    "qrel_diff": "qrel_diff",
    "default": "test",
}
CONFIG = """- config_name: {name}
  data_files:
  - split: {split}
    path: {path}"""
DATASHEET = {
    "purpose": "Motivation",
    "documents": "Documents",
    "topics": "Topics",
    "assessors": "Assessors",
    "people": "Persons",
    "uses": "Uses",
    "licence of texts": "Terms of the texts",
    "maintenance": "Maintenance",
}
README = """---
pretty_name: {title}
language:
- {short}
configs:
{configs}
---
# {title}

{description}

Version {version} of {date}, by {creators}. Licence of topics and judgements: {licence}.

{table}

Relevant documents are per topic, lengths are mean numbers of characters, as in mFollowIR's Table 2. {judged} judgements
under the original narratives, {judged_again} under the changed ones; {documents}.

## Use it

With Heed:

    heed trec --docs {corpus} --topics {topics} --qrels original.qrels --changed-qrels changed.qrels --lang {lang}

A query has the id `12-og` or `12-changed` in the Parquet files and `pairs.tsv`, and `12` elsewhere.

With [ir_datasets](https://ir-datasets.com), with this folder on Python's path:

    import ir_datasets, {definition}
    ir_datasets.load("{name}/changed").queries_iter()     # or {name}/original; {name} has the documents

{mteb}{agreement}{reusable}## Datasheet

{datasheet}

{citation}`sha256sum -c SHA256SUMS` checks the files, `croissant.json` describes them for programs.
"""
MTEB = """With [MTEB](https://github.com/embeddings-benchmark/mteb), FOLDER being this folder:

    import mteb
    from mteb.tasks.instruction_reranking.eng.core17_instruction_retrieval import Core17InstructionRetrieval

    class Task(Core17InstructionRetrieval):
        metadata = Core17InstructionRetrieval.metadata.model_copy(
            update={{"name": "{name}", "dataset": {{"path": FOLDER, "revision": "{version}"}}}}
        )

    mteb.evaluate(model, Task())

It reranks the {candidates}.

"""


def readme(facts: Facts, topics: list[Topic], qrels: Mapping[str, Qrels], lang: str, more: Mapping[str, str]) -> str:
    """Return the README; ``more`` has the parts that are made elsewhere, and empty ones of what is not there.

    They are called agreement, candidates, configs, corpus, documents and reusable.
    """
    known = {name: facts[name] for name in ("name", "title", "description", "version", "date", "licence")}
    counts = {condition: sum(map(len, qrels[condition].values())) for condition in CONDITIONS}
    mteb = MTEB.format(**known, candidates=more["candidates"]) if more["candidates"] else ""
    parts = {"agreement": "Agreement of assessors", "reusable": "Can it be used for another system?"}
    citation = "\n".join(f"    {line}" for line in facts.listed("citation"))
    return README.format(
        **known,
        **{name: f"## {title}\n\n{text}\n\n" if (text := more[name]) else "" for name, title in parts.items()},
        creators=", ".join(facts.listed("creators")),
        short=language(lang).short,
        lang=lang,
        configs=more["configs"],
        table=statistics(topics, qrels, language(lang).name),
        judged=counts["original"],
        judged_again=counts["changed"],
        documents=more["documents"],
        corpus=more["corpus"],
        topics=TOPICS,
        definition=Path(DEFINITION).stem,
        mteb=mteb,
        datasheet="\n\n".join(f"**{heading}.** {facts[name]}" for name, heading in DATASHEET.items()),
        citation=f"{citation}\n\n" if citation else "",
    )


def statistics(topics: list[Topic], qrels: Mapping[str, Qrels], name: str) -> str:
    """Return mFollowIR's Table 2 of the topics that are judged under both narratives, as Markdown."""
    both = [topic for topic in topics if all(topic.qid in qrels[condition] for condition in CONDITIONS)]
    relevant = [
        fmean(sum(grade > 0 for grade in qrels[condition][topic.qid].values()) for topic in both)
        for condition in CONDITIONS
    ]
    lengths = [fmean(len(topic.query) for topic in both)]
    lengths += [fmean(len(topic.instructions[condition]) for topic in both) for condition in CONDITIONS]
    cells = [name, str(len(both)), *(f"{value:.1f}" for value in relevant), *(f"{value:.0f}" for value in lengths)]
    heads = ("", "topics", "relevant before", "relevant after", "query", "original narrative", "changed narrative")
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), cells))


def configs(files: Mapping[str, str], lang: str) -> str:
    """Return the list of the Parquet files, ``config -> path``, under the names of FollowIR and of mFollowIR."""
    names = ((name, config) for config in files for name in (config, f"{config}-{lang}"))
    return "\n".join(CONFIG.format(name=name, split=SPLITS[config], path=files[config]) for name, config in names)


def pairs(qids: Iterable[str]) -> str:
    """Return lines of the id of a changed query, a tab, and that of the original one."""
    changed = (qid for qid in qids if qid.endswith(ENDINGS["changed"]))
    return "".join(f"{qid}\t{stem(qid)}{ENDINGS['original']}\n" for qid in changed)


FORMATS = {
    ".md": "text/markdown",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".gz": "application/gzip",
    ".parquet": "application/x-parquet",
    ".py": "text/x-python",
    ".tsv": "text/tab-separated-values",
}
TERMS = (  # of Croissant's own vocabulary
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS.split()},
}
COLUMNS = {
    "corpus": ("_id", "title", "text"),
    "queries": ("_id", "text"),
    "instruction": ("query-id", "instruction"),
    "default": ("query-id", "corpus-id", "score"),
}


def croissant(facts: Facts, folder: Path, files: Mapping[str, str]) -> dict[str, Any]:
    """Return the folder's files and the records of its Parquet ``files`` in Croissant 1.0 (mlcommons.org/croissant)."""
    paths = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": facts["name"],
        "alternateName": facts["title"],
        "description": facts["description"],
        "version": facts["version"],
        "datePublished": facts["date"],
        "license": facts["licence"],
        "url": ", ".join(facts.listed("address")) or ".",
        "creator": [{"@type": "sc:Person", "name": name} for name in facts.listed("creators")],
        "citeAs": "\n".join(facts.listed("citation")) or f"{', '.join(facts.listed('creators'))}: {facts['title']}",
        "distribution": [_file(folder, path) for path in paths],
        "recordSet": [_records(config, files[config]) for config in COLUMNS if config in files],
    }


def _file(folder: Path, path: str) -> dict[str, Any]:
    kind = FORMATS.get(Path(path).suffix, "text/plain")
    object_of = {"@type": "cr:FileObject", "@id": path, "name": path, "contentUrl": path, "encodingFormat": kind}
    return {**object_of, "sha256": digest(folder / path)}


def _records(config: str, path: str) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{config}/{column}",
            "dataType": "sc:Integer" if column == "score" else "sc:Text",
            "source": {"fileObject": {"@id": path}, "extract": {"column": column}},
        }
        for column in COLUMNS[config]
    ]
    return {"@type": "cr:RecordSet", "@id": config, "name": config, "field": fields}
