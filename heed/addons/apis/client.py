"""Servers of models: their addresses and keys, and a client that retries where it can help and keeps to a rate."""

import json
import math
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from heed.addons.apis.cost import Answers, Bill
from heed.errors import ServiceError, UsageError, request_reason
from heed.files import digest_json
from heed.models.files import settings_of
from heed.models.registry.entries import Model
from heed.progress import log
from heed.reuse import recipe_version
from heed.types import Config, System

if TYPE_CHECKING:
    from urllib3.util import Retry


RPM, TIMEOUT = "HEED_API_RPM", "HEED_API_TIMEOUT"  # environment: requests a minute at most; seconds to wait for one
ATTEMPTS = 6
CONNECTIONS = 128  # kept open at most; more requests at once than these open their own
CONNECT, READ = 10.0, 180.0  # seconds; a reasoning model thinks before it sends its first byte
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0  # seconds; a server that demands a longer one is left alone
CHUNK = 1 << 16  # bytes read at once
LARGEST = 64 << 20  # bytes of an answer; 64 vectors of 4096 numbers take about 6 MiB
TOO_MANY = 429
RETRIED = {408, 409, 425, TOO_MANY, 500, 502, 503, 504, 529}  # statuses that may be temporary

Read = TypeVar("Read")


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An API: the environment variables of key and address, its own address, and extra fields of its embeddings.

    ``cuts``: it cuts texts that are longer than a model's limit, which others refuse. ``source`` is its documentation.
    """

    key: str
    base: str
    url: str
    queries: dict[str, str] = {}
    documents: dict[str, str] = {}
    cuts: bool = False
    source: str = ""


# none of these was called from here, so all is unverified but by what their documentation says (2026-11)
SERVICES: dict[str, Any] = json.loads((files("heed.addons.apis") / "services.json").read_bytes())
PROVIDERS = msgspec.convert(SERVICES["providers"], dict[str, Provider])  # of chat and embeddings


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


class RefusedError(ServiceError):
    """The server refused a request: ``status`` and, in its own words, the ``reason``."""

    def __init__(self, message: str, status: int, reason: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class _RetryError(Exception):
    """A request that can be made again: why it failed, the answer's status, and its Retry-After header."""

    def __init__(self, reason: str, status: int = 0, retry_after: str | None = None) -> None:
        super().__init__(reason)
        self.status, self.retry_after = status, retry_after


