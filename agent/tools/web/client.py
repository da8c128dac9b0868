"""What one gateway shares for the web: its connections' bounds, readers, and pages just read."""

import re
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from agent.fairness import FairPlaces, FairThreads
from agent.settings import WebConfig
from agent.text.untrusted import visible
from agent.tools.web import engines
from agent.tools.web.bodies import text_of
from agent.tools.web.fetching import PATIENCE, Answer, Fetcher, May, Request
from agent.tools.web.reading import process
from agent.tools.web.reading.process import Reader
from agent.tools.web.reading.serving import LONGEST_TEXT, Page, Text
from agent.tools.web.resolving import Resolver, SystemResolver
from agent.tools.web.urls import Target, allowed_hosts, parse_url

READ_SECONDS = 15.0
READERS_AT_ONCE = 4
"""Each is a process. One conversation has two of them at most."""
THREADS = 4
"""For what is done to texts besides."""
KEPT_PAGES = 50
KEPT_CHARACTERS = 10_000_000
KEPT_SECONDS = 900.0
_TITLE = 200
_PIECE = 100_000
"""Characters."""
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_PDF = frozenset(("application/pdf", "application/x-pdf"))
_UNSAID = frozenset(("", "application/octet-stream", "binary/octet-stream"))
_TEXT = re.compile(
    r"text/.*|application/(?:.*\+(?:json|xml)|json|ld\+json|xml|javascript|ecmascript|x-javascript"
    r"|typescript|yaml|x-yaml|toml|x-toml|x-sh|x-ndjson|ndjson|jsonl|sql|graphql|x-tex|x-latex|rtf"
    r"|x-httpd-php|x-python|x-subrip)|image/svg\+xml|message/.*"
)
_MEDIA = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")
_LOOKS_LIKE_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_SNIFFED = 1_024
"""Bytes of a body that are looked at to tell what it is."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as it is read."""

    url: str
    """Where it was found, after redirects."""
    title: str
    text: str
    """Markdown, or the text as it is; cleaned of what cannot be seen, not fenced."""
    notes: tuple[str, ...]
    """What is to be known of it, in our own words."""


class WebClient:
    """Owned by the gateway, which closes it at its end."""

    def __init__(
        self, config: WebConfig, *, resolver: Resolver | None = None, fetcher: Fetcher | None = None
    ) -> None:
        """ToolError where `[web] allow` has a fault."""
        self.config = config
        self.allowed = allowed_hosts(config.allow)
        self._resolver = resolver if resolver is not None else SystemResolver()
        self._fetcher = fetcher if fetcher is not None else Fetcher(self._resolver)
        self._readers = FairPlaces(READERS_AT_ONCE, "pages that are read", PATIENCE)
        self._threads = FairThreads(THREADS, "texts of the web", PATIENCE)
        self._kept: OrderedDict[tuple[int, str], tuple[float, WebPage]] = OrderedDict()

    async def page(
        self, session: int, target: Target, whose: str, may: May, *, kept: bool = False
    ) -> WebPage:
        """A page anew, for the conversation `whose`; or, with `kept`, as this session read it a
        short while ago, so that its parts fit each other. `may` is asked of each address that a
        redirect leads to. ToolError where it cannot be fetched or read."""
        key = session, target.url
        if kept and (found := self._fresh(key)) is not None:
            if found.url != target.url:
                await may(parse_url(found.url, allowed=None))
            return found
        answer = await self._fetcher.get(Request(target, whose, self.allowed), _wanted, may)
        page = await self._read(answer, whose)
        self._keep(key, page)
        return page

    async def search(self, query: str, count: int, whose: str) -> Sequence[engines.Hit]:
        """ToolError where no service is configured, or it does not answer as it should."""
        question = engines.question(self.config, query, count)
        request = Request(question.target, whose, question.allowed)
        answer = await self._fetcher.ask(request, question.headers, question.content)
        assert self.config.search is not None
        found = await self._threads.run(
            whose, partial(engines.hits, self.config.search, answer.status, answer.body, count)
        )
        return [engines.without_key(hit, self.config) for hit in found]

    def close(self) -> None:
        self._kept.clear()
        self._threads.close()
        self._resolver.close()

    def _fresh(self, key: tuple[int, str]) -> WebPage | None:
        found = self._kept.get(key)
        if found is None or time.monotonic() - found[0] > KEPT_SECONDS:
            return None
        return found[1]

    def _keep(self, key: tuple[int, str], page: WebPage) -> None:
        self._kept.pop(key, None)
        self._kept[key] = time.monotonic(), page
        while len(self._kept) > KEPT_PAGES or (
            len(self._kept) > 1
            and sum(len(kept.text) for _, kept in self._kept.values()) > KEPT_CHARACTERS
        ):
            self._kept.popitem(last=False)

    async def _read(self, answer: Answer, whose: str) -> WebPage:
        reader = _reader(answer)
        if reader is Reader.PDF and not answer.whole:
            found = Text("", note=f"a PDF of more than {len(answer.body):,} bytes is too large")
        elif reader is not None:
            page = Page(answer.target.url, answer.charset, READ_SECONDS)
            async with self._readers.place(whose):
                found = await process.read(reader, answer.body, page)
        elif answer.body and not _is_binary(answer):
            found = await self._threads.run(whose, partial(_as_it_is, answer))
        elif answer.body or not answer.wanted:
            found = Text("", note=_described(answer))
        else:
            found = Text("", note="the page is empty")
        return await self._threads.run(whose, partial(_page, answer, found, reader))


