"""What only people know of a collection: the answers to the questions of ``facts.yaml``, read from one file."""

from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError, did_you_mean
from heed.files import read_text
from heed.progress import counted

QUESTIONS = Path(__file__).with_name("facts.yaml")


class Facts(NamedTuple):
    """The answers of a file, by question."""

    answers: dict[str, Any]

    def text(self, question: str) -> str:
        """Return the answer to a question; several answers are parted by commas, none is empty."""
        return ", ".join(self.listed(question)).strip()

    def listed(self, question: str) -> list[str]:
        """Return the answers to a question."""
        answer = self.answers.get(question, [])
        return list(map(str, answer)) if isinstance(answer, list) else [str(answer)]


def read_facts(path: Path | None) -> Facts:
    """Return the facts of a YAML or JSON file; :class:`DataError` naming all that is missing, with its question."""
    questions = _read(QUESTIONS)
    needed, optional = questions["needed"], questions["optional"]
    facts = Facts(_read(path) if path else {})
    problems = [
        f"found {name!r}, expected one of {', '.join(needed | optional)}{did_you_mean(name, [*needed], before='; ')}"
        for name in facts.answers
        if name not in needed | optional
    ]
    if missing := [name for name in needed if not facts.text(name)]:
        problems += [
            f"{counted(len(missing), 'fact')} missing that people alone know; give a file in YAML or JSON with"
        ]
        problems += [f"  {name}: {needed[name]}" for name in missing]
    name = facts.text("name")
    if name != name.lower() or not (name.replace("-", "").replace("_", "") or "none").isalnum():
        problems.append(f"name: found {name!r}, expected small letters, digits, - and _")
    if problems:
        raise DataError("\n".join([f"{path or 'facts'}: {problems[0]}", *problems[1:]]))
    return facts


def _read(path: Path) -> dict[str, Any]:
    """Return an object whose values are texts, lists of texts, or objects of texts; YAML's other types are texts."""
    import yaml

    try:
        content = yaml.load(read_text(path), Loader=yaml.BaseLoader)  # noqa: S506 (texts alone, no objects)
    except yaml.YAMLError as error:
        raise DataError(f"{path}: neither YAML nor JSON ({' '.join(str(error).split())})") from error
    return content if isinstance(content, dict) else {}
