"""What add-ons bring to the core: each entry is imported when it is first asked for, so that the core needs none."""

from importlib import import_module
from typing import Any

from heed.errors import UsageError

BROUGHT = {
    # networks that no library has, by the class that config.json names
    "bi-encoder NVEmbedModel": "architectures.nv_embed:load_nv_embed",
    "cross-encoder EncT5ForSequenceClassification": "architectures.enc_t5:load_enc_t5",
    "explorer of a report": "explorer.embedded:embedded",  # topics and documents, as a part of the page
    "family api-chat": "apis.listwise:api_listwise",
    "family api-embedding": "apis.encoder:ApiEncoder",
    "family api-rerank": "apis.rerank:ApiReranker",
    "family late-interaction": "architectures.late_interaction:LateReranker",
    "family learned-sparse": "architectures.learned_sparse:SparseReranker",
    "family table-encoder": "architectures.table_encoder:TableEncoder",
    "foreign index": "bridges.foreign_index:open_foreign_index",
    "foreign vectors": "bridges.foreign_vectors:ForeignVectors",
    "inference vllm": "architectures.vllm:VllmModel",
    "late-interaction encoder": "architectures.late_interaction:LateEncoder",
    "late-interaction model": "architectures.late_interaction:load_late_model",
    "late-interaction retriever": "architectures.late_interaction:LateRetriever",
    "learned-sparse encoder": "architectures.learned_sparse:SparseTextEncoder",
    "learned-sparse model": "architectures.learned_sparse:load_sparse_model",
    "learned-sparse retriever": "architectures.learned_sparse:SparseRetriever",
    "models of a paper": "published.figures:in_tables",  # with their printed names
    "models that papers call so": "published.figures:called",
    "names in papers": "published.figures:names_of",  # of a model
    "prebuilt index": "bridges.prebuilt:find_index",
    "program": "bridges.programs:Program",
    "published figures": "published.standings:by_column",  # of papers, by condition and measure
    "published rows": "published.standings:published_text",  # where one's own systems stand, as text
    "published notes": "published.standings:explanations",  # why figures of systems differ from those of papers
    "published tables": "published.standings:grids",  # of papers, with one's own systems between theirs
    "service's address": "apis.rerank:missing_address",  # the environment variable that is missing
    "service's instruction": "apis.rerank:instruction_field",  # the field that it is sent in
    "systems command:": "bridges.programs:make_program",
    "systems mteb:": "bridges.mteb:mteb_model",
    "workers": "cluster:Workers",  # how many, and where
    "workers of a system": "cluster.shared:shared",
}


def brought(key: str) -> Any:
    """Return the function or class of an add-on for ``key``; :class:`UsageError` where the add-on is not installed."""
    module, _, name = BROUGHT[key].partition(":")
    try:
        return getattr(import_module(f"heed.addons.{module}"), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("heed.addons"):
            raise
        raise UsageError(f"{key}: its add-on, heed.addons.{module.partition('.')[0]}, is not installed") from error


def brought_if_here(key: str) -> Any | None:
    """Return the function or class of an add-on for ``key``; None where the add-on is not installed."""
    try:
        return brought(key)
    except UsageError:
        return None