def _wanted(target: Target, media: str) -> bool:
    """Bodies worth the wait: what can be read, and files that call themselves a PDF."""
    if media in _UNSAID:
        return media == "" or target.path.partition("?")[0].lower().endswith(".pdf")
    return media in _HTML | _PDF or _TEXT.fullmatch(media) is not None


def _reader(answer: Answer) -> Reader | None:
    if not answer.body:
        return None
    if answer.body[:_SNIFFED].lstrip().startswith(b"%PDF-"):
        return Reader.PDF
    if answer.media in _HTML or (
        answer.media == "" and _LOOKS_LIKE_HTML.search(answer.body[:_SNIFFED])
    ):
        return Reader.HTML
    return None


def _is_binary(answer: Answer) -> bool:
    start = answer.body[:_SNIFFED]
    return b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))


def _as_it_is(answer: Answer) -> Text:
    text = text_of(answer.body, answer.charset)
    if len(text) <= LONGEST_TEXT:
        return Text(text)
    return Text(text[:LONGEST_TEXT], note=f"cut after {LONGEST_TEXT:,} characters")


def _described(answer: Answer) -> str:
    media = answer.media if _MEDIA.fullmatch(answer.media) else "of an unknown type"
    size = answer.length if answer.length is not None else len(answer.body) or None
    return (
        f"{media}, {f'{size:,} bytes' if size is not None else 'of unknown size'}: it is not text, "
        "so nothing of it is shown"
    )


def _page(answer: Answer, found: Text, reader: Reader | None) -> WebPage:
    text = _cleaned(found.text)
    notes = []
    if answer.status >= 400:
        notes.append(f"the server answered {_status(answer.status)}")
    if answer.downgraded:
        notes.append("a redirect led from https to http, where anybody on the way can change it")
    if found.note:
        notes.append(visible(found.note))
    elif not answer.whole:
        notes.append(f"cut: only the first {len(answer.body):,} bytes were read")
    if reader is Reader.HTML and not text:
        notes.append("there is no text; such a page is made by scripts, which are not run")
    title = " ".join(visible(found.title[:_TITLE]).split())
    return WebPage(answer.target.url, title, text, tuple(notes))


def _cleaned(text: str) -> str:
    """Piece by piece: a thread keeps the event loop waiting as long as a single one takes."""
    pieces = range(0, len(text), _PIECE)
    return "".join(visible(text[start : start + _PIECE]) for start in pieces).strip()


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
