"""The annotation command with links of people's own, and each person's requests."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import serving
from annotating import Running

PEOPLE = "Ann\nBob\tassessor\nChair\tadjudicator\n"


class Invited(Running):
    """The command, serving people; ``links`` are those that it printed, by name."""

    def __init__(self, process: "serving.subprocess.Popen[str]", address: str) -> None:
        assert process.stdout
        self.links: dict[str, str] = {}
        while "\t" in address:
            name, _, self.links[name] = address.partition("\t")
            address = process.stdout.readline().strip()
        super().__init__(process, f"{address}?token=none")  # there is no token for all

    def tokens(self) -> dict[str, str]:
        return {name: link.partition("#token=")[2] for name, link in self.links.items()}

    def enter(self, token: str, **headers: str) -> tuple[int, dict[str, str], str]:
        return self.request("POST", "/api/enter", {"token": token}, Cookie="", **headers)

    def as_person(
        self, name: str, method: str, path: str, body: object = None, token: str = ""
    ) -> tuple[int, dict[str, str], str]:
        cookie = f"heed-{self.port}={token or self.tokens()[name]}"
        return self.request(method, path, body, Cookie=cookie)

    def send(self, person: str, *changes: dict, assessor: str = "", **fields: object) -> tuple[int, str]:
        body = {"id": uuid.uuid4().hex, "assessor": assessor or person, "changes": changes, **fields}
        status, _, text = self.as_person(person, "POST", "/api/changes", body)
        return status, text

    def asked(self, person: str, path: str) -> dict:
        status, _, text = self.as_person(person, "GET", f"{path}{'&' if '?' in path else '?'}assessor={person}")
        assert status == 200, text
        data: dict = json.loads(text)
        return data


@contextmanager
def inviting(pool: Path, *arguments: object) -> Iterator[Invited]:
    """The command as an organiser starts it, with ``people.tsv`` beside the pool."""
    with serving.serving("annotate", pool, *arguments, kind=Invited) as server:
        yield server
