"""The options that the four collection commands share, everyday ones first."""

import argparse
from pathlib import Path

from heed.measures.registry import help_text
from heed.retrieval.bm25.feedback import Feedback
from heed.retrieval.bm25.index import K1, B
from heed.retrieval.dense.search import KINDS
from heed.systems.make import forms
from heed.types import CONDITIONS, Reranker, Retriever
from pipelines.options.data import data_options, topic_ids_option
from pipelines.options.machine import engine_options, machine_options, model_options
from pipelines.options.output import indexes_option, json_option, out_option, verify_option
from pipelines.options.parser import MORE, OF_MODELS, READING, SEARCH, Group, listed, positive

FEEDBACK = {  # fields of :class:`Feedback`
    "fb_docs": "first documents by which bm25+rm3 and bm25+rocchio expand a query",
    "fb_terms": "terms of them that are added to it",
    "rm3_weight": "RM3's weight of the query itself, from 0 to 1",
    "rocchio_alpha": "Rocchio's weight of the query",
    "rocchio_beta": "Rocchio's weight of the documents",
}


def collection_options(
    parser: argparse.ArgumentParser, data: argparse._ArgumentGroup, rerank_depth: int | None = None
) -> argparse._ArgumentGroup:
    """Add all shared options, files to ``data``; return the group of rare ones, how topics and documents are read.

    ``rerank_depth`` is the depth of the pool where the user names none, by default that of runs.
    """
    parser.set_defaults(field_weights=(1.0, 1.0, 1.0), usual_rerank_depth=rerank_depth)
    more = {"docs": "; a folder in BEIR's or MTEB's layout has topics and judgements too"}
    more["topics"] = ", or an id of ir_datasets"
    data_options(data, "docs", "topics", "qrels", "changed_qrels", "reversed_qrels", more=more)
    _system_options(parser.add_argument_group("systems"), rerank_depth)
    output = parser.add_argument_group("output")
    out_option(output)
    json_option(output)
    reading = parser.add_argument_group(READING)
    data_options(reading, "topics_format", "encoding", "name")
    topic_ids_option(reading)
    _search_options(parser.add_argument_group(SEARCH))
    _further_options(parser.add_argument_group(MORE))
    model_options(parser.add_argument_group(OF_MODELS))
    machine_options(parser)
    engine_options(parser)
    return reading


def _system_options(systems: Group, rerank_depth: int | None) -> None:
    systems.add_argument(
        "--retriever",
        action="extend",
        nargs="+",
        metavar="NAME",
        help="one retriever or several (default: bm25, and on the embedded samples lsa too):"
        + listed({**forms(Retriever), "none": "only runs of --run, or --pool published"}),
    )
    systems.add_argument(
        "--reranker",
        action="extend",
        nargs="+",
        metavar="NAME",
        help=f"one reranker or several, or none (default: polarity):{listed(forms(Reranker))}",
    )
    depth_option(systems, "documents per topic in a run; printed tables leave out measures that look deeper")
    systems.add_argument(
        "--rerank-depth",
        type=positive,
        metavar="N",
        help=f"documents per topic in the pool (default: {rerank_depth or '--depth'})",
    )
    systems.add_argument(
        "--measure",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"more measures: {help_text()}, or 'p-MRR kept' (docs/measures.md)",
    )
    systems.add_argument(
        "--run",
        action="extend",
        nargs="+",
        metavar="NAME=FILE",
        help="runs made elsewhere, to be measured too: NAME.CONDITION=FILE, or NAME=FILE with {condition} in the "
        "file's name",
    )


def depth_option(group: Group, text: str) -> None:
    """Add --depth; ``text`` says which documents it counts."""
    group.add_argument("--depth", type=positive, default=1000, metavar="N", help=f"{text} (default 1000)")


def program_option(group: Group) -> None:
    """Add --config."""
    group.add_argument(
        "--config",
        metavar="TEXT",
        help="the version of programs (command:…); while it is the same, their runs are used again (default: never)",
    )


def maxp_option(group: Group) -> None:
    """Add --maxp."""
    group.add_argument(
        "--maxp",
        nargs="?",
        const="400/200",
        metavar="WORDS/OVERLAP",
        help="score a document by its best passage; passages of WORDS overlap by OVERLAP (default 400/200)",
    )


def keep_own_id_option(group: Group) -> None:
    """Add --keep-own-id."""
    text = "keep a query that is a document itself, by id and text, in its own list (default: it is left out)"
    group.add_argument("--keep-own-id", action="store_true", help=text)


def _further_options(group: Group) -> None:
    group.add_argument(
        "--condition",
        action="extend",
        nargs="+",
        choices=CONDITIONS,
        help="conditions to run (default: all that the topics have)",
    )
    program_option(group)
    group.add_argument(
        "--published",
        choices=("near", "all", "none"),
        default="near",
        help="print systems of a paper that ran the same setting: those with figures near these (default), "
        "all, or none",
    )
    indexes_option(group)
    verify_option(group)


def _search_options(search: Group) -> None:
    search.add_argument(
        "--pool",
        choices=("retrieved", "published"),
        help="documents that rerankers get: those that the retrievers found (default), or the candidates published "
        "with the topics (default of FollowIR and NevIR)",
    )
    maxp_option(search)
    search.add_argument(
        "--reuse-scores",
        action="store_true",
        help="take the scores that a reranker's run over another pool has, and score the other documents alone, if "
        "it scores each by itself; last digits may differ from those of a run made at once",
    )
    keep_own_id_option(search)
    search.add_argument("--k1", type=float, default=K1, help=f"BM25's k1 (default {K1})")
    search.add_argument("--b", type=float, default=B, help=f"BM25's b (default {B})")
    for field, text in FEEDBACK.items():
        default = Feedback._field_defaults[field]
        name, text = f"--{field.replace('_', '-')}", f"{text} (default {default})"
        search.add_argument(name, type=type(default), default=default, metavar="N", help=text)
    search.add_argument(
        "--index",
        metavar="DIR|NAME",
        help="Lucene index of Anserini or Pyserini that BM25 searches: a folder, or the name of a prebuilt index; "
        "Heed compares it with the documents and writes nothing into it",
    )
    search.add_argument(
        "--vectors",
        type=Path,
        metavar="DIR",
        help="vectors of the documents, made by the bi-encoder of --retriever: .npy or Parquet with ids, a flat FAISS "
        "index with docids, or the output of Pyserini's or Tevatron's encode",
    )
    search.add_argument("--faiss", choices=KINDS, default=KINDS[0], help="kind of FAISS index (default exact)")
