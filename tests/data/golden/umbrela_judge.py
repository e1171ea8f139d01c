"""Writes umbrela_judge.json: what umbrela 0.0.7 asks and reads. Run with a Python that has it, as

    python -m venv v && v/bin/pip install --no-deps umbrela==0.0.7 && v/bin/python umbrela_judge.py ZEROSHOT

where ZEROSHOT is src/umbrela/prompts/qrel_zeroshot_bing.txt of castorini/umbrela at 16cba3e: the package has the
few-shot prompt alone, and takes others as prompt_file. Answers with several grades are read by that commit's
utils/common_utils.py, in the folder beside.
"""

import contextlib
import io
import json
import runpy
import sys
from importlib.metadata import version
from pathlib import Path

from umbrela.utils.common_utils import generate_prompts, parse_fewshot_response

QUERY, PASSAGE = (
    "ferry accidents Only those with {casualties}.",
    'Title\nThe ferry "Wind" sank.\n\nNobody {query} died.',
)
ANSWERS = [
    '{"M": 2, "T": 1, "O": 3}',
    '{"m": 2, "t": 1, "o": 0}',
    '```json\n{"M": 3, "T": 3, "O": 2}\n```',
    '{"overall_score": 1}',
    '{"match": 3, "overall": 2}',
    '{"Overall Score": 2}',
    '{"M": 1, "final score": 3}',
    '{"final_score": 0}',
    '{"score": 1}',
    '{"O_score": 2}',
    '  {"O": 1}  ',
    "",
    "I cannot judge this passage.",
    '{"O": 4}',
    '{"O": -1}',
    '{"M": 2, "T": 3}',
]
SEVERAL = [
    "##final score: 2 or ##final score: 1",
    "##final score: 3\n\n##final score: 0",
    '{"O": 1}\n{"O": 3}',
    '{"O": 1, "final score": 3}',
    '{"score": 1, "O": 2}',
    '{"overall": 2, "score": 0, "overall": 3}',
]


def main() -> None:
    template = Path(sys.argv[1]).read_text(encoding="utf-8").strip()  # as umbrela/llm_judge.py reads a prompt_file
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it cannot read
        read = [[answer, *parse_fewshot_response(answer, "", "")] for answer in ANSWERS]
    later = runpy.run_path(str(Path(sys.argv[1]).parents[1] / "utils" / "common_utils.py"))["parse_fewshot_response"]
    recorded = {
        "program": f"umbrela {version('umbrela')}",
        "command": "python umbrela_judge.py qrel_zeroshot_bing.txt",
        "query": QUERY,
        "passage": PASSAGE,
        "prompt": generate_prompts([(QUERY, PASSAGE)], "", template)[0],
        "answers": read,
        "several_by": "umbrela 16cba3e",
        "several": [[answer, later(answer, "", "")[0]] for answer in SEVERAL],
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


main()
