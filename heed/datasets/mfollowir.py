"""mFollowIR in its hub layouts: FollowIR's forms, with the language in the configs' names."""

from pathlib import Path

from heed.datasets.followir import FollowIR, read_pairs
from heed.datasets.hub import config_files
from heed.datasets.hub_files import snapshot
from heed.evaluation.mteb_results import TASKS

REPOSITORIES = {  # by the language of the queries
    "native": "jhu-clsp/mFollowIR-parquet-mteb",
    "eng": "jhu-clsp/mFollowIR-cross-lingual-parquet-mteb",
}
REVISIONS = {  # those that MTEB evaluates
    REPOSITORIES["native"]: TASKS["mFollowIR"].revision,
    REPOSITORIES["eng"]: TASKS["mFollowIRCrossLingual"].revision,
}


def is_mfollowir(folder: Path, lang: str) -> bool:
    """Return whether ``folder`` holds mFollowIR's configs for ``lang``."""
    return folder.is_dir() and bool(config_files(folder, _naming(folder, lang).format("queries")))


def read_mfollowir(folder: Path, lang: str, query_lang: str) -> FollowIR:
    """Read the configs of ``lang`` from a local copy; logs and raises as :func:`read_pairs` does."""
    return read_pairs(folder, _naming(folder, lang).format, query_lang)


def download(repository: str, lang: str) -> Path:
    """Return a local copy of one language of a hub data set, fetched at most once, at the revision MTEB evaluates.

    Raises :class:`DataError` that says how to go on when the hub is out of reach.
    """
    return snapshot(repository, REVISIONS.get(repository), files_of(lang))


def files_of(lang: str) -> tuple[str, ...]:
    """Return the patterns of one language's files, in all layouts of the hub."""
    return (f"*-{lang}/*", f"*-{lang}.*", f"*{lang}-*")


def _naming(folder: Path, lang: str) -> str:
    """Return how ``folder`` names configs: ``queries-fas``, or ``fas-queries`` or ``eng-fas-queries`` (MTEB)."""
    forms = (f"{{}}-{lang}", f"{lang}-{{}}", f"eng-{lang}-{{}}")
    return next((form for form in forms if config_files(folder, form.format("queries"))), forms[0])
