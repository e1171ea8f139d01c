"""The question put to a list-wise reranker: numbered passages around the query, as long as there is room for."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from heed.errors import ModelError
from heed.languages import counted, words_in
from heed.models.registry import Model
from heed.models.rendering import document_text
from heed.tables.text import fit
from heed.templates import placed
from heed.types import Document

Message = dict[str, str]  # role and content, as chat templates and the OpenAI protocol have them

WINDOW = 20  # documents in one question: Sun and others, RankGPT, EMNLP 2023, and rank_llm's default
WORDS = 300  # of each of these to begin with: rank_llm's create_prompt
# a run of letters longer than this counts as several words: text without spaces must be cut too
LONGEST_WORD = 20
WORD = counted(LONGEST_WORD)
IDENTIFIER = re.compile(r"\[\s*(\d+)\s*\]")


class Pieces(NamedTuple):
    """The texts of a prompt, with ``{num}``, ``{query}``, ``{rank}`` and ``{candidate}``.

    ``welcome`` and ``receipt`` are the assistant's supposed answers to the opening and to each passage;
    without them all goes into one message, ``between`` separating the passages. ``thought`` is how many tokens the
    model may write, its ranking included, which is then the last line; 0 for an answer that is a ranking alone.
    ``multiples``: fewer than ``WINDOW`` passages have a multiple of ``WORDS`` words each, else as many as ``WINDOW``
    of them have together.
    """

    system: str
    opening: str
    passage: str
    closing: str
    welcome: str = ""
    receipt: str = ""
    between: str = ""
    thought: int = 0
    multiples: bool = False


# rank_llm's src/rank_llm/rerank/prompt_templates/: no character may change
RANK_LLM = Pieces(  # rank_zephyr_template.yaml at cdc43ed; this wording came on 6 June 2025
    "You are RankLLM, an intelligent assistant that can rank passages based on their relevancy to the query",
    "I will provide you with {num} passages, each indicated by a numerical identifier []. Rank the passages based on "
    "their relevance to the search query: {query}.\n",
    "[{rank}] {candidate}\n",
    "Search Query: {query}.\nRank the {num} passages above based on their relevance to the search query. All the "
    "passages should be included and listed using identifiers, in descending order of relevance. The output format "
    "should be [] > [], e.g., [2] > [1], Answer concisely and directly and only respond with the ranking results, do "
    "not say any word or explain.",
)
# rank_listwise_os_llm.py at 1e79c19, from January 2024 to June 2025: RankZephyr was trained with it
RANK_ZEPHYR = RANK_LLM._replace(
    opening=RANK_LLM.opening + "\n",
    closing=RANK_LLM.closing.replace("Answer concisely and directly and only respond", "Only respond"),
)
# the same file without a system message, which leaves FastChat's own of vicuna_v1.1, and for windows of one size
RANK_VICUNA = RANK_ZEPHYR._replace(
    system="A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
    "detailed, and polite answers to the user's questions.",
    closing=RANK_ZEPHYR.closing.replace("[2] > [1]", "[4] > [2]"),
)
RANK_GPT = Pieces(  # rank_gpt_template.yaml at 681cda9
    "You are RankGPT, an intelligent assistant that can rank passages based on their relevancy to the query.",
    "I will provide you with {num} passages, each indicated by number identifier [].\n"
    "Rank the passages based on their relevance to query: {query}.",
    "[{rank}] {candidate}",
    "Search Query: {query}.\nRank the {num} passages above based on their relevance to the search query. The passages "
    "should be listed in descending order using identifiers. The most relevant passages should be listed first. The "
    "output format should be [] > [], e.g., [1] > [2]. Only response the ranking results, do not say any word or "
    "explain.",
    welcome="Okay, please provide the passages.",
    receipt="Received passage [{rank}].",
    multiples=True,
)
RANK_GPT_2024 = RANK_GPT._replace(  # rank_gpt.py before it became a template: a space before two line breaks
    opening=RANK_GPT.opening.replace("\n", " \n"),
    closing=RANK_GPT.closing.replace("\n", " \n"),
    multiples=False,
)
RANK_GEMINI = RANK_LLM._replace(  # the system instruction is in rerank/listwise/rank_gemini.py at 04bcafd
    system="As RankGemini, your task is to evaluate and rank unique passages based on their relevance and accuracy to "
    "a given query. Prioritize passages that directly address the query and provide detailed, correct answers. Ignore "
    "factors such as length, complexity, or writing style unless they seriously hinder readability."
)
# rerank.py of hltcoe/rank-k at 9b9dd2b: rank_k_prompt, with its spaces at lines' ends; max_tokens is its README's
RANK_K = Pieces(
    "",
    "\nDetermine a ranking of the passages based on how relevant they are to the query. \n"
    "If the query is a question, how relevant a passage is depends on how well it answers the question. \n"
    "If not, try analyze the intent of the query and assess how well each passage satisfy the intent. \n"
    "The query may have typos and passages may contain contradicting information. \n"
    "However, we do not get into fact-checking. We just rank the passages based on they relevancy to the query. \n\n"
    "Sort them from the most relevant to the least. \n"
    "Answer with the passage number using a format of `[3] > [2] > [4] = [1] > [5]`. \n"
    "Ties are acceptable if they are equally relevant. \n"
    "I need you to be accurate but overthinking it is unnecessary.\n"
    "Output only the ordering without any other text.\n\nQuery: {query}\n\n",
    "[{rank}] {candidate}",
    "\n",
    between="\n\n",
    thought=8000,
)
PROMPTS = {
    **{"rank_zephyr": RANK_ZEPHYR, "rank_vicuna": RANK_VICUNA, "rank_llm": RANK_LLM, "rank_gemini": RANK_GEMINI},
    **{"rank_gpt": RANK_GPT, "rank_gpt_2024": RANK_GPT_2024, "rank_k": RANK_K},
}


def pieces(model: Model, default: str) -> Pieces:
    """Return the texts that the entry's ``prompt`` names, or those of ``default``; :class:`ModelError` for others."""
    name = model.prompt or default
    if name not in PROMPTS:
        raise ModelError(f"{model.source}: prompt is {name[:60]!r}, expected one of {', '.join(PROMPTS)} (list-wise)")
    return PROMPTS[name]


