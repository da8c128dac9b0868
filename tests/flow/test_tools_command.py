"""/tools: what is on, what asks, what was allowed; and taking that back."""

from typing import Any

from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.approving import ASKED, Launch, launches, rule
from tests.flow.conftest import Gateway, SpyModel, gateway
from tests.flow.delegating import ANSWER, asked

RULES = [launches("a"), launches("a", last="^again"), ANSWER]


async def allowed(g: Gateway) -> None:
    """One call is allowed for this conversation."""
    await g.chat.say("go")
    await g.chat.press(await asked(g, ASKED), "For this conversation")
    await g.hears("result: launched a")


async def told(g: Gateway, line: str, expected: str, **more: Any) -> str:
    await g.chat.say(line, **more)
    shown = await g.hears(expected, chat=more.get("chat", "1"))
    return shown.text


async def test_it_says_of_every_tool_what_becomes_of_its_calls(store: Store) -> None:
    config = {
        "tools": {
            "toolsets": ["file_read"],
            "rules": [
                rule("allow", "^git "),
                rule("deny", "rm"),
                rule("deny", tool="list_*"),
                rule("allow", tool="list_files"),
            ],
        }
    }
    async with gateway(RULES, store=store, tools=[Launch()], config=config) as g:
        text = await told(g, "/tools", "Toolsets here")
        assert "**Toolsets here:** `file_read`" in text
        assert (
            "- `launch`: runs where `^git` matches, never runs where `rm` matches, else asks"
            in text
        )
        assert "- `read_file`: runs" in text
        assert "- `list_files`: never runs" in text
        assert "write_file" not in text
        assert "Allowed" not in text


async def test_it_says_that_only_some_calls_of_a_tool_ask(store: Store) -> None:
    config = {"tools": {"toolsets": ["message"]}}
    async with gateway(RULES, store=store, config=config) as g:
        text = await told(g, "/tools", "Toolsets here")
        assert "- `send_message`: runs, asks elsewhere\n" in text


async def test_where_nothing_is_on_it_says_how_to_change_that(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        assert "`toolsets` under `[tools]`" in await told(g, "/tools", "No toolset")


async def test_what_was_allowed_is_listed_and_taken_back_by_its_number(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        await allowed(g)
        text = await told(g, "/tools", "Allowed in this conversation")
        assert "- **1** · `launch` · `a` · User 1, 20" in text
        assert "Revoked" in await told(g, "/tools revoke 1", "Revoked by User 1: `launch`")
        assert "Nothing with the number 1" in await told(g, "/tools revoke 1", "Nothing")
        await g.chat.say("again")
        await asked(g, ASKED)
        assert tool.launched == ["a"]
        ((_, who, details, _),) = await store.read(lambda tx: tx.directory.audits("revoke"))
        assert (who, details["grant"], details["shown"]) == ("telegram:1", 1, "a")


async def test_a_button_takes_it_back(store: Store) -> None:
    async with gateway(RULES, store=store, tools=[Launch()]) as g:
        await allowed(g)
        await g.chat.say("/tools")
        listed = await asked(g, "Allowed in this conversation")
        await g.chat.press(listed, "Revoke 1")
        await g.hears("Revoked by User 1")
        assert "Allowed" not in await told(g, "/tools", "No toolset")


async def test_only_who_may_approve_takes_it_back_and_only_here(store: Store) -> None:
    config = {"access": {"allow": ["telegram:*"], "owners": ["telegram:1"]}}
    async with gateway(RULES, store=store, tools=[Launch()], config=config) as g:
        await allowed(g)
        await told(g, "/tools revoke 1", "Only those who may approve", user="2", private=False)
        await told(g, "hi", "result: hi", chat="2")
        await told(g, "/tools revoke 1", "Nothing with the number 1", chat="2")
        await told(g, "/tools revoke one", "/tools revoke with the number")
        await g.chat.say("again")
        await g.hears("launched a", count=2)


async def test_what_a_rule_denies_stays_so_whatever_was_allowed(database: str) -> None:
    model, tool = SpyModel(RULES), Launch()
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, tools=[tool]) as g:
        await allowed(g)
        await g.settled()
    config = {"tools": {"rules": [rule("deny")]}}
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, tools=[tool], config=config) as g:
        await told(g, "again", "is not allowed here", key="telegram:1:again")
        assert tool.launched == ["a"]
