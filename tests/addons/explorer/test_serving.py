"""The servers of annotate and explore: who is let in, and what every answer carries."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from annotating import sample_pool
from serving import Running, raw, serving

from heed.web import LARGEST


class Site(NamedTuple):
    command: str
    get: str  # a path of the API that answers
    post: str


SITES = (Site("annotate", "/api/task", "/api/changes"), Site("explore", "/api/folder?folder=.", "/api/read"))


@pytest.fixture(scope="module", params=SITES, ids=[site.command for site in SITES])
def site(request: pytest.FixtureRequest) -> Site:
    found: Site = request.param
    return found


@pytest.fixture(scope="module")
def server(
    site: Site, tmp_path_factory: pytest.TempPathFactory, sample_runs: Callable[[str], Path]
) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(site.command)
    sample_pool(folder / "pool.jsonl")
    of = {
        "annotate": [folder / "pool.jsonl", "--lang", "fas"],
        "explore": [sample_runs("fas")],
    }
    with serving(site.command, *of[site.command], kind=Running) as process:
        yield process


def test_it_listens_on_this_machine_alone(server: Running) -> None:
    tables = [Path("/proc/net/tcp").read_text(), Path("/proc/net/tcp6").read_text()]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    addresses = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{server.port:04X}")]  # 0A: listening
    assert addresses == [f"0100007F:{server.port:04X}"]


def test_the_link_brings_the_page_and_a_strict_cookie(server: Running) -> None:
    status, headers, text = server.request("GET", f"/?token={server.token}", Cookie="")
    assert status == 200 and "<!doctype html>" in text.lower()
    assert headers["set-cookie"] == f"heed-{server.port}={server.token}; Path=/; HttpOnly; SameSite=Strict"
    assert len(server.token) >= 43  # 32 bytes of chance
    assert server.request("GET", "/")[0] == 200, "a reload has the cookie"
    assert "set-cookie" not in server.request("GET", "/")[1]


@pytest.mark.parametrize(
    "path",
    ["/", "/?token=", "/?token=wrong", "/static/annotate.js", "/api/GET", "/api/document?docid=n005", "/absent"],
)
@pytest.mark.parametrize("cookie", ["", "heed-PORT=", "heed-PORT=wrong", "heed-1=TOKEN", "other=TOKEN"])
def test_without_the_token_all_is_refused(server: Running, site: Site, path: str, cookie: str) -> None:
    path = path.replace("/api/GET", site.get)
    cookie = cookie.replace("PORT", str(server.port)).replace("TOKEN", server.token)
    status, headers, text = server.request("GET", path, Cookie=cookie)
    assert status == 403
    assert "set-cookie" not in headers
    assert f"open the link that python -m pipelines.{site.command} printed" in text


def test_the_token_opens_the_page_only(server: Running, site: Site) -> None:
    for path in (site.get, "/static/annotate.js", site.post):
        assert server.request("GET", f"{path}?token={server.token}", Cookie="")[0] == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:PORT", "[::1]:PORT"],
)
def test_a_foreign_host_is_refused(server: Running, host: str) -> None:
    host = host.replace("PORT", str(server.port))
    status, headers, text = server.request("GET", f"/?token={server.token}", Host=host)
    assert status == 403 and "set-cookie" not in headers
    wanted = host if ":" in host else "HOST:PORT"
    assert text.startswith("this host is not served here;") and f" with {wanted} as an allowed host" in text


def test_what_is_no_host_is_not_repeated(server: Running) -> None:
    for host in ("<script>alert(1)</script>", "a b:1", "evil.example:123456", "\u0661:1"):
        head = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        answer = raw(server.port, head.encode())
        assert b" 403 " in answer.splitlines()[0] and b" with HOST:PORT as an allowed host" in answer


def test_localhost_is_this_machine_too(server: Running, site: Site) -> None:
    assert server.request("GET", site.get, Host=f"localhost:{server.port}")[0] == 200


def test_a_request_without_a_host_is_refused(server: Running, site: Site) -> None:
    cookie = f"Cookie: heed-{server.port}={server.token}\r\n"
    assert b" 403 " in raw(server.port, f"GET {site.get} HTTP/1.0\r\n{cookie}\r\n".encode()).splitlines()[0]


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:PORT", "http://127.0.0.1:1", "http://localhost:PORT", "file://"],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "get"), ("POST", "post"), ("GET", "/")])
def test_a_foreign_origin_is_refused(server: Running, site: Site, origin: str, method: str, path: str) -> None:
    path = {"get": site.get, "post": site.post}.get(path, path)
    body = {"id": "from-elsewhere", "assessor": "a", "changes": []} if method == "POST" else None
    status, _, text = server.request(method, path, body, Origin=origin.replace("PORT", str(server.port)))
    assert (status, text) == (403, "requests from other pages are refused\n")


def test_pages_of_other_ports_may_not_ask_even_where_browsers_call_them_the_same_site(
    server: Running, site: Site
) -> None:
    for origin in ("same-site", "cross-site", "none"):
        assert server.request("GET", site.get, Sec_Fetch_Site=origin)[0] == 403
    assert server.request("GET", site.get, Sec_Fetch_Site="same-origin")[0] == 200
    assert server.request("GET", site.get, Origin=f"http://127.0.0.1:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../annotation_server.py",
        "/../../etc/passwd",
        "/static/%2e%2e/annotation_server.py",
        "/static/%2e%2e%2fannotation_server.py",
        "/static/..%5cannotation_server.py",
        "/static//etc/passwd",
        "//etc/passwd",
        "/static/annotate.js%00.css",
        "/static/annotate%2ejs",
        "/static/",
        "/static/absent.js",
        "/api/absent",
        "/favicon.ico",
        "http://127.0.0.1/api/task",
    ],
)
def test_nothing_outside_is_served(server: Running, path: str) -> None:
    head = f"Host: 127.0.0.1:{server.port}\r\nCookie: heed-{server.port}={server.token}\r\nConnection: close\r\n\r\n"
    answer = raw(server.port, f"GET {path} HTTP/1.1\r\n{head}".encode())
    assert b" 404 " in answer.splitlines()[0], answer
    assert b"import" not in answer and b"root:" not in answer


def test_every_answer_carries_the_strict_headers(server: Running, site: Site) -> None:
    answers = [
        server.request("GET", "/"),
        server.request("GET", site.get),
        server.request("GET", "/static/annotate.css"),
        server.request("GET", "/absent"),
        server.request("GET", "/", Cookie=""),
        server.request("POST", site.post, {"id": 1}),
    ]
    for _, headers, _ in answers:
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["connect-src"] == "'self'"
        assert policy["script-src"] and policy["style-src"]
        assert all("unsafe" not in sources and "*" not in sources for sources in policy.values())
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content_Length": str(LARGEST + 1)}, 413),
        ({"Content_Length": "", "Transfer_Encoding": "chunked"}, 411),
        ({"Content_Length": "ten"}, 400),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_bodies_are_small_and_json(server: Running, site: Site, headers: dict[str, str], status: int) -> None:
    sent = {"Host": f"127.0.0.1:{server.port}", "Cookie": f"heed-{server.port}={server.token}", "Connection": "close"}
    sent |= {"Content-Length": "2", "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
    answer = raw(server.port, f"POST {site.post} HTTP/1.1\r\n{lines}\r\n{{}}".encode())
    assert f" {status} ".encode() in answer.splitlines()[0]
