"""How soon a command with an encoder or a cross-encoder starts, compared with sentence-transformers alone.

Tiny models, four documents. ``python -m benchmarks.starts FILE ARGUMENT…`` runs ``trec``, ``python -m benchmarks.starts
FILE load CLASS FOLDER`` loads a model by sentence-transformers; both write to FILE when they open the weights.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.timing import Measured, Row, Seconds, Settings, run

MORE = 1.0  # seconds that a command may take more than the script
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
KEYS = {"num_key_value_heads": 2}  # of decoders
UNSET = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"))  # defaults no tiny model has
T5_SIZES = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2}
KINDS = (  # transformers' classes of models; head; class of sentence-transformers
    ("Bert", "Model", "SentenceTransformer"),
    ("ModernBert", "Model", "SentenceTransformer"),
    ("Qwen3", "Model", "SentenceTransformer"),
    ("T5", "EncoderModel", "SentenceTransformer"),
    ("Bert", "ForSequenceClassification", "CrossEncoder"),
    ("DebertaV2", "ForSequenceClassification", "CrossEncoder"),
)
TEXTS = ["a river in the north", "numbers from one to twelve", "no more than a few words", "where rivers meet"]


def measure(settings: Settings) -> Measured:
    """Make each model, start a command and a script with it, in turn."""
    repeat, rows = settings.repetitions(3), list[Row]()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        documents = [{"id": f"d{number}", "text": text} for number, text in enumerate(TEXTS)]
        (work / "docs.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
        (work / "topics.tsv").write_text("1\ta river\n2\tnumbers of words\n")
        for kind in KINDS[: 1 if settings.quick else None]:
            rows += _rows(work, *kind, repeat)
    about = (
        "`heed trec` with a tiny model over four documents, until it opens the model's weights and until its end, and "
        "a script that imports sentence-transformers and loads the same model. The command may take "
        f"{MORE:g} second more than the script. Repetitions: {repeat}."
    )
    return Measured(about, rows)


def _rows(work: Path, kind: str, head: str, loader: str, repeat: int) -> tuple[Row, Row]:
    """Return the rows of a model: until its weights are opened, and the whole command."""
    model, encodes = _model(work, kind, head), loader == "SentenceTransformer"
    systems = (str(model), "none") if encodes else ("bm25", str(model))
    opened, ended, limits = list[Seconds](), list[Seconds](), list[Seconds]()
    for number in range(repeat):
        folder = work / f"{model.name}-{number}"
        command = [
            "--docs",
            "docs.jsonl",
            "--topics",
            "topics.tsv",
            "--condition",
            "query",
            "--device",
            "cpu",
            "--quiet",
        ]
        command += ["--out", str(folder / "runs"), "--indexes", str(folder / "indexes")]
        command += ["--retriever", systems[0], "--reranker", systems[1]]
        for times, whole in zip((opened, ended), _seconds(work, command), strict=True):
            times.append(whole)
        [(wall, processor), _] = _seconds(work, ["load", loader, str(model)])
        limits.append((wall + MORE, processor + MORE))
    name, peer = f"{'encoder' if encodes else 'cross-encoder'} {kind}", f"sentence-transformers, plus {MORE:g} s"
    return (
        Row(f"{name}, until its weights are opened", peer, opened, limits, 1, ""),
        Row(f"{name}, the whole command", peer, ended, limits, None, ""),
    )


def _seconds(work: Path, arguments: list[str]) -> tuple[Seconds, Seconds]:
    """Return the seconds until a process opens a model's weights, and of the whole process."""
    mark, start = work / "opened.json", time.time()
    whole, _ = run(work, "benchmarks.starts", str(mark), *arguments)
    moment, processor = json.loads(mark.read_text())
    return (moment - start, processor), whole


def _model(work: Path, kind: str, head: str) -> Path:
    """Return the folder of a network of transformers with random weights."""
    import torch
    import transformers

    from benchmarks.neural_models import word_pieces

    folder, tokenizer = work / f"{kind}{head}", word_pieces(TEXTS)
    sizes: dict[str, Any] = {
        **(T5_SIZES if kind == "T5" else {**SIZES, **KEYS, **UNSET}),
        "vocab_size": len(tokenizer),
        "pad_token_id": 0,
    }
    labels = {"num_labels": 1} if head.startswith("For") else {}
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**sizes, **labels)
    getattr(transformers, f"{kind}{head}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _mark(file: Path) -> None:
    """Write the time, and this process's processor time, when weights are opened for torch for the first time."""
    import safetensors

    opened = safetensors.safe_open

    def opening(path: Any, framework: str, *others: Any, **named: Any) -> Any:
        if framework == "pt" and not file.exists():
            file.write_text(json.dumps([time.time(), time.process_time()]))
        return opened(path, framework, *others, **named)

    file.unlink(missing_ok=True)
    safetensors.safe_open = opening


if __name__ == "__main__":
    _mark(Path(sys.argv.pop(1)))
    if sys.argv[1] == "load":
        import sentence_transformers

        getattr(sentence_transformers, sys.argv[2])(sys.argv[3], device="cpu")
        sys.exit()
    from pipelines.trec import main

    sys.exit(main())
