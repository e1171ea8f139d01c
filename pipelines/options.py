"""Options that commands share: the same name and meaning everywhere."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed import __version__
from heed.errors import UsageError
from heed.formats.topic_files import OwnFiles
from heed.retrieval.bm25.index import K1, B
from heed.retrieval.dense.search import KINDS
from heed.types import CONDITIONS, PAPERS
from heed.workers import ENGINES

if TYPE_CHECKING:
    from heed.published.figures import Paper, Table


def collection_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that the four collection commands share."""
    parser.set_defaults(field_weights=(1.0, 1.0, 1.0))
    data = parser.add_argument_group("data")
    data.add_argument(
        "--docs",
        nargs="+",
        metavar="PATH",
        help="documents: .jsonl[.gz], folders of them, an ir_datasets id, or a folder in BEIR's or MTEB's layout, "
        "which brings topics and judgements along",
    )
    data.add_argument("--name", metavar="NAME", help="what the collection of --docs is called (default: as its file)")
    data.add_argument("--topics", metavar="PATH", help="topics; the format is recognised")
    data.add_argument(
        "--topics-format", choices=("heed", "neuclir", "tsv", "trec", "mfollowir"), help="read the topics as this form"
    )
    data.add_argument("--qrels", type=Path, metavar="PATH", help="judgements for query and original")
    data.add_argument("--changed-qrels", type=Path, metavar="PATH", help="judgements for changed")
    data.add_argument("--reversed-qrels", type=Path, metavar="PATH", help="judgements for reversed")
    systems = parser.add_argument_group("systems")
    systems.add_argument(
        "--retriever",
        action="append",
        metavar="NAME",
        help="bm25, bm25+rm3, bm25+rocchio, bm25+fields (tables), lsa, an encoder by name, path or hub id, "
        "mteb:NAME by MTEB's code, a class of your own as package.module:Class, or none; repeatable (default: bm25, "
        "lsa)",
    )
    systems.add_argument(
        "--reranker",
        action="append",
        metavar="NAME",
        help="polarity, a model by name, path or hub id (encoders too, by similarity), rank_bm25 (over each "
        "topic's candidates alone), decompose:ENCODER, polarity+NAME, mteb:NAME by MTEB's code, a class of your own as "
        "package.module:Class, or none; repeatable (default: polarity)",
    )
    systems.add_argument(
        "--maxp",
        nargs="?",
        const="400/200",
        metavar="WORDS/OVERLAP",
        help="rerankers score a document by its best passage of so many words (default 400/200)",
    )
    model_options(systems)
    systems.add_argument(
        "--run",
        action="append",
        metavar="NAME=FILE",
        help="a run made elsewhere, measured beside the others: NAME.CONDITION=FILE, or NAME=FILE with {condition} "
        "in it; repeatable",
    )
    systems.add_argument(
        "--condition", action="append", choices=CONDITIONS, help="repeatable (default: all that the topics carry)"
    )
    systems.add_argument(
        "--depth", type=positive, default=1000, metavar="N", help="documents a topic in a run (default 1000)"
    )
    systems.add_argument(
        "--rerank-depth", type=positive, metavar="N", help="documents a topic in the pool (default: --depth)"
    )
    systems.add_argument(
        "--pool",
        choices=("retrieved", "published"),
        help="rescore what the retrievers found (default), or the candidate lists that came with the topics "
        "(default of trec --benchmark)",
    )
    systems.add_argument("--k1", type=float, default=K1, help=f"BM25's k1 (default {K1})")
    systems.add_argument("--b", type=float, default=B, help=f"BM25's b (default {B})")
    systems.add_argument(
        "--shards",
        type=positive,
        default=1,
        metavar="N",
        help="split BM25's index in N, made one after the other and searched as one (default 1)",
    )
    systems.add_argument(
        "--index",
        metavar="DIR|NAME",
        help="BM25 searches this Lucene index of Anserini or Pyserini, a folder or the name of a prebuilt one, "
        "which is compared with the documents and only read",
    )
    systems.add_argument(
        "--vectors",
        type=Path,
        metavar="DIR",
        help="the bi-encoder of --retriever searches these vectors of the documents instead of computing its own: npy "
        "or Parquet with ids, a flat FAISS index with docids, encodings of Pyserini or Tevatron",
    )
    systems.add_argument("--faiss", choices=KINDS, default=KINDS[0], help="kind of FAISS index (default exact)")
    parser.add_argument_group("measures").add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="NAME",
        help="a measure beside the collection's own, such as nDCG@10, alpha_nDCG@20 or 'p-MRR kept' "
        "(docs/measures.md); repeatable",
    )
    machine_options(parser)
    engine_options(parser)
    output_options(parser)


def model_options(systems: argparse._ActionsContainer) -> None:
    """Add how models are described that the registry does not know, and how models are run."""
    entry_options(systems)
    for part in ("query", "document", "prompt"):
        systems.add_argument(f"--{part}-template", metavar="TEXT", help=f"{part} template of models without an entry")
    inference_options(systems)


def entry_options(systems: argparse._ActionsContainer) -> None:
    """Add where the entries of models are that the registry does not know."""
    systems.add_argument(
        "--models", type=Path, metavar="FILE", help="JSON with family, templates and lengths of further models"
    )
    systems.add_argument("--family", metavar="NAME", help="family of models without an entry, such as causal")


