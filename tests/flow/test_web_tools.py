"""A chat whose agent, and whose children, read a page of the web."""

import pytest

from storage.records.entries import Json
from storage.store import Store
from tests.flow.chatting import talk
from tests.flow.conftest import gateway
from tests.flow.delegating import Rule, calls, delegates, says, tool_results
from tests.stand_ins.web import Pages, Site, html, redirect, search_service

HITS = [{"title": "The docs", "url": "http://docs.example/", "snippet": "how to"}]


def web(site: Site) -> Json:
    """The site is at an address of this machine, which its operator allows."""
    return {
        "tools": {"toolsets": ["web"]},
        "web": {
            "search": "searxng",
            "search_url": f"{site.url}/searx",
            "allow": [f"127.0.0.1:{site.port}"],
        },
    }


async def test_parent_and_child_search_and_read(store: Store) -> None:
    pages: Pages = {"/": html("<h1>Hello</h1>"), "/searx/search": search_service("searxng", HITS)}
    async with Site(pages) as site:
        rules: list[Rule] = [
            calls("web_search", {"query": "docs"}, tier="parent", turn=0),
            calls("fetch_url", {"url": f"{site.url}/"}, tier="parent", turn=1),
            delegates({"goal": "look", "toolsets": ["web"]}, last="<page-", tier="parent"),
            calls("fetch_url", {"url": f"{site.url}/"}, last="Task: look"),
            says("read", last="<page-"),
            says("the end", tier="parent"),
        ]
        async with gateway(rules, store=store, config=web(site)) as g:
            await talk(g, "go")
            await g.hears("the end")
            found, page, child = tool_results(g.model.of("parent")[-1])
            assert "The docs" in found
            assert "# Hello" in page
            assert "completed" in child
            paths = [asked.path.partition("?")[0] for asked in site.requests]
            assert paths == ["/searx/search", "/", "/"]


async def test_what_is_not_switched_on_is_not_there(store: Store) -> None:
    async with Site({"/": html("secret")}) as site:
        rules = [calls("fetch_url", {"url": site.url}, tier="parent", turn=0), says("the end")]
        async with gateway(rules, store=store) as g:
            await talk(g, "go")
            assert "there is no tool named" in tool_results(g.model.of("parent")[-1])[-1]
            assert site.requests == []


async def test_this_machine_is_refused_in_the_result(store: Store) -> None:
    async with Site({"/": html("secret")}) as site:
        rules = [calls("fetch_url", {"url": site.url}, tier="parent", turn=0), says("the end")]
        config: Json = {"tools": {"toolsets": ["web"]}}
        async with gateway(rules, store=store, config=config) as g:
            await talk(g, "go")
            result = tool_results(g.model.of("parent")[-1])[-1]
            assert result.startswith("Error: '127.0.0.1' leads to this machine itself")
            assert site.requests == []


@pytest.mark.parametrize(
    ("rules", "told", "asked"),
    [
        (
            [("deny", "/b$")],
            "a redirect is not followed: a rule of [[tools.rules]] forbids",
            ["/a"],
        ),
        ([("allow", "/a$"), ("ask", None)], "not followed: a person must agree", ["/a"]),
        ([("allow", "/a$"), ("allow", "/b$"), ("deny", None)], "# Hello", ["/a", "/b"]),
        ([("allow", "/a$")], "# Hello", ["/a", "/b"]),
    ],
)
async def test_where_a_redirect_leads_is_held_against_the_rules(
    store: Store, rules: list[tuple[str, str | None]], told: str, asked: list[str]
) -> None:
    pages: Pages = {"/a": redirect("/b"), "/b": html("<h1>Hello</h1>")}
    async with Site(pages) as site:
        given = [
            {"tool": "fetch_url", "decision": decision} | ({"match": match} if match else {})
            for decision, match in rules
        ]
        config = web(site)
        config["tools"]["rules"] = given
        answers = [
            calls("fetch_url", {"url": f"{site.url}/a"}, tier="parent", turn=0),
            says("the end"),
        ]
        async with gateway(answers, store=store, config=config) as g:
            await talk(g, "go")
            assert told in tool_results(g.model.of("parent")[-1])[-1]
            assert [one.path for one in site.requests] == asked
