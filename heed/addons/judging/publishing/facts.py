"""What only people know of a collection: the questions that a release answers, read from one file."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heed.errors import DataError, did_you_mean
from heed.files import read_text
from heed.progress import counted

QUESTIONS = {
    "name": "the id by which programs load it: small letters, digits, - and _",
    "title": "the title for people",
    "version": "such as 1.0",
    "date": "the day of publication, such as 2027-03-01",
    "creators": "a list of names: who is to be cited",
    "licence": "SPDX id or address of the licence of topics and judgements",
    "licence of texts": "under which terms the documents are used and passed on",
    "description": "what it is, in two or three sentences",
    "purpose": "for which purpose it was made, and who paid for it",
    "documents": "where the documents are from, of which dates, how they were chosen, where others get them",
    "topics": "who wrote topics and narratives, and how narratives were changed",
    "assessors": "how many judged, their languages and training, by which guidelines, what they were paid",
    "people": "whether documents or topics are about persons, and what was done about it",
    "uses": "what it is meant for, and what it should not be used for",
    "maintenance": "who corrects it, and where errors are reported",
}
OPTIONAL = {
    "address": "where it can be found",
    "citation": "BibTeX",
    "not names": "a list of words that are no assessors' names, and of assessors who want to be named",
}


@dataclass(frozen=True)
class Facts:
    """The answers of a file, by question."""

    path: Path
    answers: dict[str, Any]

    def __getitem__(self, question: str) -> str:
        """Return the answer to a question with one answer."""
        return str(self.answers[question]).strip()

    def listed(self, question: str) -> list[str]:
        """Return a list of answers; empty where there is none."""
        answer = self.answers.get(question, [])
        return list(map(str, answer)) if isinstance(answer, list) else [str(answer)]


def read_facts(path: Path | None) -> Facts:
    """Return the facts of a YAML or JSON file; :class:`DataError` naming all that is missing, with its question."""
    import yaml

    if path is None:
        raise DataError(
            "\n".join(["facts: none given; expected a file in YAML or JSON that answers", *_questions(QUESTIONS)])
        )
    try:
        content = yaml.load(read_text(path), Loader=yaml.BaseLoader)  # noqa: S506 (texts alone, no objects)
    except yaml.YAMLError as error:
        raise DataError(f"{path}: neither YAML nor JSON ({' '.join(str(error).split())})") from error
    answers = content if isinstance(content, dict) else {}
    problems = _unknown(answers)
    missing = [name for name in QUESTIONS if not answers.get(name)]
    if missing:
        problems += [f"{counted(len(missing), 'fact')} missing that people alone know; add", *_questions(missing)]
    name = answers.get("name", "")
    if name and not (
        isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum() and name == name.lower()
    ):
        problems.append(f"name: found {name!r}, expected small letters, digits, - and _")
    if problems:
        raise DataError("\n".join([f"{path}: {problems[0]}", *problems[1:]]))
    return Facts(path, answers)


def _questions(names: Iterable[str]) -> list[str]:
    return [f"  {name}: {QUESTIONS[name]}" for name in names]


def _unknown(answers: Iterable[str]) -> list[str]:
    known = [*QUESTIONS, *OPTIONAL]
    return [
        f"found {name!r}, expected one of {', '.join(known)}{did_you_mean(name, known, before='; ')}"
        for name in answers
        if name not in known
    ]
