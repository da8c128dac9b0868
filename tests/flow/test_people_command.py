"""/people: who may talk, changed from a chat; and what somebody who is removed loses at once."""

import pytest

from storage.records.chats.people import RightDraft, Role
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, SlowModel, labels, newest
from tests.flow.conftest import ON_BOTH, Gateway, gateway
from tests.flow.pairing import OWNED, STRANGER, asks, audited, gives, notice, presses
from tests.support.stores import Clock

BEN = f"telegram:{STRANGER}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def let_in(g: Gateway, role: str = "member") -> None:
    await gives(g, f"/pair {await asks(g)} {role}")


async def role_of(store: Store, identity: str) -> Role | None:
    right = await store.read(lambda tx: tx.rights.get(identity))
    return right.role if right is not None else None


async def test_the_list_says_who_may_talk_by_what_and_by_whom(store: Store) -> None:
    config = {"access": {"owners": ["telegram:1"], "allow": ["telegram:2"]}}
    async with gateway(ECHO, store=store, config=config) as g:
        await let_in(g)
        await asks(g, "77")
        text = await gives(g, "/people")
        assert "`telegram:1` · owner · by bough.toml" in text
        assert "`telegram:2` · member · by bough.toml" in text
        facts = "member · since 0 s ago · for good · by `telegram:1`"
        assert f"User {STRANGER} (`{BEN}`) · {facts}" in text
        assert "User 77 (`telegram:77`) · 0 s ago" in text
        shown = newest(g)
        assert labels(shown) == [f"User {STRANGER}", "Let in User 77", "Ignore User 77"]
        await presses(g, shown, f"User {STRANGER}")
        assert labels(shown) == ["Approver", "Owner", "Remove", "Back"]
        assert "is an approver, for good" in await presses(g, shown, "Approver")
        assert await role_of(store, BEN) is Role.APPROVER


async def test_a_long_file_is_listed_in_part(store: Store) -> None:
    many = [f"telegram:{number}" for number in range(100, 400)]
    config = {"access": {"owners": ["telegram:1"], "allow": many}}
    async with gateway(ECHO, store=store, config=config) as g:
        text = await gives(g, "/people")
        assert "281 more by bough.toml" in text
        assert len(text) < 4000


@ON_BOTH
async def test_roles_are_changed_and_people_removed_in_words(store: Store) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        await let_in(g)
        assert "is an owner, for good" in await gives(g, f"/people role {BEN} owner")
        assert "Who may talk to me" in await gives(g, "/people", STRANGER)
        assert "is removed" in await gives(g, f"/people remove {BEN}")
        assert await gives(g, "hello", STRANGER) == ""
        assert await role_of(store, BEN) is None
        assert await audited(store, "right taken") == ["telegram:1"]


async def test_nobody_but_an_owner_sees_or_changes_it_and_no_group_does(store: Store) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        await let_in(g)
        for text in ("/people", f"/people role {BEN} owner", f"/people remove {BEN}"):
            assert await gives(g, text, STRANGER) == "Only the bot's owners do this."
            assert "in private" in await gives(g, text, chat=GROUP)
        assert await role_of(store, BEN) is Role.MEMBER


async def test_whoever_stands_in_the_file_is_not_changed_from_a_chat(store: Store) -> None:
    config = {"access": {"owners": ["telegram:1"], "allow": ["telegram:2"]}}
    async with gateway(ECHO, store=store, config=config) as g:
        for text in ("/people remove telegram:1", "/people role telegram:2 owner"):
            assert "stands in bough.toml" in await gives(g, text)
        assert "was let in by nobody" in await gives(g, "/people remove telegram:9")


async def test_the_last_owner_for_good_stays(store: Store) -> None:
    owner = RightDraft("telegram:1", "Ann", Role.OWNER, None, "")
    await store.run(lambda tx: tx.rights.give(owner))
    async with gateway(ECHO, store=store, config={"access": {}}) as g:
        for text in ("/people remove telegram:1", "/people role telegram:1 member"):
            assert "is the last owner for good" in await gives(g, text)
        await gives(g, f"/pair {await asks(g)} owner for 1d")
        assert "is the last owner for good" in await gives(g, "/people remove telegram:1")
        await gives(g, f"/pair {await asks(g, '77')} owner")
        assert "is removed" in await gives(g, "/people remove telegram:1", "77")
        assert "is the last owner for good" in await gives(g, "/people remove telegram:77", "77")


async def test_the_turn_of_somebody_who_is_removed_ends_and_is_not_taken_up_again(
    store: Store,
) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, config=OWNED, model=model) as g:
        await let_in(g)
        await g.chat.say("slow one", chat=STRANGER, user=STRANGER)
        await model.began.wait()
        await g.chat.say(f"/people remove {BEN}")
        model.may_go_on.set()
        await g.settled()
        assert not [text for text in g.chat.texts(STRANGER) if "so be it" in text]
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []
        assert "is removed" in g.chat.texts("1")[-1]


async def test_a_button_of_somebody_who_is_no_owner_any_more_does_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        await let_in(g, "owner")
        await asks(g, "77")
        shown = notice(g, STRANGER)
        await gives(g, f"/people role {BEN} member")
        assert await presses(g, shown, "Let in", STRANGER) == "Only the bot's owners do this."
        assert await role_of(store, "telegram:77") is None
