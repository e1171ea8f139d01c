"""Write reason_rank.json: the question of 8421BCD/ReasonRank's code (commit e6d3ab4), and its orders of given answers.

From the root of the repository: ``python tests/data/golden/reason_rank.py FOLDER``, the folder with that code, in an
environment with ftfy 6.3.1. What it imports for answers and data sets is empty here; the tokenizer is trained on a few
lines.
"""

import json
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "support"), sys.argv[1]]
for name in (
    "config",
    "data",
    "faiss",
    "pyserini",
    "pyserini.search",
    "toml",
    "vllm",
    "vllm.lora",
    "vllm.lora.request",
):
    sys.modules[name] = MagicMock()

from rerank.rank_listwise_os_llm import RankListwiseOSLLM  # noqa: E402
from tiny_language_models import merging_tokenizer  # noqa: E402

QUERY = "a river? only [2] documents that name it"
DOCUMENTS = [
    {"title": "T", "text": "a short one, of [12]\nand  a second line"},
    {"title": "", "text": "with numbers 12 and true or false, " * 9},
    {"text": "the river"},
]
LENGTH = 60  # tokens of a passage, where the authors have 512 or 100
ANSWERS = [
    "<think>First [1] > [2].</think>\n<answer>[3] > [1] > [2]</answer>",
    "<think>[1]</think> <answer> 2 > [3] </answer> [1] > [2]",
    "<THINK>so</THINK><Answer>[2] > [9] > [2]</Answer>",
    "<think>so</think> [3] > [2]",
    "it is <answer>[3] > [1]",
    "<think>[2] may be the best of 3, but",
    "<think>so</think><answer>none</answer>",
    "",
]


class Tokens:
    """A real tokenizer whose chat template leaves the messages as they are."""

    def __init__(self, tokenizer):
        self.tokenize, self.encode = tokenizer.tokenize, tokenizer.encode
        self.convert_tokens_to_string = tokenizer.convert_tokens_to_string

    def apply_chat_template(self, messages, **settings):
        return json.dumps(messages, ensure_ascii=False)


def candidates():
    return [SimpleNamespace(docid=number, doc=document, score=1.0) for number, document in enumerate(DOCUMENTS)]


def read(agent, answer):
    result = SimpleNamespace(candidates=candidates())
    agent.receive_permutation(result, answer, 0, len(DOCUMENTS))
    return [one.docid for one in result.candidates]


agent = RankListwiseOSLLM.__new__(RankListwiseOSLLM)
agent.prompt_mode = "rank_GPT_reasoning"
agent.args = SimpleNamespace(prompt_mode=agent.prompt_mode)
agent.prompt_info = tomllib.loads((Path(sys.argv[1]) / "listwise_prompt_r1.toml").read_text(encoding="utf-8"))
agent._tokenizer, agent.max_passage_length = Tokens(merging_tokenizer(())), LENGTH
asked = SimpleNamespace(query=SimpleNamespace(text=QUERY, qid="1"), candidates=candidates())
record = {
    "program": "ReasonRank e6d3ab4",
    "command": "python tests/data/golden/reason_rank.py FOLDER",
    "query": QUERY,
    "documents": DOCUMENTS,
    "length": LENGTH,
    "messages": json.loads(agent.create_prompt(asked, 0, len(DOCUMENTS))[0]),
    "answers": {answer: read(agent, answer) for answer in ANSWERS},
}
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
