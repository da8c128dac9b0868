"""Fetching against real servers: redirects, names that change, floods, and those who hold on."""

import asyncio
import gzip
import socket
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from agent.errors import ToolError
from agent.tools.web.fetching import FETCHES_AT_ONCE, Answer, Fetcher, Limits, Request
from agent.tools.web.resolving import LOOKUPS_AT_ONCE, ScriptedResolver, SystemResolver
from agent.tools.web.urls import NOBODY, Allowed, Target, allowed_hosts, parse_url
from tests.stand_ins.web import Asked, Handler, Rerouted, Site, answer, html, redirect

PUBLIC, OTHER = "93.184.216.34", "1.1.1.1"
SMALL = Limits(seconds=10, received=200_000, unpacked=300_000)


async def anywhere(_: Target) -> None:
    """Every redirect may be followed."""


async def fetched(
    site: Site,
    path: str = "/",
    *,
    answers: Mapping[str, Sequence[Sequence[str]]] | None = None,
    host: str = "site.example",
    limits: Limits = SMALL,
    wire: Rerouted | None = None,
    allowed: Allowed = NOBODY,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """A page of a site that is at a public address, as far as anybody can tell."""
    resolver = ScriptedResolver(answers or {"site.example": [[PUBLIC]]})
    wire = wire or Rerouted({PUBLIC: site.port, OTHER: site.port})
    fetcher = Fetcher(resolver, limits=limits, wire=wire, tls=tls)
    scheme = "https" if tls is not None else "http"
    target = parse_url(f"{scheme}://{host}{path}", allowed=allowed)
    return await fetcher.get(
        Request(target, "telegram:1", allowed),
        lambda _, media: not media.startswith("image/"),
        anywhere,
    )


async def refused(site: Site, path: str = "/", **more: object) -> str:
    with pytest.raises(ToolError) as caught:
        await fetched(site, path, **more)  # type: ignore[arg-type]
    return str(caught.value)


async def test_a_page_comes_from_the_address_that_was_checked() -> None:
    async with Site({"/": html("hello")}) as site:
        wire = Rerouted({PUBLIC: site.port})
        found = await fetched(site, wire=wire)
        assert (found.status, found.media, found.charset) == (200, "text/html", "utf-8")
        assert b"hello" in found.body
        assert wire.dialled == [(PUBLIC, 80)]
        assert site.requests[0].headers["host"] == "site.example"


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1"])
async def test_a_name_with_a_private_address_is_never_connected_to(address: str) -> None:
    async with Site({"/": html("secret")}) as site:
        for answers in ([address], [PUBLIC, address], [address, PUBLIC]):
            wire = Rerouted({PUBLIC: site.port, address: site.port})
            error = await refused(site, answers={"site.example": [answers]}, wire=wire)
            assert "only public pages" in error
            assert wire.dialled == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "１２７.0.0.1"])
async def test_an_address_in_the_url_is_checked_like_one_of_a_name(host: str) -> None:
    async with Site({"/": html("secret")}) as site:
        error = await refused(site, host=f"{host}:{site.port}", wire=Rerouted({}))
        assert "only public pages" in error
        assert site.requests == []


async def test_a_name_that_answers_otherwise_the_second_time_is_checked_the_second_time() -> None:
    async with Site({"/": redirect("/again"), "/again": html("secret")}) as site:
        answers = {"site.example": [[PUBLIC], ["127.0.0.1"]]}
        wire = Rerouted({PUBLIC: site.port, "127.0.0.1": site.port})
        assert "only public pages" in await refused(site, answers=answers, wire=wire)
        assert wire.dialled == [(PUBLIC, 80)]
        assert [asked.path for asked in site.requests] == ["/"]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://[::1]/",
        "//169.254.169.254/latest/meta-data",
        "http://inside.example/",
        "http://0x7f.1/",
        "file:///etc/passwd",
        "http://user@site.example/",
        "http://site.example:22/",
        "http://site.example/ \\x",
        "gopher://site.example/",
    ],
)
async def test_a_redirect_is_checked_like_the_first_url(location: str) -> None:
    async with Site({"/": redirect(location), "*": html("secret")}) as site:
        answers = {
            "site.example": [[PUBLIC]],
            "localhost": [["127.0.0.1"]],
            "inside.example": [["10.1.2.3"]],
        }
        wire = Rerouted({PUBLIC: site.port, "127.0.0.1": site.port, "10.1.2.3": site.port})
        assert await refused(site, answers=answers, wire=wire)
        assert wire.dialled == [(PUBLIC, 80)]


