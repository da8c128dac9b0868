"""The reverse proxies: read by the programs themselves, and asked over the wire."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, TCPConnector, web

from tests.support.ports import free_port
from tests.support.programs import program

PROXIES = Path(__file__).parents[2] / "deploy/proxy"
SECRET = "X-Telegram-Bot-Api-Secret-Token"
Ask = Callable[..., Awaitable[int]]


def certificate(folder: Path) -> None:
    subject = ["-subj", "/CN=bot.example.com", "-days", "1", "-nodes", "-newkey", "rsa:2048"]
    made = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    openssl = program("openssl", "openssl")
    subprocess.run([openssl, "req", "-x509", *subject, *made], check=True, capture_output=True)


def nginx(folder: Path, port: int, gateway: int) -> list[str]:
    """Around what we give: the outermost part, which each system has. Ports and paths are this
    test's."""
    text = (PROXIES / "nginx.conf").read_text(encoding="utf-8")
    for given, own in (
        ("/etc/letsencrypt/live/bot.example.com", str(folder)),
        ("/var/log/nginx", str(folder)),
        ("listen [::]:80;", ""),
        ("listen [::]:443 ssl http2;", ""),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8443", f"127.0.0.1:{gateway}"),
    ):
        assert given in text, given
        text = text.replace(given, own)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder};" for kind in kinds)
    main = folder / "main.conf"
    main.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ {temporary}\n{text} }}\n"
    )
    return [program("nginx", "nginx-light"), "-p", str(folder), "-c", str(main)]


def caddy(folder: Path, port: int, gateway: int) -> list[str]:
    """With a certificate of this test's, and no port but its own."""
    text = (PROXIES / "Caddyfile").read_text(encoding="utf-8")
    own = f"tls {folder}/fullchain.pem {folder}/privkey.pem"
    for given, here in (
        ("bot.example.com {\n", f"https://bot.example.com:{port} {{\n\tbind 127.0.0.1\n\t{own}\n"),
        ("127.0.0.1:8443", f"127.0.0.1:{gateway}"),
        ("\tservers {", "\tadmin off\n\tauto_https off\n\tservers {"),
    ):
        assert given in text, given
        text = text.replace(given, here)
    path = folder / "Caddyfile"
    path.write_text(text, encoding="utf-8")
    return [program("caddy", "caddy"), "run", "--config", str(path), "--adapter", "caddyfile"]


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    certificate(tmp_path)
    command = nginx(tmp_path, free_port(), free_port())
    done = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


def test_caddy_takes_its_file_and_has_nothing_to_warn_of(tmp_path: Path) -> None:
    path = shutil.copy(PROXIES / "Caddyfile", tmp_path)
    command = [program("caddy", "caddy"), "validate", "--config", path, "--adapter", "caddyfile"]
    environment = {"HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert '"level":"warn"' not in done.stderr


@asynccontextmanager
async def gateway() -> AsyncIterator[tuple[int, list[web.Request]]]:
    """What listens behind the proxy, and what came to it."""
    came: list[web.Request] = []

    async def take(request: web.Request) -> web.Response:
        try:
            await request.read()
        except ConnectionResetError:
            return web.Response()  # The proxy cut it off: it did not come.
        came.append(request)
        return web.Response()

    application = web.Application(client_max_size=1 << 24)
    application.router.add_route("*", "/{path:.*}", take)
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield port, came
    finally:
        await runner.cleanup()


@asynccontextmanager
async def proxied(command: list[str], port: int, folder: Path) -> AsyncIterator[Ask]:
    process = await asyncio.create_subprocess_exec(
        *command,
        env={"HOME": str(folder)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    trusted = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
    trusted.check_hostname = False
    try:
        async with ClientSession(connector=TCPConnector(ssl=trusted)) as client:

            async def ask(method: str, path: str, size: int = 2, secret: str = "") -> int:
                headers = {"Host": "bot.example.com"} | ({SECRET: secret} if secret else {})
                url = f"https://127.0.0.1:{port}{path}"
                body = b"x" * size
                name = "bot.example.com"
                async with client.request(
                    method, url, data=body, headers=headers, server_hostname=name
                ) as answer:
                    return answer.status

            async with asyncio.timeout(30):
                while not await _listens(port):
                    assert process.returncode is None
                    await asyncio.sleep(0.05)
            yield ask
    finally:
        process.terminate()
        await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@pytest.mark.parametrize("made", [nginx, caddy])
async def test_only_the_webhook_passes_with_its_secret_and_nothing_too_large(
    tmp_path: Path, made: Callable[[Path, int, int], list[str]]
) -> None:
    certificate(tmp_path)
    port = free_port()
    async with (
        gateway() as (behind, came),
        proxied(made(tmp_path, port, behind), port, tmp_path) as ask,
    ):
        assert await ask("POST", "/telegram", secret="the-secret") == 200
        (passed,) = came
        assert (passed.method, passed.path) == ("POST", "/telegram")
        assert passed.headers[SECRET] == "the-secret"
        for path in ("/metrics", "/healthz", "/readyz", "/", "/telegram/metrics"):
            assert await ask("GET", path) == 404
        assert await ask("GET", "/telegram") in {403, 404, 405}
        assert len(came) == 1
        # Caddy before 2.7 says 502 where it cuts a body off.
        assert await ask("POST", "/telegram", size=3 << 20) in {413, 502}
        assert len(came) == 1
    logged = [each.read_text() for each in tmp_path.glob("*.log")]
    assert not any("the-secret" in text for text in logged)
