"""What routes have in common: requests and answers in JSON."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from heed.errors import DataError
from heed.files import parse_json

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def json_route(answer: Callable[[Request], object]) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that answers with JSON, computed in another thread since it waits for files or a database."""

    async def route(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, request))

    return route


async def read_json(request: Request) -> Any:
    """Return the JSON in the body of ``request``; :class:`DataError` for anything else."""
    try:
        return parse_json((await request.body()).decode())
    except (ValueError, ClientDisconnect) as error:  # the last: nobody reads the answer any more
        raise DataError(f"not JSON ({error})") from error
