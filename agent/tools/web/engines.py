"""Search services: how each is asked, and what its answer says. Pure.

The key stands in a header and nowhere else; no error repeats what was sent or what came back.
"""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never
from urllib.parse import unquote, urlencode

from agent.errors import ToolError
from agent.settings import WebConfig
from agent.text.untrusted import visible
from agent.tools.web.urls import Allowed, Target, parse_url

Engine = Literal["searxng", "brave", "tavily"]
HOMES: Mapping[Engine, str] = {
    "searxng": "http://127.0.0.1:8080",
    "brave": "https://api.search.brave.com/res/v1/web/search",
    "tavily": "https://api.tavily.com/search",
}
"""Where each is, unless `[web] search_url` says otherwise."""
MOST_HITS = 20
_TITLE, _LONGEST_URL, _SNIPPET = 200, 1_000, 600
"""Characters."""
LONGEST_ANSWER = 1_000_000
"""Bytes; to read a larger one keeps the event loop waiting."""
_LEAST_SECRET = 6
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_WRONG_KEY = (401, 403)
_USED_UP = (402, 429, 432, 433)
"""432 and 433 are Tavily's, for a plan and a limit of one's own."""


@dataclass(frozen=True, slots=True)
class Question:
    """One search, as it is sent."""

    target: Target
    headers: Mapping[str, str]
    content: bytes | None
    """None: a GET."""
    allowed: Allowed
    """The service itself, wherever it is: the operator named it."""


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    url: str
    snippet: str
    """All three on one line, without marks."""


def question(config: WebConfig, query: str, count: int) -> Question:
    """ToolError where the configuration names no service, or one that cannot be asked."""
    if config.search is None:
        raise ToolError("searching is not configured; an operator sets [web] search")
    home = config.search_url or HOMES[config.search]
    key = config.search_key.get_secret_value() if config.search_key is not None else ""
    if not key and config.search != "searxng":
        raise ToolError(f"{config.search} wants a key; an operator sets [web] search_key")
    headers = {"Accept": "application/json"}
    content: bytes | None = None
    match config.search:
        case "searxng":
            home = _page(home, q=query, format="json")
            headers |= {"Authorization": f"Bearer {key}"} if key else {}
        case "brave":
            home = _query(home, q=query, count=str(count))
            headers |= {"X-Subscription-Token": key}
        case "tavily":
            headers |= {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            content = json.dumps({"query": query, "max_results": count}).encode()
        case engine:
            assert_never(engine)
    target = parse_url(home, allowed=None)  # an operator may choose the port
    return Question(
        target, headers, content, Allowed(frozenset(), frozenset({(target.host, target.port)}))
    )


def hits(engine: Engine, status: int, body: bytes, count: int) -> list[Hit]:
    """What was found, the best first, at most `count`. ToolError, in words, for a refusal."""
    if status != 200:
        raise ToolError(f"{engine}: {_fault(engine, status)}")
    if len(body) > LONGEST_ANSWER:
        raise ToolError(f"{engine}: the answer has more than {LONGEST_ANSWER:,} bytes")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ToolError(f"{engine}: the answer is no JSON; is [web] search_url right?") from None
    match engine:
        case "searxng":
            found = _hits(answer, "content")
        case "brave":
            # Where nothing was found, Brave leaves the part away.
            web = answer.get("web", {"results": []}) if isinstance(answer, dict) else None
            found = _hits(web, "description")
        case "tavily":
            found = _hits(answer, "content")
        case _:
            assert_never(engine)
    if found is None:
        raise ToolError(f"{engine}: the answer is no list of results; is [web] search_url right?")
    return found[:count]


def without_key(hit: Hit, config: WebConfig) -> Hit:
    """Should the service repeat the key, no model hears it."""
    key = config.search_key.get_secret_value() if config.search_key is not None else ""
    if len(key) < _LEAST_SECRET:
        return hit
    url = "" if key in unquote(hit.url) else hit.url
    return Hit(hit.title.replace(key, "…"), url, hit.snippet.replace(key, "…"))


def _fault(engine: Engine, status: int) -> str:
    if engine == "searxng" and status == 403:
        return "refused (403): its settings must list json under search.formats"
    if status in _WRONG_KEY:
        return f"the key was refused ({status}); an operator checks [web] search_key"
    if status in _USED_UP:
        return f"its limit is reached ({status}); try again later"
    if status >= 500:
        return f"it fails at the moment ({status}); try again later"
    if status == 404:
        return "nothing is there (404); an operator checks [web] search_url"
    return f"it refused the search ({status}); try other words"


def _page(home: str, **parameters: str) -> str:
    """SearXNG's search page, where its home was given."""
    bare = home.rstrip("/")
    return _query(bare if bare.endswith("/search") else f"{bare}/search", **parameters)


def _query(url: str, **parameters: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def _hits(answer: Any, snippet: str) -> list[Hit] | None:
    found = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(found, list):
        return None
    made = [_hit(one, snippet) for one in found[: MOST_HITS * 5] if isinstance(one, dict)]
    return [hit for hit in made if hit.url]


def _hit(one: Mapping[str, Any], snippet: str) -> Hit:
    return Hit(
        _plain(one.get("title"), _TITLE),
        _url(one.get("url")),
        _plain(one.get(snippet), _SNIPPET),
    )


def _url(value: object) -> str:
    """As it can be fetched; "" for what cannot."""
    if not isinstance(value, str) or len(value) > _LONGEST_URL:
        return ""
    try:
        return parse_url(value).url
    except ToolError:
        return ""


def _plain(value: object, limit: int) -> str:
    """Services send HTML here and there."""
    if not isinstance(value, str):
        return ""
    text = html.unescape(_TAG.sub("", value[: limit * 8]))
    text = " ".join(visible(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
