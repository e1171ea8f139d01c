"""Who takes part in an annotation: names with roles, each let in by a link of their own.

A link's token is shown once, when it is made. The database has its digest, so no copy of it lets anybody in.
"""

import hashlib
import secrets
from collections.abc import Collection, Mapping
from itertools import chain
from pathlib import Path

from heed.addons.judging.annotate.store import Store
from heed.addons.judging.annotate.task import check_name, refuse_reserved, tabbed_lines
from heed.errors import UsageError, fail
from heed.progress import brief, warn
from heed.web import Person

ASSESSOR, ADJUDICATOR = ROLES = ("assessor", "adjudicator")


def read_people(path: Path) -> dict[str, str]:
    """Return roles by name, from lines ``NAME`` or ``NAME<TAB>ROLE``; without a role one is an assessor.

    Raises :class:`DataError` naming every line of another form, or with a name that is there before in any case.
    """
    roles: dict[str, str] = {}
    problems = []
    for place, text, role in tabbed_lines(path):
        try:
            name, role = refuse_reserved(check_name(text)), role or ASSESSOR
        except UsageError as error:
            problems.append(f"{place}: {error}")
            continue
        if name.rpartition(",")[2].strip() in ROLES:
            problems.append(f"{place}: found {name!r}, expected a tab before the role")
        elif role not in ROLES:
            problems.append(f"{place}: role {role!r}, expected {' or '.join(ROLES)} after a tab")
        elif name.casefold() in {known.casefold() for known in roles}:
            problems.append(f"{place}: {name} is there before; one line for each")
        roles[name] = role
    fail(problems or ([] if roles else [f"{path}: empty; expected lines of a name, or of a name, a tab and a role"]))
    return roles


def warn_of_names(roles: Mapping[str, str], assigned: Mapping[str, Collection[str]]) -> None:
    """Warn of names that have topics and no role while others have the role of an assessor and no topic."""
    with_topics = {*chain.from_iterable(assigned.values())}
    without = [name for name, role in roles.items() if role == ASSESSOR and name not in with_topics]
    others = sorted(with_topics - roles.keys())
    if without and others:
        warn(
            f"{brief(others)}: assigned, and not in the list of assessors; {brief(without)}: in the list, and nothing "
            "is assigned; the same person?"
        )


def invite(store: Store, roles: Mapping[str, str]) -> dict[str, str]:
    """Give people their ``roles``; return new tokens by name, of those who have never had one."""
    known = store.people()
    tokens = {name: secrets.token_urlsafe(32) for name in roles if name not in known}
    for name, role in roles.items():
        store.set_person(name, role, token_digest(tokens[name]) if name in tokens else None)
    return tokens


def new_link(store: Store, name: str) -> str:
    """Return a new token for ``name``, whose earlier one lets nobody in any more."""
    token = secrets.token_urlsafe(32)
    store.set_person(name, _role(store, name), token_digest(token))
    return token


def revoke(store: Store, name: str) -> None:
    """Let nobody in any more by the link of ``name``; what was judged stays."""
    store.set_person(name, _role(store, name), "")


def person_of(store: Store, token: str) -> Person | None:
    """Return whose ``token`` it is; None for any other text."""
    person = store.person(token_digest(token)) if token else None
    return person and Person(*person)


def _role(store: Store, name: str) -> str:
    people = store.people()
    if name not in people:
        known = ", ".join(people) or "nobody"
        raise UsageError(f"{name} has no link; who has: {known}")
    return people[name]


def token_digest(token: str) -> str:
    """Return the digest of a link's token, which the database has in its place."""
    return hashlib.sha256(token.encode()).hexdigest()
