"""The explorer's server: one page, and the topics, documents, searches and questions that it asks for."""

from asyncio import Lock
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock as ThreadLock
from typing import Annotated, Literal

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from heed.addons.explorer.embedded import explorer
from heed.addons.explorer.explored import Explored
from heed.addons.explorer.live_systems import Choice, LiveSystems, Question, answer, reason, search
from heed.addons.explorer.views import DEPTH, document_view, folder_view, narrative_of, topic_view
from heed.errors import DataError, HeedError
from heed.instructions.reader import reader_at
from heed.report.html import compose, policy
from heed.report.page import look, overview, vega_file
from heed.report.results import ResultsFolder
from heed.types import Span
from heed.web import json_route, read_body

DEEPEST = 1000  # documents of a list, as the longest runs have
LONGEST = 20_000  # characters of a query or an instruction
LONGEST_SEARCH = 400
OWN_SERVER = "'self'"
CLOSED = 499  # nginx's status of a request that nobody waits for any more

Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class Read(msgspec.Struct, kw_only=True):
    """An instruction to be read; ``reading`` are the spans that a person has corrected, in characters."""

    folder: str
    instruction: Text
    reading: list[tuple[int, int, Literal["asked", "excluded", "neutral"]]] = []

    def corrections(self) -> tuple[Span, ...]:
        """Return the spans in their order; :class:`DataError` if one is not in the instruction, or on another."""
        spans = tuple(Span(*each) for each in sorted(self.reading))
        ends = [0, *(span.end for span in spans)]
        for end, span in zip(ends, spans, strict=False):
            if not end <= span.start < span.end <= len(self.instruction):
                raise DataError(f"reading: found {[*span[:3]]}, expected a span from {end} to {len(self.instruction)}")
        return spans


class Ask(Read, kw_only=True):
    """The body of a question to the playground; ``docid`` of one document whose score is to be explained."""

    system: str
    topic: str
    condition: str
    query: Text
    docid: str = ""

    def question(self) -> Question:
        """Return the question to a system."""
        return Question(self.topic, self.condition, self.query, self.instruction, self.corrections())


def served_page(results: Sequence[ResultsFolder], runs: Path, annotate: str) -> str:
    """Return the report's page of ``results``, at and below the folder ``runs``, for topics that the server sends.

    ``annotate`` is the address of a running annotation page, empty without one.
    """
    served = {"folders": [each.folder for each in results], "annotate": annotate}
    title = runs.resolve().name
    return compose(title, [explorer("served", served), overview(results, title)], OWN_SERVER)


def served_policy() -> str:
    """Return the Content-Security-Policy of the page."""
    parts = [explorer("served", {}), look()._replace(library=vega_file())]
    return f"{policy(parts, OWN_SERVER)}; frame-ancestors 'none'"


class PlaygroundServer:
    """The routes over a tree of results folders and their systems."""

    def __init__(self, page: Callable[[], str], results: Iterable[ResultsFolder], choice: Choice) -> None:
        """``page`` makes the page when it is first asked for; nothing is opened before that."""
        self._page, self._choice = cache(page), choice
        self._results = {each.folder: each for each in results}
        self._open = cache(lambda folder: Explored(self._results[folder], choice.compute.reader))
        self._opening, self._live = ThreadLock(), dict[str, LiveSystems]()
        self._turns = defaultdict[tuple[str, str], Lock](Lock)  # folder and system -> one question at a time

    def check(self) -> None:
        """Raise :class:`HeedError` where the chosen systems can answer in no folder whose documents are here."""
        refusals = list[HeedError]()
        for folder in self._results:
            try:
                self.live(folder)
                return
            except DataError:  # its view says why
                continue
            except HeedError as error:
                refusals.append(error)
        if refusals:
            raise refusals[0]

    def explored(self, folder: str) -> Explored:
        """Return a folder; 404 for a name that is none of the tree's: names are never taken as paths."""
        if folder not in self._results:
            raise HTTPException(404, f"No results are in {folder!r}.")
        return self._open(folder)

    def live(self, folder: str) -> LiveSystems:
        """Return the systems of a folder; :class:`DataError` where its documents are not here."""
        explored = self.explored(folder)
        with self._opening:
            if folder not in self._live:
                self._live[folder] = LiveSystems(explored, self._choice)
            return self._live[folder]

    def close(self) -> None:
        """Close all systems."""
        for live in self._live.values():
            live.close()

    def application(self) -> Starlette:
        """Return the routes with the handlers of errors."""
        return Starlette(
            routes=[
                Route("/", self._index),
                Route("/api/folder", json_route(self._folder)),
                Route("/api/topic", json_route(self._topic)),
                Route("/api/document", json_route(self._document)),
                Route("/api/search", json_route(self._search)),
                Route("/api/read", self._read, methods=["POST"]),
                Route("/api/ask", self._ask, methods=["POST"]),
                Route("/api/why", self._why, methods=["POST"]),
            ],
            exception_handlers={HeedError: _bad_request},
        )

    async def _index(self, request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(self._page))

    def _folder(self, request: Request) -> object:
        explored = self._explored(request)
        names, problem = list[str](), ""
        try:
            live = self.live(explored.results.folder)
            live.begin_loading()
            names = sorted(live.names, key=live.explains, reverse=True)  # the one that says why stands first
        except HeedError as error:
            problem = str(error)
        return {**folder_view(explored), "playground": names, "problem": problem}

    def _explored(self, request: Request) -> Explored:
        return self.explored(request.query_params.get("folder", ""))

    def _topic(self, request: Request) -> object:
        explored, qid = self._explored(request), request.query_params.get("id", "")
        if qid not in explored.topics:
            raise HTTPException(404, f"No topic is called {qid!r}.")
        number = request.query_params.get("depth", "")[: len(str(DEEPEST))]
        depth = min(int(number), DEEPEST) if number.isdecimal() else DEPTH
        return topic_view(explored, qid, depth)

    def _document(self, request: Request) -> object:
        return document_view(self._explored(request), request.query_params.get("docid", ""))

    def _search(self, request: Request) -> object:
        text = request.query_params.get("q", "")[:LONGEST_SEARCH]
        explored = self._explored(request)
        return search(explored, lambda words, depth: self.live(explored.results.folder).search(words, depth), text)

    async def _read(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._narrative, await read_body(request, Read)))

    def _narrative(self, body: Read) -> object:
        read = reader_at(self.explored(body.folder).reader).as_given(body.instruction)
        return narrative_of(body.instruction, read, body.corrections())

    async def _ask(self, request: Request) -> Response:
        return await self._in_turn(request, lambda live, ask: answer(live, ask.system, ask.question()))

    async def _why(self, request: Request) -> Response:
        return await self._in_turn(request, lambda live, ask: reason(live, ask.system, ask.question(), ask.docid))

    async def _in_turn(self, request: Request, compute: Callable[[LiveSystems, Ask], object]) -> Response:
        """Answer one question after the other; one whose page has asked another meanwhile, or is gone, is left out."""
        ask = await read_body(request, Ask)
        live = await run_in_threadpool(self.live, ask.folder)
        live.check(ask.system)
        async with self._turns[ask.folder, ask.system]:
            if await request.is_disconnected():
                return Response(status_code=CLOSED)
            return JSONResponse(await run_in_threadpool(compute, live, ask))


async def _bad_request(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)
