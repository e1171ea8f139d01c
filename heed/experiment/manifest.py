"""``manifest.yml`` beside the runs: ir_metadata 0.1 fields (never inside a run: most readers reject ``#``)."""

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heed import __version__
from heed.datasets.collection import Collection
from heed.experiment.run_files import SystemRuns
from heed.extras import installed_version
from heed.files import digest_json, write_bytes
from heed.retrieval.lucene.jvm import anserini_version
from heed.reuse import Recipe

SCHEMA = "0.1"  # irgroup/ir_metadata
LIBRARIES = ("pyserini", "faiss-cpu", "torch", "transformers", "sentence-transformers", "scipy", "ir-measures")


def manifest(
    command: str, collection: Collection, documents: str, systems: Sequence[SystemRuns], settings: Recipe
) -> Recipe:
    """Return how ``command`` made the runs of ``systems``; without times, so that it never differs by itself.

    ``documents`` is the digest of the collection's documents; ``settings`` are those of the experiment.
    """
    data = {
        "name": f"{collection.name}/{collection.subset}",
        "documents": documents,
        "query and instruction": collection.join,
        "topics": digest_json(collection.topics),
        "qrels": {condition: digest_json(qrels) for condition, qrels in collection.judging.qrels.items()},
    }
    manifest = {
        "schema-version": SCHEMA,
        "run-version": __version__,
        "platform": _platform(),
        "implementation": {"executable": {"cmd": command}, "source": {"lang": "python"}},
        "method": {
            "automatic": True,
            "score ties": "score descending, then docid descending (trec_eval)",
        },
        "data": {"test collection": data},
        "settings": settings,
    }
    return of_systems(manifest, systems)


def of_systems(manifest: Recipe, systems: Sequence[SystemRuns]) -> Recipe:
    """Return a manifest with ``systems`` as those that made its runs."""
    methods = [{"name": each.name, "parameters": each.config} for each in systems if each.config is not None]
    elsewhere = {"made elsewhere": [each.name for each in systems if each.config is None]}
    method, settings = manifest.get("method") or {}, manifest.get("settings") or {}
    return {**manifest, "method": {**method, "retrieval": methods}, "settings": {**settings, **elsewhere}}


def write_manifest(path: Path, manifest: Recipe) -> None:
    """Write what :func:`manifest` returned."""
    import yaml

    plain = json.loads(json.dumps(manifest))  # as notes have it: without parts that are one object in memory
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)
    write_bytes(path, text.encode())


def _platform() -> dict[str, Any]:
    return {
        "hardware": {"cpu": {"architecture": platform.machine(), "number of cores": os.cpu_count()}},
        "operating system": {"kernel": platform.release()},
        "software": {
            "python": platform.python_version(),
            "libraries": {name: installed_version(name) for name in LIBRARIES},
            "retrieval toolkit": [f"Anserini {anserini_version()}"],
        },
    }