class Client:
    """Posts JSON to one endpoint until it is answered, ``ATTEMPTS`` times at most; several threads may post at once.

    Where the server answers 429 or demands a pause, no thread sends anything until the pause is over.
    """

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], None] = time.sleep) -> None:
        """Read limits from the environment; ``sleep`` waits for so many seconds."""
        import requests
        from urllib3.util import Retry

        self.endpoint, self._sleep = endpoint, sleep
        self._session = requests.Session()
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=CONNECTIONS))
        rpm = _number(RPM)
        self._interval = 60 / rpm if rpm else 0.0
        self._timeout = (CONNECT, _number(TIMEOUT) or READ)
        # not mounted in the session: there it would read what is retried without a limit, keep to no rate, log secrets
        # of addresses, and see neither a used-up budget nor an answer that cannot be used
        self._retry = Retry(ATTEMPTS, backoff_factor=FIRST_PAUSE, backoff_jitter=FIRST_PAUSE)
        self._next = -math.inf
        self._turn = threading.Condition()  # guards the three numbers that threads share
        self._pausing = self._answered = 0
        self._usage = Counter[str]()  # what the server says that it read and wrote, and the answers that say so

    def close(self) -> Counter[str]:
        """Close the connections, which a later request opens again; return what was used since they were opened."""
        self._session.close()
        with self._turn:
            used, self._usage = self._usage, Counter()
        return used

    def post(self, path: str, body: Config, read: Callable[[Any], Read]) -> Read:
        """Return the value that ``read`` gives for the answer to ``body``.

        Timeouts, refused connections, statuses that may be temporary, and answers that are no JSON or for
        which ``read`` raises KeyError, IndexError, TypeError or ValueError are retried, with pauses that
        double or that the server demands. A 429 is no attempt while other threads are answered: there are too many
        requests at once then, and one of them may come last every time. Raises :class:`RefusedError` for other
        statuses, and :class:`ServiceError` after the last attempt and for an answer of more than ``LARGEST`` bytes.
        """
        retry, answered = self._retry, self._answered
        while True:
            try:
                answer = self._once(path, body, read)
                with self._turn:
                    self._answered += 1
                return answer
            except _RetryError as error:
                if error.status == TOO_MANY and self._answered > answered:
                    retry, answered = self._retry, self._answered
                retry = retry.increment(error=error)
                pause = _pause(retry, error.retry_after)
                if not retry.total or pause > LONGEST_PAUSE:
                    demand = (
                        f", which demands a pause of more than {LONGEST_PAUSE:g} s" if pause > LONGEST_PAUSE else ""
                    )
                    attempts = f"attempt {len(retry.history)} of {ATTEMPTS}{demand}"
                    fewer = f", with {RPM} set to fewer requests a minute" if error.status == TOO_MANY else ""
                    raise ServiceError(
                        f"{self.endpoint.shown}/{path}: {error} at {attempts}; what was answered is kept: run again "
                        f"later{fewer}"
                    ) from None
                of_all = error.status == TOO_MANY or error.retry_after
                if not (of_all and self._pausing):  # many threads are refused together: one line says it
                    log.info(f"{self.endpoint.shown}: {error}; retry in {pause:.1f} s")
                with self._pause_of_all() if of_all else nullcontext():
                    self._sleep(pause)

    def _once(self, path: str, body: Config, read: Callable[[Any], Read]) -> Read:
        import requests

        self._pace()
        try:
            # no redirects: they would turn the request into another one, or carry it to another host
            with self._session.post(
                self.endpoint.url(path),
                json=body,
                auth=self._sign if self.endpoint.key else None,
                timeout=self._timeout,
                allow_redirects=False,
                stream=True,
            ) as answer:
                content = self._content(path, answer)
        except requests.Timeout:
            raise _RetryError(f"no answer within {self._timeout[1]:g} s") from None
        except requests.RequestException as error:
            raise _RetryError(f"no connection ({self._clean(request_reason(error))})") from None
        if answer.status_code != requests.codes.ok:
            self._fail(path, answer.status_code, content.decode("utf-8", "replace"), answer.headers.get("Retry-After"))
        try:
            parsed = json.loads(content)
        except (ValueError, RecursionError):
            begins = self._clean(content.decode("utf-8", "replace")) or "empty"
            raise _RetryError(f"an answer that is no JSON ({begins})") from None
        try:
            value = read(parsed)
            self._count(parsed)
            return value
        except (ValueError, KeyError, IndexError, TypeError) as error:
            reason = f"{type(error).__name__}: {error}"
            reason = self._clean(f"it lacks {error}" if isinstance(error, KeyError) else reason)
            raise _RetryError(f"an answer that cannot be used ({reason})") from None

    def _count(self, answer: Any) -> None:
        """Add the tokens that an answer says were used; of embeddings and rerankers it may say the total alone."""
        with self._turn, suppress(AttributeError, KeyError, TypeError):
            usage = answer["usage"]
            read = usage.get("prompt_tokens", usage.get("total_tokens", 0))
            self._usage.update(calls=1, input=read, output=usage.get("completion_tokens", 0))

    def _content(self, path: str, answer: Any) -> bytes:
        """Return the answer's body, decompressed; never more of it than ``LARGEST`` and a chunk."""
        content = bytearray()
        for chunk in answer.iter_content(CHUNK):
            content += chunk
            if len(content) > LARGEST:
                raise ServiceError(
                    f"{self.endpoint.shown}/{path}: an answer of more than {LARGEST:,} bytes, "
                    f"which no such request needs; check {self.endpoint.provider.base}"
                )
        return bytes(content)

    def _sign(self, request: Any) -> Any:
        """Add the key; as a callable, because ~/.netrc would override a header."""
        request.headers["Authorization"] = f"Bearer {self.endpoint.key}"
        return request

    @contextmanager
    def _pause_of_all(self) -> Iterator[None]:
        """Let no thread send anything inside the block."""
        with self._turn:
            self._pausing += 1
        try:
            yield
        finally:
            with self._turn:
                self._pausing -= 1
                self._turn.notify_all()

    def _pace(self) -> None:
        """Wait for this request's turn at the rate, and until no thread pauses for all."""
        now = time.monotonic()
        with self._turn:
            turn = max(now, self._next)
            self._next = turn + self._interval
        if now < turn:
            self._sleep(turn - now)
        with self._turn:
            self._turn.wait_for(lambda: not self._pausing)

    def _fail(self, path: str, status: int, text: str, retry_after: str | None) -> None:
        reason = self._clean(_message(text))
        # a used-up budget has the status of a rate limit, and does not come back by waiting
        if status in RETRIED and "insufficient_quota" not in text:
            raise _RetryError(f"status {status} ({reason})", status, retry_after)
        hint = {
            401: f"check {self.endpoint.provider.key}",
            403: f"check {self.endpoint.provider.key} and what it may use",
            404: f"check the model's name, {self.endpoint.model!r}, and {self.endpoint.provider.base}",
            429: "the account has no credit left",
        }.get(status, "check the model's entry, such as its lengths")
        raise RefusedError(f"{self.endpoint.shown}/{path}: status {status} ({reason}); {hint}", status, reason)

    def _clean(self, text: str) -> str:
        """Return ``text`` as one short line without the key."""
        if self.endpoint.key:
            text = text.replace(self.endpoint.key, "***")
        line = " ".join(text.split())
        return line if len(line) <= 200 else f"{line[:199]}…"


def _message(text: str) -> str:
    """Return the server's error message; the text itself where it is not of OpenAI's form."""
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return text or "no reason given"


def _pause(retry: "Retry", retry_after: str | None) -> float:
    """Return the seconds until the next attempt: more after each failure, and what a Retry-After header demands."""
    from urllib3.exceptions import InvalidHeader

    with suppress(InvalidHeader, ValueError):  # the latter for numbers and years that are too large
        demanded = retry.parse_retry_after(retry_after or "")
        return max(demanded, retry.get_backoff_time()) if demanded else 0.0
    return max(retry.get_backoff_time(), FIRST_PAUSE)


def _number(variable: str) -> float | None:
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{variable}: found {text!r}, expected a number above 0")
    return value


class AtServer(System):
    """A model at a server: its address, and the stored answers; nothing is sent before it is used."""

    config: Config

    def __init__(self, model: Model, target: Endpoint, answers: Path) -> None:
        self.name = model.name
        self._model, self._endpoint = model, target
        self._client, self._answers = Client(target), Answers(answers)
        self.config = {**settings_of(model), **target.config}

    def close(self) -> None:
        """Close the connections, which a later request opens again; log what was used, where the server says it."""
        used = self._client.close()
        if used["calls"]:
            bill = Bill(self._model.price)
            bill.calls, bill.input, bill.output = used["calls"], used["input"], used["output"]
            log.info(bill.used_line(self.name))
