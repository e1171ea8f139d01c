"""Where servers of models are: known APIs, and addresses and keys in environment variables."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from heed.errors import ServiceError
from heed.files import digest_json
from heed.models.registry.entries import Model
from heed.reuse import recipe_version
from heed.types import Config


class Provider(NamedTuple):
    """An API: the environment variables of key and address, its own address, and extra fields of its embeddings.

    ``cuts``: it cuts texts that are longer than a model's limit, which others refuse.
    """

    key: str
    base: str
    url: str
    queries: Mapping[str, str] = {}
    documents: Mapping[str, str] = {}
    cuts: bool = False


# None of these was called from here, so all is unverified but by what their documentation says (2026-11):
PROVIDERS = {
    # platform.openai.com/docs/api-reference; any compatible server by OPENAI_BASE_URL
    "openai": Provider("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    # ai.google.dev/gemini-api/docs/openai; that embeddings are cut there is not documented
    "google": Provider("GEMINI_API_KEY", "GEMINI_BASE_URL", "https://generativelanguage.googleapis.com/v1beta/openai"),
    # docs.cohere.com/docs/compatibility-api. Its own API needs input_type from v3 on and cuts by default
    # (docs.cohere.com/reference/embed); whether the compatible address takes input_type is not documented
    "cohere": Provider(
        "COHERE_API_KEY",
        "COHERE_BASE_URL",
        "https://api.cohere.ai/compatibility/v1",
        queries={"input_type": "search_query"},
        documents={"input_type": "search_document"},
        cuts=True,
    ),
}


@dataclass(frozen=True)
class Endpoint:
    """The address of a model; ``shown`` is it without secrets, ``model`` the model's name there."""

    base: SplitResult = field(repr=False)
    shown: str
    model: str
    provider: Provider
    key: str = field(repr=False)

    def url(self, path: str) -> str:
        """Return the address of ``path`` below the base."""
        return urlunsplit(self.base._replace(path=f"{self.base.path.rstrip('/')}/{path}"))

    @property
    def config(self) -> Config:
        """The settings that decide the answers of this address."""
        return {"api": recipe_version("api"), "url": self.shown, "model": self.model}

    def digest(self, path: str, body: Config) -> str:
        """Return the key under which the answer to ``body`` is kept."""
        return digest_json([recipe_version("api"), f"{self.shown}/{path}", self.model, body])


def endpoint(
    model: Model,
    providers: Mapping[str, Provider] = PROVIDERS,
    server: Provider = PROVIDERS["openai"],
    needs_key: bool = True,
) -> Endpoint:
    """Return the address of ``owner/name``: for an entry of status ``api`` that of ``owner``, one of ``providers``.

    Other models are requested from the address of ``server``, such as OPENAI_BASE_URL, as ``owner/name``, which is
    what such servers call them; without that address, from ``owner`` too. Raises :class:`ServiceError` naming the
    environment variable that is missing or wrong.
    """
    owner, _, name = model.source.partition("/")
    known = owner in providers and (model.status == "api" or not environment(server.base))
    provider = providers[owner] if known else server
    url, key = environment(provider.base), environment(provider.key)
    if not known and not url:
        raise ServiceError(
            f"{model.source}: no API is known by the name {owner!r} (known: {', '.join(providers)}); "
            f"set {provider.base} to the address of the server that has this model"
        )
    if needs_key and not url and not key:
        raise ServiceError(
            f"{model.source}: {provider.key} is not set; set it to your key, or {provider.base} to a server without one"
        )
    if not re.fullmatch(r"[!-~]*", key):
        raise ServiceError(f"{provider.key}: holds a space or another character that no key has; set it again")
    base = urlsplit(url or provider.url)
    if base.scheme not in ("http", "https") or not base.hostname:
        raise ServiceError(f"{provider.base}: not an address of the form https://host/v1; set it again")
    shown = f"{base.scheme}://{base.netloc.rpartition('@')[2]}{base.path.rstrip('/')}"
    return Endpoint(base, shown, name if known else model.source, provider, key)


def environment(variable: str) -> str:
    """Return the value of an environment variable, empty where it is not set."""
    return os.environ.get(variable, "").strip()
