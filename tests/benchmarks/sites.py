"""Twenty saved web sites, and what is true about them: do they let people export orders as CSV?

Most show it plainly. Seven need judgement: a button under another name, one that has moved to
another page, a maintenance page with a saved copy beside it, an address that leads elsewhere, and
one that really has none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

BUTTON = '<button id="export-csv">Export as CSV</button>'
RENAMED = '<button id="download">Download spreadsheet</button>'
HANDLER = 'on("#export-csv", "click", () => download("/orders.csv"));'
SETTINGS = "settings.html"
ARCHIVE = "archive.html"
MOVED = f"CSV export moved to {SETTINGS}"
ORDERS = 80
"""Rows of the table on each page, which makes a page about 6,500 characters long."""


class Kind(StrEnum):
    PLAIN = "plain"
    LOGIN = "login"
    BROKEN = "broken"
    RENAMED = "renamed"
    MOVED = "moved"
    MAINTENANCE = "maintenance"
    ELSEWHERE = "elsewhere"
    NONE = "none"


ANSWERS: Mapping[Kind, str] = {
    Kind.PLAIN: "supported",
    Kind.LOGIN: "login",
    Kind.BROKEN: "broken",
    Kind.RENAMED: "supported",
    Kind.MOVED: "supported",
    Kind.MAINTENANCE: "supported",
    Kind.ELSEWHERE: "gone",
    Kind.NONE: "unsupported",
}
"""What is true."""
MIX: Mapping[Kind, int] = {
    Kind.PLAIN: 10,
    Kind.LOGIN: 2,
    Kind.BROKEN: 1,
    Kind.RENAMED: 2,
    Kind.MOVED: 1,
    Kind.MAINTENANCE: 1,
    Kind.ELSEWHERE: 2,
    Kind.NONE: 1,
}
"""How many sites there are of each kind."""


@dataclass(frozen=True, slots=True)
class Site:
    name: str
    kind: Kind
    files: Mapping[str, str] = field(repr=False)
    """By path in the workspace."""

    @property
    def answer(self) -> str:
        return ANSWERS[self.kind]


def sites() -> tuple[Site, ...]:
    kinds = [kind for kind, count in MIX.items() for _ in range(count)]
    return tuple(_site(f"site-{n:02}", kind, n) for n, kind in enumerate(kinds, start=1))


def _site(name: str, kind: Kind, number: int) -> Site:
    files = {
        "response.txt": _response(name, kind),
        "page.html": _page(name, kind, number),
        "app.js": _script(has_handler=kind not in (Kind.BROKEN, Kind.NONE)),
        "changelog.md": _changelog(kind),
    }
    if kind is Kind.MOVED:
        files[SETTINGS] = _document(name, f"<h1>Your data</h1>\n{BUTTON}\n")
    if kind is Kind.MAINTENANCE:
        files[ARCHIVE] = _document(name, f"<h1>Orders</h1>\n{BUTTON}\n{_orders(number)}")
    return Site(name, kind, {f"{name}/{file}": text for file, text in files.items()})


def _response(name: str, kind: Kind) -> str:
    status = {
        Kind.LOGIN: "401 Unauthorized",
        Kind.ELSEWHERE: "301 Moved Permanently\nLocation: https://domains-for-sale.example/",
        Kind.MAINTENANCE: "503 Service Unavailable\nRetry-After: 3600",
    }.get(kind, "200 OK")
    return (
        f"GET https://{name}.example/orders\nHTTP/1.1 {status}\nServer: nginx\n"
        "Content-Type: text/html; charset=utf-8\nCache-Control: private, no-store\n"
        "Strict-Transport-Security: max-age=31536000\nX-Frame-Options: DENY\n"
    )


def _page(name: str, kind: Kind, number: int) -> str:
    match kind:
        case Kind.LOGIN:
            return _document(name, '<form id="login"><input name="email"></form>\n')
        case Kind.ELSEWHERE:
            return _document(name, "<h1>This domain is for sale</h1>\n")
        case Kind.MAINTENANCE:
            text = f"We are back soon. The last saved copy of this page is {ARCHIVE}."
            return _document(name, f"<h1>Maintenance</h1>\n<p>{text}</p>\n")
        case Kind.PLAIN | Kind.BROKEN:
            button = BUTTON
        case Kind.RENAMED:
            button = RENAMED
        case Kind.MOVED | Kind.NONE:
            button = '<button id="print">Print</button>'
    return _document(name, f"<h1>Orders</h1>\n{button}\n{_orders(number)}")


def _document(name: str, body: str) -> str:
    links = "\n".join(
        f'<a href="/{word}">{word.capitalize()}</a>'
        for word in ("home", "products", "orders", "customers", "reports", "help", "account")
    )
    return (
        f"<!doctype html>\n<title>{name}</title>\n<nav>\n{links}\n</nav>\n<main>\n{body}</main>\n"
    )


def _orders(number: int) -> str:
    rows = (
        f"<tr><td>{1000 * number + n}</td><td>Customer {7 * n % 50}</td><td>2026-{n % 12 + 1:02}-"
        f"{n % 28 + 1:02}</td><td>{n * 37 % 900}.00</td></tr>"
        for n in range(ORDERS)
    )
    return "<table>\n" + "\n".join(rows) + "\n</table>\n"


def _script(*, has_handler: bool) -> str:
    return "\n".join(_script_lines(has_handler)) + "\n"


def _script_lines(has_handler: bool) -> Iterator[str]:
    yield 'import { on, get, render, download } from "./lib.js";'
    for word in ("filter", "sort", "page", "select", "print", "refresh", "archive", "search"):
        yield f"async function {word}Orders(event) {{"
        yield f'  const state = readState(event.target.closest("[data-{word}]"));'
        yield f'  const rows = await get("/api/orders/{word}", {{ ...state, limit: 80 }});'
        yield f'  render("table", rows, {{ keep: "{word}", highlight: state.changed }});'
        yield "}"
        yield f'on("#{word}", "click", {word}Orders);'
        if word == "print" and has_handler:
            yield HANDLER


def _changelog(kind: Kind) -> str:
    lines = [f"- 4.{n}: faster lists, clearer messages, small faults mended" for n in range(20)]
    if kind is Kind.MOVED:
        lines.insert(3, f"- 4.17.1: {MOVED}")
    return "# Changelog\n\n" + "\n".join(lines) + "\n"
