"""The layouts of news in one language or in all three: NeuCLIR, HC4, mFollowIR and the embedded sample."""

from collections.abc import Sequence
from dataclasses import replace

from heed.datasets.catalogue import Named
from heed.datasets.collection import Collection
from heed.datasets.followir import REPOSITORIES
from heed.datasets.layout import Layout, Settings
from heed.datasets.multilingual import MLIR, read_multilingual
from heed.datasets.neuclir import SAMPLE, english_sample, read_news
from heed.errors import UsageError
from heed.formats.user_files import OwnFiles
from heed.languages import language


def _read(members: Sequence[Named], settings: Settings) -> list[Collection]:
    name = members[0].name
    if not settings.lang:
        raise UsageError(f"{name}: needs lang")
    if settings.files.name and not settings.files.docs:
        raise UsageError("--name: not used here; it names a collection of --docs")
    if name == SAMPLE and settings.lang != MLIR and language(settings.lang).code == "eng":
        return [english_sample(settings)]
    of_name = None if settings.or_sample else name
    if settings.lang == MLIR:
        return [read_multilingual(of_name, settings)]
    return [read_news(of_name, settings)]


def _read_mfollowir(members: Sequence[Named], settings: Settings) -> list[Collection]:
    """Return mFollowIR in one language, from the hub or a local copy."""
    name = members[0].name
    if not settings.lang:
        raise UsageError(f"{name}: needs lang")
    if name == "mfollowir-crosslingual":
        settings = replace(settings, query_lang="eng")
    topics = str(settings.data or REPOSITORIES["eng" if settings.query_lang == "eng" else "native"])
    return [read_news(None, replace(settings, files=OwnFiles(topics=topics, topics_format="mfollowir")))]


NEWS = Layout(_read, ("files", "lang", "query_lang", "docs_lang", "fields", "translation", "years"))
MFOLLOWIR = Layout(_read_mfollowir, ("lang", "query_lang", "data"))
