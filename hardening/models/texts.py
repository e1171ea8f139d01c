"""Odd texts in five scripts, and tokenizers of real classes that know half of their words."""

import random
from functools import cache
from typing import Any, NamedTuple

from heed.types import Document, Query

WORDS = {
    "Latin": "storm river damage report the harbour a of and not only ferry accident injured year yes no bridge water",
    "Cyrillic": "буря река ущерб отчёт порт паром авария только год мост вода не и люди город север",
    "Arabic": "عاصفة نهر ضرر تقرير ميناء عبارة حادث فقط سنة جسر ماء لا و ناس مدينة شمال",
    "Han": "风暴 河流 损失 报告 港口 渡轮 事故 只 年 桥梁 水 不 和 人 城市 北方",
    "Devanagari": "तूफान नदी क्षति विवरण बंदरगाह नौका दुर्घटना केवल वर्ष पुल पानी नहीं और लोग नगर उत्तर",
}
SCRIPTS = {script: words.split() for script, words in WORDS.items()}
KNOWN = [word for words in SCRIPTS.values() for word in words[::2]] + ["yes", "no", "Query", "Document", "Relevant"]
LETTERS = sorted(
    {letter for words in SCRIPTS.values() for word in words for letter in word} | set(map(chr, range(33, 127)))
)
LENGTHS = (1, 2, 5, 9, 14, 25, 60, 130, 300, 600)  # words
LITERALS = ("<pad>", "[PAD]", "</s>", "[SEP]", "<unk>", "<|endoftext|>", "[MASK]")
ODD = (
    "storm\u00a0damage\u200b",
    "🌊🌊 storm 🚢",
    "ﬁne ﬂood № 5",
    "a\ttab and\r\na line",
    "\ufffd \x07",
    "(x_1)!?{query}",
)
UNLIMITED = 10**30  # as transformers writes it


class Texts(NamedTuple):
    """A query with an instruction, or without, and a pool of documents."""

    query: Query
    documents: list[Document]


def draw_texts(chooser: random.Random) -> Texts:
    """Return an odd pool: empty, of literal special tokens, with white space at its ends, of up to 600 words."""
    asked = " ".join(_words(chooser, chooser.randint(1, 4)))
    if chooser.random() < 0.2:
        asked += f" {chooser.choice(LITERALS)}"
    instruction = " ".join(_words(chooser, 5)) if chooser.random() < 0.7 else ""
    texts = [" ".join(_words(chooser, count)) for count in LENGTHS]
    for _ in range(2):
        literal = chooser.choice(LITERALS)
        texts.append(f"{' '.join(_words(chooser, 3))} {literal} to fill, {' '.join(_words(chooser, 4))}")
    texts += ["storm <pad> damage", f" {texts[3]}", f"\n\t{texts[2]} \n", chooser.choice(ODD)]
    chooser.shuffle(texts)
    texts.insert(0 if chooser.random() < 0.5 else len(texts), "")
    documents = [Document(f"d{at}", _title(chooser), text) for at, text in enumerate(texts)]
    if not texts[0]:
        documents[0] = documents[0]._replace(title="")
    query = Query(
        "1", f"{asked} {instruction}".strip(), asked, instruction, "eng", "original" if instruction else "query"
    )
    return Texts(query, documents)


def _title(chooser: random.Random) -> str:
    return " ".join(_words(chooser, 2)) if chooser.random() < 0.3 else ""


def _words(chooser: random.Random, count: int) -> list[str]:
    words = SCRIPTS[chooser.choice([*SCRIPTS])]
    return chooser.choices(words, k=count)


def tokenizer(kind: str, options: dict[str, Any]) -> Any:
    """Return a new tokenizer: ``wordpiece``, ``unigram``, ``t5``, ``bytes``, ``qwen`` or ``llama``.

    Vocabularies are written out, for those that are learnt differ from process to process. ``options`` are those of
    the class: what is set later is not saved.
    """
    import transformers

    if kind == "wordpiece":
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        pieces = [*special, *LETTERS, *(f"##{letter}" for letter in LETTERS), *KNOWN]
        vocab = {piece: at for at, piece in enumerate(dict.fromkeys(pieces))}
        return transformers.BertTokenizer(vocab=vocab, **options)
    if kind == "unigram":
        return transformers.XLMRobertaTokenizer(vocab=_scored(["<s>", "<pad>", "</s>", "<unk>"]), **options)
    if kind == "t5":
        return transformers.T5Tokenizer(vocab=_scored(["<pad>", "</s>", "<unk>"]), extra_ids=0, **options)
    if kind == "llama":
        fallback = [f"<0x{byte:02X}>" for byte in range(256)]
        vocab, merges = _merged(["<unk>", "<s>", "</s>", *fallback, "▁", *LETTERS], [f"▁{word}" for word in KNOWN])
        return transformers.LlamaTokenizer(vocab=vocab, merges=merges, add_bos_token=True, **options)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if kind == "bytes" else ["<|endoftext|>"]
    words = [*(_as_bytes(f" {word}") for word in KNOWN), *map(_as_bytes, KNOWN)]
    vocab, merges = _merged([*special, *_byte_letters()], words)
    made = transformers.RobertaTokenizer if kind == "bytes" else transformers.Qwen2Tokenizer
    return made(vocab=vocab, merges=merges, **options)


def _scored(special: list[str]) -> list[tuple[str, float]]:
    """Return the entries of a Unigram model: words are likelier than their letters."""
    words = [f"▁{word}" for word in KNOWN]
    return [
        *((one, 0.0) for one in special),
        ("▁", -3.0),
        *((one, -4.0) for one in words),
        *((one, -9.0) for one in LETTERS),
    ]


def _merged(pieces: list[str], words: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the vocabulary and merges of a BPE model that reads ``words`` from left to right."""
    merges = dict.fromkeys((word[:at], word[at]) for word in words for at in range(1, len(word)))
    every = dict.fromkeys([*pieces, *(first + second for first, second in merges)])
    return {piece: at for at, piece in enumerate(every)}, [*merges]


@cache
def _byte_letters() -> list[str]:
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _as_bytes(word: str) -> str:
    """Return a word in the letters that stand for bytes."""
    from tokenizers import pre_tokenizers

    return "".join(
        part for part, _ in pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(word)
    )
