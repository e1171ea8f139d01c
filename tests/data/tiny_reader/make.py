"""Write a tiny reader of instructions beside this file: ``python tests/data/tiny_reader/make.py``; needs onnx.

It has two layers of 16 with weights at random, and each letter of the embedded topics is a piece of its vocabulary.
"""

import hashlib
import json
from pathlib import Path

import torch

from heed.instructions.reader import FILES
from heed.types import KINDS
from reader import export, network
from reader.vocabulary import SPECIAL, tokenizer_of

FOLDER = Path(__file__).parent
TOPICS = FOLDER.parents[2] / "topics" / "neuclir-sample"
network.HIDDEN, network.HEADS, network.INNER, export.HEADS = 16, 2, 32, 2

texts = [path.read_text(encoding="utf-8") for path in sorted(TOPICS.glob("*.jsonl"))]
letters = sorted({letter for text in texts for letter in text if text.count(letter) > 9 and not letter.isspace()})
pieces = [*((piece, 0.0) for piece in SPECIAL), ("▁", -2.0), *((letter, -3.0) for letter in letters)]
tokenizer, kept = tokenizer_of(pieces, texts)
torch.manual_seed(47)
export.write(network.Tagger(len(kept), layers=2), FOLDER)
tokenizer.save(str(FOLDER / FILES[0]), pretty=False)
digests = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in FILES}
settings = {"change": 0.1, "favour": [0.0, 0.0, 0.0], "languages": ["eng"]}
card = {"name": "tiny", "kinds": KINDS, **settings, "digests": digests}
(FOLDER / "card.json").write_text(json.dumps(card, indent=1) + "\n")
