"""The reader's tokenizer: the frequent pieces of the encoder's vocabulary, after folding of equal spellings."""

import unicodedata
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from heed.instructions.reader import APOSTROPHES, TAGS

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
FREQUENT = 51_000  # pieces are in the order of their frequency
SCRIPTS = ("LATIN", "CYRILLIC", "ARABIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "DEVANAGARI", "FULLWIDTH")
HAN = "[\u3001-\u30ff\u3400-\u9fff\uff00-\uff65]"
FOLDED = (  # from left to right; the tokenizer keeps count of where each letter stood
    *((Regex(f"(?i){tag.pattern}"), blank) for blank, tag in TAGS.items()),
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", '"'),
    (Regex("&(?:#0*39|apos);"), "'"),
    ("&nbsp;", " "),
    ("\u200c", " "),
    (Regex("[\u00ad\u200b\u200d-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"), ""),  # nobody sees them
    (Regex(f"(?<={HAN})\\s+(?={HAN})"), ""),  # a line break or blanks within a Chinese or Japanese sentence
    (Regex(f"[{APOSTROPHES}]"), "'"),
    (Regex("[\u0640\u064b-\u0655\u0670]"), ""),  # tatweel and vowel signs
)


def tokenizer_of(pieces: Sequence[tuple[str, float]], texts: Iterable[str]) -> tuple[Tokenizer, list[int]]:
    """Return the tokenizer and the numbers of the pieces that it keeps: frequent ones, and those that texts have."""
    whole = _tokenizer(pieces)
    seen = {number for text in texts for number in whole.encode(text).ids}
    kept = [
        number
        for number, (piece, _) in enumerate(pieces)
        if number < len(SPECIAL) or number in seen or (number < FREQUENT and _known(piece))
    ]
    return _tokenizer([pieces[number] for number in kept]), kept


def _known(piece: str) -> bool:
    return all(unicodedata.name(letter, "").startswith(SCRIPTS) for letter in piece if letter.isalpha())


def _tokenizer(pieces: Sequence[tuple[str, float]]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram(list(pieces), unk_id=SPECIAL.index("<unk>")))
    folds = [normalizers.Replace(pattern, content) for pattern, content in FOLDED]
    tokenizer.normalizer = normalizers.Sequence([*folds, normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", prepend_scheme="always")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", SPECIAL.index("<s>")), ("</s>", SPECIAL.index("</s>"))]
    )
    return tokenizer