def messages(texts: Pieces, query: str, passages: Sequence[str]) -> list[Message]:
    """Return the conversation that asks the model to rank ``passages``, which are numbered from 1."""
    query, num = _unnumbered(query), str(len(passages))
    numbered = [
        (placed(texts.passage, rank=str(rank), candidate=text), placed(texts.receipt, rank=str(rank)))
        for rank, text in enumerate(passages, 1)
    ]
    opening, closing = (placed(text, query=query, num=num) for text in (texts.opening, texts.closing))
    if not texts.receipt:
        turns = [("user", opening + texts.between.join(passage for passage, _ in numbered) + closing)]
    else:
        exchanges = [(opening, texts.welcome), *numbered]
        turns = [turn for user, assistant in exchanges for turn in (("user", user), ("assistant", assistant))]
        turns.append(("user", closing))
    if texts.system:
        turns.insert(0, ("system", texts.system))
    return [{"role": role, "content": text} for role, text in turns]


def most_words(texts: Pieces, count: int) -> int:
    """Return how many words of each of ``count`` passages are shown at most, as in rank_llm's ``create_prompt``."""
    return WORDS * (WINDOW // count) if texts.multiples else WORDS * WINDOW // count


def longest(
    model: Model,
    documents: Sequence[Document],
    most: int,
    ask: Callable[[list[str]], list[Message]],
    fits: Callable[[list[Message]], bool],
) -> list[Message]:
    """Return the conversation that ``ask`` makes of passages with the most words, up to ``most``, that ``fits``.

    All are cut to the same number of words, at most ``most``, or the entry's ``document_length``, which their tokens
    were cut to. Raises :class:`ModelError` where not one word of each fits: query and instruction are never cut.
    """

    def conversation(words: int) -> list[Message]:
        return ask([passage(model, document, words) for document in documents])

    most = model.document_length or most
    whole = conversation(most)
    if fits(whole):
        return whole
    words = bisect_left(range(1, most), True, key=lambda words: not fits(conversation(words)))
    if not words:
        raise ModelError(
            f"query and instruction leave no room for one word of each of {len(documents)} passages; "
            "set a larger max_length in the model's entry, or choose a model with a longer context"
        )
    return conversation(words)


def passage(model: Model, document: Document, words: int) -> str:
    """Return a document in the model's template, cut to ``words`` words; ``[7]`` in it becomes ``(7)``.

    A table is cut between rows, and keeps its lines; other text becomes one line.
    """
    if not document.is_table:
        text = document_text(model, document.title, document.text)
        return _unnumbered(" ".join(_first(text, words).split()))
    room = words - _count(document_text(model, document.title, ""))
    text = document_text(model, document.title, fit(document.text, room, _count))
    return _unnumbered(_first(text, words))


def _unnumbered(text: str) -> str:
    return IDENTIFIER.sub(r"(\1)", text)


def _first(text: str, words: int) -> str:
    """Return the beginning of ``text``, ``words`` words long; a Chinese or Thai character counts as a part of one."""
    total = 0.0
    for word in WORD.finditer(text):
        total += words_in(word[0])
        if total > words + 0.5:  # sums of fractions must not move a boundary by a character
            return text[: word.start()].rstrip()
    return text


def _count(text: str) -> int:
    return round(sum(words_in(word) for word in WORD.findall(text)))
