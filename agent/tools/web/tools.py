"""fetch_url and web_search. What they bring is data of strangers: fenced, cleaned and bounded."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.text.fencing import UNTRUSTED, fence
from agent.text.sizing import head, share
from agent.text.untrusted import visible
from agent.tools.base import (
    Call,
    Done,
    Effects,
    Kit,
    Requested,
    Setting,
    Tool,
    Toolset,
    Traits,
    validate,
)
from agent.tools.web.client import WebClient, WebPage
from agent.tools.web.engines import MOST_HITS, Hit
from agent.tools.web.urls import LONGEST_URL, Target, parse_url

PAGE_BYTES = 50_000
"""Of a page's text at once."""
PAGE_SHARE = 8
"""It is at most this part of the context window of who reads it."""
LONGEST_QUERY = 400
"""Characters; Brave takes no more."""


def web_kit(client: WebClient) -> Kit:
    """fetch_url; and web_search, where a service is configured."""

    def kit(setting: Setting) -> Iterable[Tool]:
        yield FetchUrl(client, share(setting.window, PAGE_SHARE, PAGE_BYTES))
        if client.config.search is not None:
            yield WebSearch(client)

    return kit


class FetchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(
        min_length=1, max_length=LONGEST_URL, description="Beginning with https:// or http://."
    )
    offset: int = Field(
        default=0, ge=0, description="The character of the page's text to begin with, from 0."
    )


class FetchUrl:
    name = "fetch_url"
    description = (
        "Fetch a page of the web: HTML as Markdown with its links, the text of a PDF, other texts "
        "and JSON as they are. A long one comes in parts; a first line in brackets says how to go "
        f"on. {UNTRUSTED}"
    )
    parameters = FetchArguments.model_json_schema()
    traits = Traits(Effects.READS, Toolset.WEB, repeatable=True)

    def __init__(self, client: WebClient, page_bytes: int) -> None:
        self._client = client
        self._page_bytes = page_bytes

    async def requested(self, call: Call) -> Requested:
        """The URL as it is asked for. Where it redirects to is held against the rules too, once
        that is known."""
        arguments = validate(FetchArguments, call.arguments)
        target = parse_url(arguments.url, allowed=self._client.allowed)
        return Requested(line=target.url, shown=target.url, where=f"the web, {target.authority}")

    async def run(self, call: Call) -> Done:
        arguments = validate(FetchArguments, call.arguments)
        target = parse_url(arguments.url, allowed=self._client.allowed)

        async def may(onward: Target) -> None:
            try:
                await call.may_reach(onward.url)
            except ToolError as error:
                raise ToolError(f"a redirect is not followed: {visible(str(error))}") from None

        page = await self._client.page(
            call.session, target, call.address, may, kept=arguments.offset > 0
        )
        return Done(part_of(page, arguments.offset, self._page_bytes))


class SearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(
        min_length=1, max_length=LONGEST_QUERY, description="What to look for, in a few words."
    )
    count: int = Field(default=8, ge=1, le=MOST_HITS, description="Results at most.")


class WebSearch:
    name = "web_search"
    description = (
        "Search the web. Gives title, URL and a few words of each result; fetch_url reads one. "
        f"{UNTRUSTED}"
    )
    parameters = SearchArguments.model_json_schema()
    traits = Traits(Effects.READS, Toolset.WEB, repeatable=True)

    def __init__(self, client: WebClient) -> None:
        self._client = client

    async def requested(self, call: Call) -> Requested:
        query = _query(validate(SearchArguments, call.arguments))
        return Requested(line=query, shown=query, where=f"{self._client.config.search}, a search")

    async def run(self, call: Call) -> Done:
        arguments = validate(SearchArguments, call.arguments)
        query = _query(arguments)
        found = await self._client.search(query, arguments.count, call.address)
        if not found:
            return Done("[nothing was found; try other words]")
        return Done(fence("results", "\n\n".join(map(_entry, found)), query=query))


def part_of(page: WebPage, offset: int, limit: int) -> str:
    """At most `limit` bytes of a page's text from a character on, with what is to be known of it.

    ToolError for an offset behind the end.
    """
    total = len(page.text)
    if offset and offset >= total:
        raise ToolError(f"offset: the page has only {total:,} characters; begin with a smaller one")
    text = head(page.text[offset : offset + limit], limit)
    end = offset + len(text)
    notes = list(page.notes)
    if offset or end < total:
        onward = f"; go on with offset={end}" if end < total else ""
        notes.insert(0, f"characters {offset}–{end} of {total}{onward}")
    first = "".join(f"[{note}]\n" for note in notes)
    told = {"url": page.url} | ({"title": page.title} if page.title else {})
    return first + fence("page", text or "(no text)", **told)


def _query(arguments: SearchArguments) -> str:
    query = " ".join(visible(arguments.query).split())
    if not query:
        raise ToolError("query: there are no words in it")
    return query


def _entry(hit: Hit) -> str:
    return "\n".join(line for line in (hit.title, hit.url, hit.snippet) if line)
