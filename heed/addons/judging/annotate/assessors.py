"""Names of assessors: which are allowed, the adjudicator's, their topics, their names in an added annotation."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from heed.addons.judging.exchange.records import assessor_name
from heed.errors import UsageError, fail
from heed.files import read_lines
from heed.formats.pools import Pool
from heed.progress import brief, log

ADJUDICATED = "adjudicated"  # the assessor whose judgements decide where others differ
LONGEST_NAME = 40  # characters
JOINERS = dict.fromkeys((0x200C, 0x200D))  # parts of Persian names, though Python calls them not printable


def check_name(name: str | None) -> str:
    """Return an assessor's :func:`assessor_name`; :class:`UsageError` if it is empty, too long or not printable."""
    stripped = assessor_name(name)
    if not stripped or len(stripped) > LONGEST_NAME or not stripped.translate(JOINERS).isprintable():
        raise UsageError(f"assessor is {name!r}, expected a name of at most {LONGEST_NAME} characters")
    return stripped


def refuse_reserved(name: str) -> str:
    """Return ``name``; :class:`UsageError` if it is the adjudicator's, who decides on the agreement page."""
    if name.casefold() == ADJUDICATED:
        raise UsageError(f"assessor {name}: this name is reserved for decisions where assessors differ; choose another")
    return name


def parse_names(texts: Sequence[str]) -> dict[str, str]:
    """Return names here by names there, from ``THERE=HERE``; :class:`UsageError` for other text and a name twice."""
    names: dict[str, str] = {}
    for text in texts:
        there, equals, here = text.partition("=")
        if not equals:
            raise UsageError(f"--as {text!r}: expected THERE=HERE, as 'Ann=Ann' or 'Ann=Ann of team 2'")
        if names.setdefault(check_name(there), refuse_reserved(check_name(here))) != check_name(here):
            raise UsageError(f"--as {text!r}: {there} has another name before; keep one")
    return names


def names_here(
    path: Path, before: Mapping[str, str | None], here: Collection[str], names: Mapping[str, str]
) -> dict[str, str]:
    """Return the name in this annotation of each assessor of the annotation in ``path``; the adjudicator is one.

    ``before`` has these assessors, with the name under which they were added before, if they were; that name stays, and
    others are those of ``names`` (:func:`parse_names`). ``here`` are the names of this annotation. Raises
    :class:`UsageError` for a name that is in both, where nothing says whether it is one person's.
    """
    new_names: dict[str, str] = {}
    problems = []
    for name, name_before in sorted(before.items()):
        new_name = name if name == ADJUDICATED else name_before or names.get(name) or name
        new_names[name] = new_name
        if names.get(name, new_name) != new_name:
            problems.append(f"{path}: {name} was added as {new_name} before, now {names[name]} is given")
        if name in here and new_name == name != ADJUDICATED and not name_before and name not in names:
            problems.append(
                f"{path}: {name} has judged here too; give --as '{name}={name}' if that is one person, "
                f"or a name for the other, --as '{name}={name} 2'"
            )
    for new_name, count in Counter(new_names.values()).items():
        if count > 1:
            same = " and ".join(name for name in new_names if new_names[name] == new_name)
            problems.append(f"{path}: {same} would both be {new_name} here; give them two names with --as")
    fail(problems, UsageError)
    return new_names


def read_assigned(path: Path, pool: Pool) -> dict[str, list[str]]:
    """Return the assessors of each topic, from lines ``qid<TAB>assessor``: a topic may have several, judging blind.

    Topics without a line are logged. Raises :class:`DataError` naming every line that is of another form or of a topic
    that the pool lacks, and for a file without any line.
    """
    assigned: dict[str, list[str]] = {}
    problems = []
    for line_no, line in read_lines(path):
        qid, tab, name = line.strip().partition("\t")
        if not line.strip():
            continue
        if not tab or qid not in pool:
            problem = f"topic {qid} is not in the pool" if tab else f"found {line.strip()!r}"
            problems.append(f"{path}, line {line_no}: {problem}, expected a topic of the pool, a tab, and an assessor")
            continue
        try:
            assessor = refuse_reserved(check_name(name))
        except UsageError as error:
            problems.append(f"{path}, line {line_no}: {error}")
            continue
        if assessor not in assigned.setdefault(qid, []):
            assigned[qid].append(assessor)
    fail(problems or ([] if assigned else [f"{path}: empty; expected lines of a topic, a tab, and an assessor"]))
    without = [qid for qid in pool if qid not in assigned]
    if without:
        log.info(f"{path}: {len(without)} of {len(pool)} topics have no assessor: {brief(without)}")
    return assigned