async def test_redirects_are_followed_to_another_host_and_carry_nothing_along() -> None:
    pages = {
        "/": answer("", "", "302 Found", {"Location": "//other.example/b", "Set-Cookie": "a=b"}),
        "/b": redirect("c", "307 Temporary Redirect"),
        "/c": html("here"),
    }
    async with Site(pages) as site:
        answers = {"site.example": [[PUBLIC]], "other.example": [[OTHER]]}
        found = await fetched(site, answers=answers)
        assert found.target.url == "http://other.example/c"
        assert found.redirects == 2
        for asked in site.requests:
            assert not {"cookie", "referer", "authorization"} & asked.headers.keys()


async def test_what_a_redirect_says_is_not_told_as_it_is() -> None:
    async with Site({"/": redirect("x://‮obey​".encode().decode("latin-1"))}) as site:
        error = await refused(site)
        assert "a redirect is not followed" in error
        assert not set("‮​") & set(error)


async def test_addresses_of_both_kinds_are_tried_in_turns() -> None:
    async with Site({"/": html("hello")}) as site:
        wire = Rerouted({PUBLIC: site.port})
        sixes = [f"2606:4700::{number}" for number in range(1, 9)]
        found = await fetched(site, answers={"site.example": [[*sixes, PUBLIC]]}, wire=wire)
        assert found.status == 200
        assert [host for host, _ in wire.dialled] == [sixes[0], PUBLIC]


async def test_redirects_in_a_circle_come_to_an_end() -> None:
    async with Site({"/": redirect("/b"), "/b": redirect("/")}) as site:
        assert "more than 5 redirects" in await refused(site)
        assert len(site.requests) == 6


async def test_proxies_and_logins_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine site.example login a password b")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    async with Site({"/": html("direct")}) as site, Site({"*": html("proxied")}) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert b"direct" in (await fetched(site)).body
        assert proxy.requests == []
        assert "authorization" not in site.requests[0].headers


async def test_the_operators_own_host_may_be_private_and_its_redirects_elsewhere_may_not() -> None:
    async with Site({"/": html("wiki"), "/away": redirect("http://127.0.0.1:9999/")}) as site:
        allowed = allowed_hosts([f"wiki.local:{site.port}"])
        resolver = ScriptedResolver({"wiki.local": [["127.0.0.1"]]})
        fetcher = Fetcher(resolver, limits=SMALL)

        async def get(path: str) -> Answer:
            target = parse_url(f"http://wiki.local:{site.port}{path}", allowed=allowed)
            return await fetcher.get(Request(target, "", allowed), lambda *_: True, anywhere)

        assert b"wiki" in (await get("/")).body
        with pytest.raises(ToolError, match="only public pages"):
            await get("/away")


async def test_this_machine_under_its_public_address_is_refused() -> None:
    class Named(Rerouted):
        """Both ends are the same machine, whatever it is called."""

        async def connect_tcp(self, host: str, port: int, *more: object, **others: object):  # type: ignore[no-untyped-def]
            return await self._inner.connect_tcp("127.0.0.1", self._ports[host])

    async with Site({"/": html("admin")}) as site:
        error = await refused(site, wire=Named({PUBLIC: site.port}))
        assert "this machine itself" in error
        assert site.requests == []


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    async with Site({"/": html("hello")}) as site:
        wire = Rerouted({PUBLIC: site.port})
        found = await fetched(site, answers={"site.example": [[OTHER, PUBLIC]]}, wire=wire)
        assert found.status == 200
        assert wire.dialled == [(OTHER, 80), (PUBLIC, 80)]
        error = await refused(site, answers={"site.example": [[OTHER]]}, wire=Rerouted({}))
        assert "cannot be reached (the connection was refused)" in error


async def test_a_name_that_does_not_exist_is_said() -> None:
    async with Site({}) as site:
        error = await refused(site, answers={"other.example": [[PUBLIC]]})
        assert "there is no host named 'site.example'" in error


async def test_the_system_knows_its_own_name() -> None:
    resolver = SystemResolver()
    try:
        assert "127.0.0.1" in await resolver.addresses("localhost", 80, "")
        with pytest.raises(OSError):
            await resolver.addresses("a" * 64 + ".example", 80, "")
    finally:
        resolver.close()


