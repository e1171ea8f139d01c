"""What the four collection commands have in common: from options to runs, tables and averages."""

import argparse
from collections.abc import Sequence

from heed.collection import Collection
from heed.evaluation.summary import Row, average, table
from heed.experiment import Settings, run
from heed.io.files import write_json
from heed.models.model_files import allow_remote_code
from heed.models.registry import add_models, set_unknown
from heed.models.vllm import set_inference
from heed.progress import Timing, log
from heed.reranking.passages import parse_cut
from heed.retrieval.bm25 import Weights
from heed.retrieval.lucene.jvm import set_heap
from heed.workers.engine import Engine
from pipelines.options import refuse
from pipelines.resources import log_resources

OWN_FILES = ("docs", "topics", "topics_format", "qrels", "changed_qrels", "reversed_qrels")


def begin(options: argparse.Namespace) -> None:
    """Set what holds for the whole process: how much is told, Java's heap, further models."""
    set_heap(options.heap)
    if options.models:
        add_models(options.models)
    if options.trust_remote_code:
        allow_remote_code()
    set_inference(options.inference)
    templates = {part: getattr(options, f"{part}_template") for part in ("query", "document", "prompt")}
    set_unknown({"family": options.family, **templates})


def launch(options: argparse.Namespace, collection: Collection) -> list[Row]:
    """Run one collection and print its table; gives back the summary's rows."""
    topics = f"{len(collection.topics)} topics"
    log.info(f"collection {collection.name}, {collection.subset}: {topics}; documents {collection.source}")
    timings: list[Timing] = []
    rows = run(collection, _settings(options, collection), timings)
    print(table(rows, f"{collection.name} {collection.subset}: {topics}, values ×100"))
    said = relative_times(timings, list(dict.fromkeys(row["system"] for row in rows)))
    log_resources(timings)
    if said:
        log.info(said)  # not among the results: it differs from run to run
    log.info(
        f"{options.out / collection.name / collection.subset}/: runs, summary.json, report.html, manifest.yml and more"
    )
    return rows


def finish(options: argparse.Namespace, name: str, found: dict[str, list[Row]]) -> None:
    """Write --json, and with several subsets their average, printed and in ``<name>/average/summary.json``."""
    subset, rows = next(iter(found.items()))
    if len(found) > 1:
        subset, rows = "average", average(list(found.values()))
        write_json(options.out / name / subset / "summary.json", {"collection": name, "subset": subset, "rows": rows})
        print(table(rows, f"{name}: average of {', '.join(found)}, values ×100"))
    if options.json:
        write_json(options.json, {"collection": name, "subset": subset, "rows": rows})


def _settings(options: argparse.Namespace, collection: Collection) -> Settings:
    by_default = collection.reranked and bool(collection.candidates)
    published = options.pool == "published" or (options.pool is None and by_default)
    if published:
        refuse(options, ["rerank_depth"], "published candidates are rescored whole; --pool retrieved cuts")
    return Settings(
        retrievers=options.retriever or ["bm25", "lsa"],
        rerankers=[name for name in options.reranker or ["polarity"] if name != "none"],
        conditions=options.condition or [],
        depth=options.depth,
        rerank_depth=options.rerank_depth or options.depth,
        maxp=parse_cut(options.maxp) if options.maxp else None,
        weights=Weights(options.k1, options.b, *options.field_weights),
        shards=options.shards,
        faiss=options.faiss,
        device=options.device,
        threads=options.threads,
        published_pool=published,
        brought=options.run or [],
        indexes=options.indexes,
        out=options.out,
        engine=Engine(options.engine, options.workers, options.ray_address),
    )


def relative_times(measured: Sequence[Timing], systems: Sequence[str]) -> str:
    """A line with each system's wall time for all its conditions, the first system being 1.0×.

    FollowTable's tables call it so. Indexes and models are built and opened before. Systems whose
    runs were used again have no time; empty where the first has none.
    """
    seconds: dict[str, float] = {}
    for one in measured:
        system = one["system"].rpartition(".")[0]
        if one["stage"] == "run":
            seconds[system] = seconds.get(system, 0.0) + one["seconds"]
    first = seconds.get(systems[0], 0.0) if systems else 0.0
    if not first:
        return ""
    told = (f"{name} {seconds[name] / first:.1f}× ({seconds[name]:.1f} s)" for name in systems if name in seconds)
    return f"wall time: {', '.join(told)}"
