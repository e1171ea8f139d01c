"""What add-ons bring to the core: each entry is imported when it is first asked for, so that the core needs none."""

from importlib import import_module
from typing import Any

from heed.errors import UsageError

BROUGHT = {
    "foreign index": "bridges.foreign_index:open_foreign_index",
    "foreign vectors": "bridges.foreign_vectors:ForeignVectors",
    "late-interaction encoder": "architectures.late_interaction:LateEncoder",
    "late-interaction retriever": "architectures.late_retriever:LateRetriever",
    "prebuilt index": "bridges.prebuilt:find_index",
    "program": "bridges.programs:Program",
    "systems command:": "bridges.programs:make_program",
    "systems mteb:": "bridges.mteb_models:mteb_model",
    "workers": "cluster.shared:shared",
}


def brought(key: str) -> Any:
    """Return an add-on's function or class for ``key``; :class:`UsageError` where the add-on is not installed."""
    module, _, name = BROUGHT[key].partition(":")
    try:
        return getattr(import_module(f"heed.addons.{module}"), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("heed.addons"):
            raise
        raise UsageError(f"{key}: needs the add-on heed.addons.{module}, which is not installed") from error
