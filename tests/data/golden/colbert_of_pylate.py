"""Record the scores of pylate 1.6.0 on a tiny ColBERT whose weights are made by arithmetic, in colbert_of_pylate.json.

    python tests/support/golden_models.py FOLDER
    uv venv v --python 3.11
    uv pip install --python v/bin/python --no-deps pylate==1.6.0
    uv pip install --python v/bin/python torch==2.13.0 sentence-transformers==5.3.0 transformers==5.3.0 \
        accelerate pandas ujson datasets
    v/bin/python tests/data/golden/colbert_of_pylate.py FOLDER

The first command runs in Heed's environment. fast-plaid, which pylate asks for, is for its index and is not needed.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from golden_texts import ASKED, DOCUMENTS
from pylate import models, scores

FOLDER = Path(sys.argv[1])
LENGTHS = {"query_length": 64, "document_length": 180}


def recorded(attend):
    """Return MaxSim of every query with its instruction and every document, and how many vectors each text has."""
    model = models.ColBERT(str(FOLDER / "colbert"), device="cpu", attend_to_expansion_tokens=attend, **LENGTHS)
    asked = model.encode(
        [" ".join(one) for one in ASKED], is_query=True, convert_to_tensor=True, convert_to_numpy=False
    )
    texts = [f"{title} {text}".strip() for title, text in DOCUMENTS.values()]
    found = model.encode(texts, is_query=False, convert_to_tensor=True, convert_to_numpy=False, batch_size=1)
    return {
        "scores": [[float(scores.colbert_scores(one[None], text[None])) for text in found] for one in asked],
        "vectors": [[len(one) for one in asked], [len(one) for one in found]],
    }


with torch.no_grad():
    results = {
        "program": f"pylate {version('pylate')}",
        "beside": f"sentence-transformers {version('sentence-transformers')}, transformers {version('transformers')}",
        "script": "tests/data/golden/colbert_of_pylate.py",
        **LENGTHS,
        "attend": recorded(True),
        "mask": recorded(False),
    }
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
