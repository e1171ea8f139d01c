"""Record the questions, passages and windows of rank_llm 0.25.7 in rank_llm_2025.json; no model and no GPU is needed.

    uv venv v --python 3.11
    uv pip install --python v/bin/python --no-deps rank_llm==0.25.7
    uv pip install --python v/bin/python torch==2.13.0 transformers==4.46.3 tqdm openai tiktoken python-dotenv \
        ftfy==6.3.1 dacite pandas pyyaml
    v/bin/python tests/data/golden/rank_llm_2025.py

vllm and google.generativeai are imported by rank_llm, but only for answers: both are empty here.
"""

import json
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

for name in ("vllm", "vllm.outputs", "google", "google.generativeai"):
    sys.modules[name] = MagicMock()

from rank_llm.data import Candidate, Query, Request  # noqa: E402
from rank_llm.rerank.listwise import RankListwiseOSLLM, SafeGenai, SafeOpenai  # noqa: E402

QUERY = "heavy things only those that name a river {num} [4]"
DOCS = [
    {"title": "Solar", "text": "one two\n three  [7] four"},
    {"title": "", "text": "of {query} and 中国 [12]"},
    {"text": "no title at all"},
]
LONG = 2000  # words
ANSWERS = [
    "[3] > [1] > [2]",
    "[2] > [1]",
    "[3]",
    "nothing",
    "[1] > [2] > [3] > [9]",
    "<think>[1]</think> [2] > [3] > [1]",
]
MIXED = [
    "3=[2]",
    "2 > [1] > [3]",
    "Of the 3 passages: [2] > [1]",
    "[2] > 1, [3]",
    "<think>1</think>3 and [1]",
    "[4] > 2",
]
COUNTS = [2, 5, 15, 20, 21, 25, 30, 35, 44, 100]
KEYS = ("window_size", "stride")
SIZES = [(10, 5), (4, 2), (7, 3), (20, 20), (5, 1)]  # it leaves window - stride documents as they are: none here


class Tokens:
    """Stands in for a tokenizer: a word is a token, and a chat template leaves the messages as they are."""

    def encode(self, text):
        return text.split()

    def apply_chat_template(self, messages, **settings):
        return json.dumps(messages, ensure_ascii=False)


def template(name):
    return files("rank_llm.rerank.prompt_templates") / f"{name}_template.yaml"


def opened(name, **sizes):
    """Return a reranker without its engine."""
    agent = RankListwiseOSLLM.__new__(RankListwiseOSLLM)
    handler = MagicMock()
    handler.get_tokenizer.return_value = Tokens()
    module = sys.modules[RankListwiseOSLLM.__module__]
    module.VllmHandler = lambda **settings: handler
    agent.__init__(
        "model", prompt_template_path=template(name), context_size=10**6, device="cpu", variable_passages=True, **sizes
    )
    return agent


def request(docs):
    return Request(Query(QUERY, "1"), [Candidate(str(at), 1 / (at + 1), doc) for at, doc in enumerate(docs)])


def asked(agent, docs):
    return json.loads(agent.create_prompt(request(docs), 0, len(docs))[0])


def words(create, count):
    """Return how many words of each of ``count`` long passages are shown."""
    long = [{"text": "word " * LONG}] * count
    return json.dumps(create(request(long), 0, count)[0]).count("word") // count


def gpt():
    agent = SafeOpenai("gpt-4o", 10**6, prompt_template_path=template("rank_gpt"), keys=["k"])
    agent.get_num_tokens = lambda prompt: 0
    agent.num_output_tokens = lambda window=None: 0
    return agent


def gemini():
    module = sys.modules[SafeGenai.__module__]
    module.genai = MagicMock()
    agent = SafeGenai("gemini", 10**6, prompt_template_path=template("rank_zephyr"), keys=["k"])
    agent.get_num_tokens = lambda prompt: 0
    agent.num_output_tokens = lambda window=None: 0
    system = module.genai.GenerativeModel.call_args.kwargs["system_instruction"]
    return agent, system


def slid(agent, count):
    """Return the windows of ``count`` passages and their order when each window is turned round."""
    windows = []

    def turned(prompts, current_window_size=None):
        answer = " > ".join(f"[{rank}]" for rank in range(current_window_size, 0, -1))
        return [(answer, 1)] * len(prompts)

    create = agent.create_prompt
    agent.run_llm_batched = turned
    agent.create_prompt = lambda result, start, end: windows.append([start, end]) or create(result, start, end)
    [result] = agent.rerank_batch([request([{"text": "a"}] * count)], rank_end=100)
    agent.create_prompt = create
    return {"windows": windows, "order": [int(one.docid) for one in result.candidates]}


def read(agent, answer):
    result = SimpleNamespace(candidates=request(DOCS).candidates)
    agent.receive_permutation(result, answer, 0, 3)
    return [int(one.docid) for one in result.candidates]


zephyr, safe = opened("rank_zephyr"), gpt()
google, system = gemini()
prompts = {"rank_llm": asked(zephyr, DOCS), "rank_gpt": safe.create_prompt(request(DOCS), 0, 3)[0]}
prompts["rank_gemini"] = [{"role": "system", "content": system}]
prompts["rank_gemini"].append({"role": "user", "content": google.create_prompt(request(DOCS), 0, 3)[0]})
recorded = {
    "program": f"rank_llm {version('rank_llm')}",
    "script": "tests/data/golden/rank_llm_2025.py",
    "query": QUERY,
    "documents": DOCS,
    "prompts": prompts,
    "words": {
        "rank_llm": {str(count): words(zephyr.create_prompt, count) for count in (3, 7, 15, 20)},
        "rank_gpt": {str(count): words(safe.create_prompt, count) for count in (3, 7, 15, 20)},
        "rank_gemini": {str(count): words(google.create_prompt, count) for count in (3, 7, 15, 20)},
    },
    "slid": {str(count): slid(zephyr, count) for count in COUNTS},
    "sized": [
        [
            *sizes,
            count,
            " ".join(map(str, slid(opened("rank_zephyr", **dict(zip(KEYS, sizes, strict=True))), count)["order"])),
        ]
        for sizes in SIZES
        for count in (3, 9, 21, 100)
    ],
    "answers": {answer: read(zephyr, answer) for answer in ANSWERS},
    "mixed": {answer: read(zephyr, answer) for answer in MIXED},
}
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
