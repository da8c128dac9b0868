"""A small web site and a search server over it: python -m gateway.cli.demo.local_site

Both are on this machine, in a process of their own, so that nothing else has to load what serves
them. The first line on standard output is JSON: {"site": "http://127.0.0.1:PORT", "search": …,
"private": …}. The site has three topics; one of its pages links to the private address, and one
path redirects there. Whoever asks for that address gets a planted secret, and a line
{"reached": PATH} is written, so that a tour can tell that nobody did. It ends when its standard
input does.
"""

import html
import json
import re
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import yaml

PAGES = Path(__file__).with_name("site.yaml")
MOVED = "/quantum/old-players"
PRIVATE = "/status"
SECRET = "planted-secret-7f3a"  # noqa: S105
LEAST_SHARED = 3
"""A word of the title counts as three."""
HOST = "127.0.0.1"

Pages = dict[str, dict[str, str]]


def page_of(title: str, text: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f"</title></head>\n<body><main><article><h1>{html.escape(title)}</h1>\n{text}"
        "</article></main></body></html>\n"
    )


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", "", text).split())


def found(pages: Pages, query: str, site: str) -> list[dict[str, str]]:
    """Pages that share words with a query, those that share most first, as SearXNG writes them."""
    words = _words(query)

    def shared(page: dict[str, str]) -> int:
        return 3 * len(words & _words(page["title"])) + len(words & _words(page["text"]))

    ranked = sorted(pages.items(), key=lambda item: -shared(item[1]))
    return [
        {"title": page["title"], "url": site + path, "content": plain(page["text"])[:160]}
        for path, page in ranked
        if shared(page) >= LEAST_SHARED
    ]


def _words(text: str) -> set[str]:
    """Without short ones, which stand everywhere."""
    return set(re.findall(r"[a-z0-9]{4,}", text.lower()))


class _Handler(BaseHTTPRequestHandler):
    pages: ClassVar[Pages] = {}
    site: ClassVar[str] = ""
    private: ClassVar[str] = ""

    def log_message(self, format: str, *arguments: object) -> None:
        """What is asked for is nobody's news here."""

    def answer(self, status: int, kind: str, text: str, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


class _Site(_Handler):
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == MOVED:
            self.answer(302, "text/plain", "moved\n", Location=self.private)
        elif path in self.pages:
            page = self.pages[path]
            text = page["text"].replace("{private}", html.escape(self.private))
            self.answer(200, "text/html", page_of(page["title"], text))
        else:
            self.answer(404, "text/plain", "there is no such page\n")


class _Search(_Handler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        if url.path == "/search" and asked.get("format") == ["json"]:
            query = " ".join(asked.get("q", ()))
            results = found(self.pages, query, self.site)
            body = {"query": query, "number_of_results": len(results), "results": results}
            self.answer(200, "application/json", json.dumps(body))
        elif url.path == PRIVATE:
            print(json.dumps({"reached": self.path}), flush=True)
            self.answer(200, "text/plain", f"{SECRET}\n")
        else:
            self.answer(404, "text/plain", "there is nothing here\n")


def main() -> None:
    site, search = (ThreadingHTTPServer((HOST, 0), kind) for kind in (_Site, _Search))
    _Handler.pages = yaml.safe_load(PAGES.read_text(encoding="utf-8"))
    _Handler.site = f"http://{HOST}:{site.server_port}"
    _Handler.private = f"http://{HOST}:{search.server_port}{PRIVATE}"
    where = {
        "site": _Handler.site,
        "search": f"http://{HOST}:{search.server_port}",
        "private": _Handler.private,
    }
    for server in (site, search):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps(where), flush=True)
    with suppress(KeyboardInterrupt):  # it is meant for the tour, which ends this too
        sys.stdin.read()


if __name__ == "__main__":
    main()
