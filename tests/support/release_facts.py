"""Answers to all that a release asks people."""

import yaml

from heed.addons.judging.publishing.facts import QUESTIONS as FILE

QUESTIONS: dict[str, str] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["needed"]
FACTS = {
    **{name: f"The {name}." for name in QUESTIONS},
    "name": "ferries",
    "title": 'Ferries: found, {lost} and "judged"',
    "version": "1.0",
    "date": "2027-03-01",
    "licence": "CC-BY-4.0",
    "creators": ["Ada Example"],
}