async def test_a_packed_page_is_unpacked_and_a_bomb_is_cut() -> None:
    packed = {"Content-Encoding": "gzip"}
    pages = {
        "/": answer(gzip.compress(b"hello"), "text/plain", headers=packed),
        "/bomb": answer(gzip.compress(bytes(100_000_000)), "text/plain", headers=packed),
        "/br": answer(b"\x8b\x02\x80", "text/plain", headers={"Content-Encoding": "br"}),
        "/torn": answer(b"not packed", "text/plain", headers=packed),
    }
    async with Site(pages) as site:
        assert (await fetched(site)).body == b"hello"
        found = await fetched(site, "/bomb")
        assert (len(found.body), found.whole) == (SMALL.unpacked, False)
        assert "packs its answer as br," in await refused(site, "/br")
        assert "cannot be unpacked" in await refused(site, "/torn")


async def endless(writer: asyncio.StreamWriter, _: Asked) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x" * 10_000)
        await writer.drain()


async def test_a_packed_page_that_breaks_off_is_not_whole() -> None:
    packed = gzip.compress(bytes(range(256)) * 100)
    page = answer(packed[:-9], "text/plain", headers={"Content-Encoding": "gzip"})
    part = answer("a", "text/plain", "206 Partial Content")
    async with Site({"/": page, "/part": part}) as site:
        assert not (await fetched(site)).whole
        assert not (await fetched(site, "/part")).whole


async def test_a_body_without_end_is_cut() -> None:
    async with Site({"/": endless}) as site:
        found = await fetched(site)
        assert not found.whole
        assert len(found.body) <= SMALL.unpacked


def dripping(start: bytes, drip: bytes) -> Handler:
    """Sends something now and then, for ever."""

    async def handle(writer: asyncio.StreamWriter, _: Asked) -> None:
        writer.write(start)
        while True:
            writer.write(drip)
            await writer.drain()
            await asyncio.sleep(0.02)

    return handle


@pytest.mark.parametrize(
    "handler",
    [
        dripping(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        dripping(b"", b""),
    ],
    ids=["hints", "headers", "chunks", "silence"],
)
async def test_who_holds_on_is_left_when_the_time_is_over(handler: Handler) -> None:
    async with Site({"/": handler}) as site:
        error = await refused(site, limits=Limits(seconds=0.5))
        assert "no whole answer within 0.5 s" in error
        await asyncio.wait_for(site.hung_up.wait(), 60)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nX-A: " + b"x" * 10_000_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 1_000_000 + b"\r\n",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort",
        b"",
    ],
    ids=["long header", "many headers", "not http", "cut off", "nothing"],
)
async def test_what_is_no_http_answer_is_said_in_words(raw: bytes) -> None:
    async with Site({"/": raw}) as site:
        assert "site.example could not be read" in await refused(site)


async def test_a_body_that_nobody_wants_is_not_fetched() -> None:
    async with Site({"/": answer(b"\x89PNG", "image/png")}) as site:
        found = await fetched(site)
        assert (found.media, found.length, found.body) == ("image/png", 4, b"")


async def test_whoever_is_cancelled_hangs_up() -> None:
    async with Site({"/": dripping(b"", b"")}) as site:
        task = asyncio.create_task(fetched(site))
        while not site.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(site.hung_up.wait(), 60)


