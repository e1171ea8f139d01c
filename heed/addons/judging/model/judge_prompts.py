"""What a model is asked to judge a document, and the grade in its answer: UMBRELA's, from 0 to 3.

Upadhyay, Pradeep, Thakur, Craswell and Lin, UMBRELA: UMbrela is the (Open-Source Reproduction of the) Bing RELevance
Assessor, arXiv 2406.06519, 2024. The texts are castorini/umbrela's (Apache-2.0): no character may change.
"""

import re

from heed.models.rerankers.listwise import THINK, THOUGHT, Message
from heed.templates import placed

GRADES = (0, 1, 2, 3)
SYSTEM = "You are a helpful assistant."  # umbrela 0.0.7, gpt_judge.py
EXPECTED = "##final score: 0"  # an answer, for the estimate of the cost
# src/umbrela/prompts/qrel_zeroshot_bing.txt at 16cba3e, the paper's zero-shot prompt
PROMPT = """\
Given a query and a passage, you must provide a score on an integer scale of 0 to 3 with the following meanings:
0 = represent that the passage has nothing to do with the query,\x20
1 = represents that the passage seems related to the query but does not answer it,\x20
2 = represents that the passage has some answer for the query, but the answer may be a bit unclear, or hidden amongst \
extraneous information and\x20
3 = represents that the passage is dedicated to the query and contains the exact answer.

Important Instruction: Assign category 1 if the passage is somewhat related to the topic but not completely, category \
2 if passage presents something very important related to the entire topic but also has some extra information and \
category 3 if the passage only and entirely refers to the topic. If none of the above satisfies give it category 0.

Query: {query}
Passage: {passage}

Split this problem into steps:
Consider the underlying intent of the search.
Measure how well the content matches a likely intent of the query (M).
Measure how trustworthy the passage is (T).
Consider the aspects above and the relative importance of each, and decide on a final score (O). Final score must be \
an integer value only.
Do not provide any code in result. Provide each score in the format of: ##final score: score without providing any \
reasoning."""
# the names of the score that umbrela 0.0.7 looks for, in its order (common_utils.py), where it wants JSON alone
NAMES = ("o", "overall_score", "overall", "overall score", "final score", "final_score", "score", "o_score")
MARK = r"""["'*#]*"""
ANYWHERE = r"(?<!\w)"  # where a name of two words may stand
BEGINNING = r"""(?:^|["'*#{,(])[ \t]*"""  # of a line, an item or a quotation: "M score: 3" is no final score
SCORES = [
    re.compile(
        (ANYWHERE if re.search("[ _]", name) else BEGINNING)
        + rf"{MARK}{name}{MARK}(?:\s*\(o\))?\s*(?:[:=]|is\b)\s*{MARK}\s*([0-3])"
        + r"(?!\w|[.,]\d|\s*(?:[-–—]|to\b)\s*\d)",  # no 10, 2.5, 1-2
        re.MULTILINE,
    )
    for name in NAMES
]


def conversation(query: str, passage: str) -> list[Message]:
    """Return the question about one passage."""
    user = placed(PROMPT, query=query, passage=passage)
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]


def parse_grade(answer: str) -> int | None:
    """Return the grade in an answer, None where it holds none; of several the last by the first name that is there.

    So does umbrela's common_utils.py at 16cba3e and later, where 0.0.7 takes the first; where there is none both
    take 0: no grade is not a judgement here.
    """
    text = answer.rpartition(THOUGHT)[2].partition(THINK)[0].strip().lower()
    if re.fullmatch("[0-3]", text):
        return int(text)
    for score in SCORES:
        if grades := score.findall(text):
            return int(grades[-1])
    return None
