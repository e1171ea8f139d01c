"""Read and encode training examples: a query, its instruction, a document, and whether that document is relevant."""

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError, fail
from heed.io.files import read_lines
from heed.models.language_models import entry_ids
from heed.models.prompts import Prompts
from heed.models.registry import Model
from heed.models.rendering import query_text
from heed.types import Document

TEXTS = ("query", "instruction", "document")  # with label the fields of jhu-clsp/FollowIR-train, which is read as it is
MAY_BE_EMPTY = "instruction"
LABELS = {"true": True, "1": True, "false": False, "0": False}


class Example(NamedTuple):
    """One line of training data; ``place`` is its file and line."""

    place: str
    query: str
    instruction: str
    document: str
    label: bool


class EncodedExample(NamedTuple):
    """An example as vocabulary ids: the prompt's, and the answer's."""

    ids: "array[int]"
    answer: int


def read_examples(path: Path) -> list[Example]:
    """Read the examples of a file of JSON lines, gunzipped by suffix; other fields are ignored.

    ``label`` is true or false, as such, as 1 or 0, or as text. Raises :class:`DataError` that names
    each line with something else, and for a file without any.
    """
    examples, problems = [], []
    for line_no, line in read_lines(path):
        if not line.strip():
            continue
        place = f"{path}, line {line_no}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"{place}: not JSON ({error}); expected one object a line")
            continue
        problem = _problem(record)
        if problem:
            problems.append(f"{place}: {problem}")
        else:
            query, instruction, document = (record[field] for field in TEXTS)
            examples.append(Example(place, query, instruction, document, LABELS[str(record["label"]).lower()]))
    fail(problems)
    if not examples:
        raise DataError(f"{path}: no examples; expected JSON lines with {', '.join(TEXTS)} and label")
    return examples


def _problem(record: Any) -> str:
    """Return what is wrong with a line's record, empty if nothing is."""
    if not isinstance(record, dict):
        return f"found {type(record).__name__}, expected a JSON object"
    missing = [field for field in (*TEXTS, "label") if field not in record]
    if missing:
        return f"no {', '.join(missing)}; expected {', '.join(TEXTS)} and label"
    for field in TEXTS:
        text = record[field]
        if not isinstance(text, str) or not (text.strip() or field == MAY_BE_EMPTY):
            return f"{field} is {text!r}, expected text"
        if any("\ud800" <= character <= "\udfff" for character in text):
            return f"{field} holds half of a surrogate pair (a broken \\u escape); repair the text"
    label = record["label"]
    if not isinstance(label, str | int) or str(label).lower() not in LABELS:
        return f"label is {label!r}, expected true or false, 1 or 0"
    return ""


def encode(examples: Sequence[Example], template: Model, tokenizer: Any, limit: int) -> list[EncodedExample]:
    """Return the examples in ``template``'s prompt, at most ``limit`` tokens each, with its token for yes or no.

    The ids are those that :class:`heed.models.yes_no.YesNoReranker` reads: of a prompt that is too long the
    document is cut. Raises :class:`heed.errors.ModelError` with the line where the rest leaves no room for one.
    """
    answers = entry_ids(template, tokenizer)
    prompts = Prompts(template, tokenizer, limit)
    encoded = []
    for example in examples:
        query = query_text(template, example.query, example.instruction)
        [ids] = prompts.ids(example.place, query, [Document(example.place, "", example.document)])
        encoded.append(EncodedExample(array("I", ids), answers[example.label]))
    return encoded