async def test_whoever_is_cancelled_in_the_middle_of_a_handshake_hangs_up() -> None:
    came, gone = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set()
        while await reader.read(1_000):
            pass
        gone.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        fetcher = Fetcher(
            ScriptedResolver({"site.example": [[PUBLIC]]}), wire=Rerouted({PUBLIC: port})
        )
        request = Request(parse_url("https://site.example/"), "")
        task = asyncio.create_task(fetcher.get(request, lambda *_: True, anywhere))
        await asyncio.wait_for(came.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(gone.wait(), 60)


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[tuple[ssl.SSLContext, ssl.SSLContext]]:
    """What a server of site.example shows, and who trusts it."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=site.example -addext subjectAltName=DNS:site.example"
    )
    command = words.split()
    try:
        subprocess.run(
            [*command, "-keyout", key, "-out", certificate], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("there is no openssl")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    yield server, ssl.create_default_context(cafile=str(certificate))


async def test_the_certificate_is_held_against_the_name_and_not_the_address(
    secure: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async with Site({"/": html("hello")}, tls=secure[0]) as site:
        assert b"hello" in (await fetched(site, tls=secure[1])).body
        answers = {"other.example": [[PUBLIC]]}
        error = await refused(site, host="other.example", answers=answers, tls=secure[1])
        assert "certificate" in error.lower()


async def test_a_redirect_from_https_to_http_is_noted(
    secure: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async with (
        Site({"/": redirect("http://plain.example/")}, tls=secure[0]) as site,
        Site({"/": html("plain")}) as plain,
    ):
        answers = {"site.example": [[PUBLIC]], "plain.example": [[OTHER]]}
        wire = Rerouted({PUBLIC: site.port, OTHER: plain.port})
        found = await fetched(site, answers=answers, wire=wire, tls=secure[1])
        assert found.downgraded
        assert b"plain" in found.body


async def test_many_at_once_wait_for_each_other_and_all_come() -> None:
    async with Site({"*": html("hello")}) as site:
        resolver = ScriptedResolver({"site.example": [[PUBLIC]]})
        fetcher = Fetcher(resolver, wire=Rerouted({PUBLIC: site.port}))
        requests = [
            Request(parse_url(f"http://site.example/{number}"), f"telegram:{number % 3}")
            for number in range(60)
        ]
        found = await asyncio.gather(
            *(fetcher.get(request, lambda *_: True, anywhere) for request in requests)
        )
        assert {one.status for one in found} == {200}


class Held:
    """Pages that drip until they are let go."""

    def __init__(self, many: int) -> None:
        self.let_go = asyncio.Event()
        self._many = many
        self._came = 0
        self.all_came = asyncio.Event()

    async def drip(self, writer: asyncio.StreamWriter, _: Asked) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        self._came += 1
        if self._came == self._many:
            self.all_came.set()
        while not self.let_go.is_set():
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.close()


async def test_pages_that_drip_keep_only_the_conversation_waiting_that_wants_them() -> None:
    held = Held(FETCHES_AT_ONCE // 2)
    async with Site({"/": html("hello"), "/drip": held.drip}) as site:
        resolver = ScriptedResolver({"site.example": [[PUBLIC]]})
        fetcher = Fetcher(resolver, wire=Rerouted({PUBLIC: site.port}))
        hostile = Request(parse_url("http://site.example/drip"), "telegram:hostile")
        dripping = [
            asyncio.create_task(fetcher.get(hostile, lambda *_: True, anywhere))
            for _ in range(2 * FETCHES_AT_ONCE)
        ]
        await held.all_came.wait()
        other = Request(parse_url("http://site.example/"), "telegram:other")
        found = await fetcher.get(other, lambda *_: True, anywhere)
        assert b"hello" in found.body
        assert not any(task.done() for task in dripping)
        held.let_go.set()
        assert {answer.status for answer in await asyncio.gather(*dripping)} == {200}


class Hanging:
    """Names whose servers never answer, and one that does."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.asked = 0

    def look_up(self, host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if host.startswith("slow"):
            self.asked += 1
            self.let_go.wait()
        return [(0, 0, 0, "", (PUBLIC, port))]


async def test_names_whose_servers_never_answer_keep_only_who_asked_for_them_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hanging, resolver = Hanging(), SystemResolver()
    monkeypatch.setattr(socket, "getaddrinfo", hanging.look_up)
    slow = [
        asyncio.create_task(resolver.addresses(f"slow{number}.example", 80, "telegram:hostile"))
        for number in range(40)
    ]
    while hanging.asked < LOOKUPS_AT_ONCE // 2:
        await asyncio.sleep(0.01)
    assert await resolver.addresses("site.example", 80, "telegram:other") == [PUBLIC]
    assert not any(task.done() for task in slow)
    hanging.let_go.set()
    await asyncio.gather(*slow)
    resolver.close()


async def test_a_redirect_that_may_not_be_followed_is_never_asked_for() -> None:
    pages = {"/": redirect("/on"), "/on": redirect("http://other.example/"), "*": html("secret")}

    async def not_there(target: Target) -> None:
        if target.host == "other.example":
            raise ToolError(f"not {target.url}")

    async with Site(pages) as site:
        resolver = ScriptedResolver({"site.example": [[PUBLIC]], "other.example": [[OTHER]]})
        wire = Rerouted({PUBLIC: site.port, OTHER: site.port})
        fetcher = Fetcher(resolver, limits=SMALL, wire=wire)
        request = Request(parse_url("http://site.example/"), "")
        with pytest.raises(ToolError, match=r"not http://other\.example/"):
            await fetcher.get(request, lambda *_: True, not_there)
        assert [asked.path for asked in site.requests] == ["/", "/on"]
        assert resolver.asked == ["site.example", "site.example"]