def inference_options(systems: argparse._ActionsContainer) -> None:
    """Add what may run, and what runs language models."""
    systems.add_argument(
        "--trust-remote-code", action="store_true", help="run code that comes with a model, at its pinned revision"
    )
    systems.add_argument(
        "--dtype",
        choices=("auto", "float32", "bfloat16", "float16"),
        default="auto",
        help="precision of models' weights (default auto: float32 on a CPU, the model's own on a GPU)",
    )
    systems.add_argument(
        "--batch-size", type=positive, metavar="N", help="at most N texts in a batch (default: as many as fit)"
    )
    systems.add_argument(
        "--max-length",
        type=positive,
        metavar="N",
        help="at most N tokens in a model's input, query, instruction and template included (default: the model's own)",
    )
    systems.add_argument(
        "--inference",
        choices=("transformers", "vllm"),
        default="transformers",
        help="what runs causal, reasoning and local list-wise rerankers; other models are not affected "
        "(default transformers; vllm needs pip install vllm==0.32.0)",
    )
    systems.add_argument(
        "--backend",
        choices=("torch", "openvino"),
        help="what computes bi-encoders and cross-encoders of sentence-transformers; other models are not affected "
        "(default torch; openvino needs an environment of its own, docs/installation.md)",
    )


def runtime_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return how models are run, by the names of :class:`heed.models.local.runtime.Runtime`.

    Raises :class:`UsageError` for --backend with --inference vllm.
    """
    if options.backend and options.inference != "transformers":
        raise UsageError(f"--backend with --inference {options.inference}: leave one of them out")
    names = ("device", "inference", "dtype", "max_length", "batch_size")
    return {**{name: getattr(options, name) for name in names}, "backend": options.backend or "torch"}


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Add threads, device and Java's heap."""
    machine = parser.add_argument_group("machine")
    machine.add_argument(
        "--threads",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="threads for Java and search (default: all cores)",
    )
    device_option(machine)
    machine.add_argument("--heap", default="4g", metavar="SIZE", help="Java's largest heap, as 512m or 8g (default 4g)")


def device_option(machine: argparse._ActionsContainer) -> None:
    """Add where models run."""
    machine.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="where models run: auto, cpu, cuda, cuda:1 for the second GPU, or mps for a Mac's (default auto)",
    )


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add where models run."""
    engine = parser.add_argument_group("engine")
    engine.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="where models run: on this machine, or on a Ray cluster; the results are the same (default local)",
    )
    engine.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="processes that run models (default: one for each GPU; without several GPUs this process does it, "
        "with ray one on each machine)",
    )
    engine.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="the Ray cluster (default: RAY_ADDRESS, else one of the command's own)",
    )


def output_options(parser: argparse.ArgumentParser) -> None:
    """Add where results go and how much is logged."""
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="results (default runs/)")
    output.add_argument(
        "--indexes", type=Path, default=Path("indexes"), metavar="DIR", help="indexes (default indexes/)"
    )
    output.add_argument("--json", type=Path, metavar="FILE", help="write the summary to this file too")
    output.add_argument(
        "--published",
        choices=("near", "all", "none"),
        default="near",
        help="where a paper ran the same setting: its systems next to these (default near), or all of them",
    )
    log_options(output)


def paper_options(parser: argparse.ArgumentParser) -> None:
    """Add which published figures are meant; :func:`published_tables` reads them."""
    parser.add_argument("paper", choices=PAPERS, metavar="PAPER", help=", ".join(PAPERS))
    parser.add_argument("--table", metavar="N", help="this table only, as 4 or 'Table 4' (default: all)")
    parser.add_argument("--system", metavar="NAME", help="this system only, as printed or by the registry's name")
    parser.add_argument("--subset", metavar="NAME", help="this subset only, such as robust04, zho, WTR or average")


def published_tables(options: argparse.Namespace, measure: str | None = None) -> "tuple[Paper, list[Table]]":
    """Return the paper, and the figures of its tables that the options name."""
    from heed.published.figures import find_table, read_paper, select

    paper = read_paper(options.paper)
    tables = [find_table(paper, options.table)] if options.table else paper.tables
    return paper, select(tables, options.system, options.subset, measure)


def log_options(parser: argparse._ActionsContainer) -> None:
    """Add how much a command logs, the same for every command."""
    parser.add_argument("--quiet", action="store_true", help="log no progress")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--version", action="version", version=f"heed {__version__}", help="print Heed's version")


def catalogue_option(parser: argparse._ActionsContainer) -> None:
    """Add a catalogue of collections of the user's own."""
    parser.add_argument(
        "--catalogue", type=Path, metavar="FILE", help="JSON with further collections, in the form of catalogue.json"
    )


def positive(text: str) -> int:
    """Return a whole number from 1, as argparse wants its types."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected at least 1")
    return value


def own_files(options: argparse.Namespace) -> OwnFiles:
    """Return the documents, topics and judgements that the options name."""
    paths = (options.qrels, options.changed_qrels, options.reversed_qrels)
    return OwnFiles(tuple(options.docs or ()), options.topics, options.topics_format, *paths, options.name)
