"""Write rank_k.json: the question of hltcoe/rank-k's rerank.py (commit 9b9dd2b), and its orders for given answers.

From the root of the repository: ``python tests/data/golden/rank_k.py FOLDER``, the folder with that file, and with
``combine_passages`` of its utils.py in it in place of its other imports.
"""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, sys.argv[1])

import rerank

QUERY = "a river? only documents\nthat name it [2]"
PASSAGES = ["T a short one", "with [12] numbers\n\nand  two lines", "true or [ 1 ] false", "the river", "no"]
ANSWERS = [
    "<think>\nFirst [5] > [1].\n</think>\n\n[3] > [2] > [4] = [1] > [5]",
    "[4] = [2]\n[2] > [5]",
    "[2] > [3] > [2] > [1]",
    "[9] > [3] = [one] > 2 > [1]",
    "[3], [4] > [5]",
    "I cannot tell.",
    "[5] > [4] > [3] > [2] > [1]\nSo the last is best.",
    "",
]


class Client:
    """Gives one answer, and keeps what it was asked."""

    def __init__(self, answer: str) -> None:
        self.answer, self.asked = answer, {}
        self.chat = SimpleNamespace(completions=self)

    def create(self, **asked: object) -> object:
        self.asked = asked
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=self.answer))])


class Turning(Client):
    """Answers with the passages in reverse order."""

    def create(self, **asked: object) -> object:
        numbers = re.findall(r"^\[(\d+)\] ", asked["messages"][0]["content"], re.MULTILINE)
        self.answer = " > ".join(f"[{number}]" for number in reversed(numbers))
        self.windows.append(len(numbers))
        return super().create(**asked)


def slid(count: int) -> dict[str, str]:
    """Return the order of a pool of so many documents, and the sizes of its windows, those that are empty too."""
    client, numbers = Turning(""), list(range(count))
    client.windows = []
    rerank.OpenAI = lambda **_: client
    _, order = rerank.rerank_topic((settings, "1", QUERY, dict.fromkeys(numbers, "a"), numbers))
    return {"windows": " ".join(map(str, client.windows)), "order": " ".join(map(str, order))}


clients = [Client(answer) for answer in ANSWERS]
settings = SimpleNamespace(
    **{"model": "hltcoe/Rank-K-32B", "temperature": 0.7, "max_tokens": 4000, "server": "", "port": 0},
    **{"rerank_depth": 100, "rerank_window": 20, "rerank_stride": 10, "truncate_doc_to": None},
)
orders = [rerank.rerank(QUERY, list(range(len(PASSAGES))), PASSAGES, client, settings) for client in clients]
record = {
    "program": "rank-k rerank.py",
    "command": "python tests/data/golden/rank_k.py FOLDER",
    "query": QUERY,
    "passages": PASSAGES,
    "messages": clients[0].asked["messages"],
    "answers": ANSWERS,
    "orders": orders,
    "slid": {str(count): slid(count) for count in (1, 2, 19, 20, 21, 25, 30, 55, 91, 99, 100)},
}
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
