"""mFollowIR in its hub layouts: FollowIR's forms, with the language in the configs' names."""

from pathlib import Path

from heed.datasets.followir import FollowIR, read_pairs
from heed.datasets.hub import config_files, snapshot
from heed.evaluation.mteb_results import TASKS

REVISIONS = {  # those that MTEB evaluates
    "jhu-clsp/mFollowIR-parquet-mteb": TASKS["mFollowIR"].revision,
    "jhu-clsp/mFollowIR-cross-lingual-parquet-mteb": TASKS["mFollowIRCrossLingual"].revision,
}


def is_mfollowir(folder: Path, lang: str) -> bool:
    """Whether ``folder`` holds mFollowIR's configs for ``lang``."""
    return folder.is_dir() and bool(config_files(folder, _naming(folder, lang).format("queries")))


def read_mfollowir(folder: Path, lang: str, query_lang: str) -> FollowIR:
    """Read the configs of ``lang`` from a local copy; what is told and raised is :func:`read_pairs`'."""
    return read_pairs(folder, _naming(folder, lang).format, query_lang)


def download(repository: str, lang: str) -> Path:
    """A local copy of one language of a hub data set, fetched at most once, at the revision MTEB evaluates.

    Raises :class:`HeedError` that says how to go on when the hub is out of reach.
    """
    return snapshot(repository, REVISIONS.get(repository), files_of(lang))


def files_of(lang: str) -> tuple[str, ...]:
    """The patterns of one language's files, in all layouts of the hub."""
    return (f"*-{lang}/*", f"*-{lang}.*", f"*{lang}-*")


def _naming(folder: Path, lang: str) -> str:
    """How ``folder`` names a config: ``queries-fas``, or ``fas-queries`` and ``eng-fas-queries`` in MTEB's mirrors."""
    forms = (f"{{}}-{lang}", f"{lang}-{{}}", f"eng-{lang}-{{}}")
    return next((form for form in forms if config_files(folder, form.format("queries"))), forms[0])
