"""Heed: does a search system do what the user asked?

One package, one step or command per file; data flows one way::

    documents ──► docstore ──► bm25 / dense indexes ─┐
    topics (query + instruction, per condition) ─────┴─► runs ──► pool ──► rerank ──► runs
    runs + qrels ──► measures ──► summary

``python -m pipelines`` lists the commands.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("heed-ir")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0"
