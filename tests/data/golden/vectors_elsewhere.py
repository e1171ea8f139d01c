"""Write vectors_elsewhere.json: files of vectors as other programs write them, for test_foreign_vectors.py.

    python tests/data/golden/vectors_elsewhere.py PYSERINI   # with numpy 1.26.4 and faiss-cpu

PYSERINI is the folder of an installed Pyserini. Its two writers are taken from their files; importing the package would
start Java. Tevatron's driver ends with ``pickle.dump((encoded, lookup_indices), f)``, repeated here: that is all
of the program that decides the form, and numpy 1 names its modules differently in it.
"""

import base64
import importlib.util
import json
import pickle
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import numpy as np


def writers(package: Path) -> tuple[Any, Any]:
    """Return Pyserini's writers of JSON lines and of FAISS indexes."""
    sys.modules["pyserini"], sys.modules["pyserini.encode"] = types.ModuleType("a"), types.ModuleType("b")
    sys.modules["pyserini.util"] = types.ModuleType("c")
    sys.modules["pyserini.util"].download_encoded_queries = None  # type: ignore[attr-defined]
    modules = []
    for name in ("_base", "optional._faiss"):
        path = package / "encode" / f"{name.replace('.', '/')}.py"
        spec = importlib.util.spec_from_file_location(f"pyserini.encode.{name}", path)
        assert spec and spec.loader
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(module)
    return modules[0].JsonlRepresentationWriter, modules[1].FaissRepresentationWriter


def main() -> None:
    """Write two vectors in each form."""
    vectors, docids = np.random.default_rng(0).random((2, 4), dtype=np.float32), ["b", "ä"]
    folder = Path(tempfile.mkdtemp())
    lines, index = writers(Path(sys.argv[1]))
    for writer in (lines(str(folder / "json")), index(str(folder / "faiss"), dimension=4)):
        with writer:
            writer.write({"id": docids, "vector": vectors, "text": ["x", "y"]}, ["text"])
    (folder / "tevatron").mkdir()
    with (folder / "tevatron" / "corpus_emb.pkl").open("wb") as out:
        pickle.dump((vectors.astype(np.float16), docids), out)
    files = {
        form: {path.name: base64.b64encode(path.read_bytes()).decode() for path in sorted((folder / form).iterdir())}
        for form in ("json", "faiss", "tevatron")
    }
    found = {
        "program": f"Pyserini 1.6.0's writers; numpy {np.__version__}'s pickle",
        "command": "python tests/data/golden/vectors_elsewhere.py .venv/lib/python3.11/site-packages/pyserini",
        "docids": docids,
        "vectors": vectors.tolist(),
        "files": files,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
