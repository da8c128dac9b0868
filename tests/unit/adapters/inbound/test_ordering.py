"""Updates are taken in side by side, but for those of the same chat or the same person."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import CommandSpec, Stopping
from adapters.events import Conversation, Message, Press, Unreadable, Update, User
from adapters.inbound.ordering import AT_ONCE, Lines, TakingIn, of_rights, take_in
from gateway.commands.registry import command_specs


def said(number: int, chat: int, person: int) -> Message:
    return Message(
        key=f"telegram:{chat}:{number}",
        conversation=Conversation("telegram", str(chat)),
        user=User("telegram", str(person), "Ann"),
        text=str(number),
        message_id=str(number),
        private=True,
    )


def belong_together(one: Message, other: Message) -> bool:
    return one.conversation == other.conversation or one.user == other.user


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 3)), max_size=12))
def test_what_belongs_together_is_never_side_by_side_nor_out_of_order(
    told: list[tuple[int, int, int]],
) -> None:
    updates = [said(number, chat, person) for number, (chat, person, _) in enumerate(told)]
    pauses = {update.key: pause for update, (_, _, pause) in zip(updates, told, strict=True)}
    running: list[Message] = []
    begun: list[Message] = []

    async def receive(update: Update) -> None:
        assert isinstance(update, Message)
        assert not any(belong_together(update, other) for other in running)
        begun.append(update)
        running.append(update)
        for _ in range(pauses[update.key]):
            await asyncio.sleep(0)
        running.remove(update)

    assert asyncio.run(take_in(updates, receive)) == (len(updates), None)
    for one in updates:
        later = updates[updates.index(one) + 1 :]
        related = [other for other in later if belong_together(one, other)]
        assert all(begun.index(one) < begun.index(other) for other in related)


async def test_who_has_nothing_to_do_with_it_does_not_wait() -> None:
    others = asyncio.Event()

    async def receive(update: Update) -> None:
        if update.key == "telegram:1:0":
            await others.wait()
        else:
            others.set()

    assert await take_in([said(0, 1, 1), None, said(2, 2, 2)], receive) == (3, None)


@pytest.mark.parametrize("alone", ["command", "edited command", "press"])
async def test_what_may_change_rights_is_taken_in_alone(alone: str) -> None:
    order = []

    async def receive(update: Update) -> None:
        order.append(f"{update.key} begins")
        await asyncio.sleep(0)
        order.append(f"{update.key} ends")

    command = replace(said(1, 2, 2), text="/people")
    owners: dict[str, Update] = {
        "command": command,
        "edited command": replace(command, kind="edit"),
        "press": Press(command.key, command.conversation, command.user, "token", "1", "handle"),
    }
    others = [said(number, number, number) for number in (0, 3, 4)]
    alike = of_rights([CommandSpec("people", "who may talk", rights=True)])
    await take_in([others[0], owners[alone], *others[1:]], receive, alike)
    assert order == [
        *("telegram:0:0 begins", "telegram:0:0 ends"),
        *("telegram:2:1 begins", "telegram:2:1 ends"),
        *("telegram:3:3 begins", "telegram:4:4 begins"),
        *("telegram:3:3 ends", "telegram:4:4 ends"),
    ]


async def test_what_goes_ahead_waits_for_its_own_only_and_all_after_it_for_it() -> None:
    first, ahead, begun = asyncio.Event(), asyncio.Event(), list[str]()
    waits = {"telegram:1:0": first, "telegram:2:1": ahead}

    async def receive(update: Update) -> None:
        begun.append(update.key)
        if update.key in waits:
            await waits[update.key].wait()

    taking = TakingIn(receive)
    async with asyncio.TaskGroup() as group:
        group.create_task(taking.take(said(0, 1, 1)))
        group.create_task(taking.take(said(1, 2, 2), ahead=True))
        after = group.create_task(taking.take(said(2, 3, 3)))
        while len(begun) < 2:
            await asyncio.sleep(0)
        assert begun == ["telegram:1:0", "telegram:2:1"]
        ahead.set()
        await after
        assert begun[2:] == ["telegram:3:2"]
        first.set()


async def test_no_more_than_so_many_are_taken_in_at_once_but_in_the_end_all() -> None:
    running, most, full = set[str](), list[int](), asyncio.Event()

    async def receive(update: Update) -> None:
        running.add(update.key)
        most.append(len(running))
        if len(running) == AT_ONCE:
            full.set()
        await full.wait()
        running.discard(update.key)

    updates = [said(number, number, number) for number in range(AT_ONCE + 20)]
    assert await take_in(updates, receive) == (len(updates), None)
    assert max(most) == AT_ONCE


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("/people", True),
        ("/PEOPLE remove telegram:7", True),
        ("/pair\nABCD-EFGH", True),
        ("/pairs", False),
        ("/tree", False),
        ("people", False),
        ("", False),
    ],
)
def test_the_commands_themselves_say_which_of_them_may_change_rights(
    text: str, alone: bool
) -> None:
    assert bool(of_rights(command_specs()).match(text)) is alone
    assert of_rights([]).match(text) is None


async def test_what_cannot_be_read_waits_for_its_chat() -> None:
    order = []

    async def receive(update: Update) -> None:
        await asyncio.sleep(0)
        order.append(update.key)

    odd = Unreadable("odd", Conversation("telegram", "1"), "", "why")
    await take_in([said(0, 1, 1), odd, said(2, 1, 1)], receive)
    assert order == ["telegram:1:0", "odd", "telegram:1:2"]


async def test_after_one_that_failed_nothing_more_of_its_chat_is_taken_in() -> None:
    taken = []

    async def receive(update: Update) -> None:
        await asyncio.sleep(0)
        if update.key == "telegram:1:1":
            raise Stopping("the bot is being stopped")
        taken.append(update.key)

    updates = [said(0, 1, 1), said(1, 1, 1), said(2, 2, 2), said(3, 1, 1), said(4, 2, 2)]
    committed, failure = await take_in(updates, receive)
    assert committed == 1
    assert isinstance(failure, Stopping)
    assert "telegram:1:3" not in taken


async def test_who_is_cancelled_leaves_nothing_running() -> None:
    ended, begun = [], asyncio.Event()

    async def receive(update: Update) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(update.key)

    taking = asyncio.create_task(take_in([said(0, 1, 1), said(1, 1, 1), said(2, 2, 2)], receive))
    await begun.wait()
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert sorted(ended) == ["telegram:1:0", "telegram:2:2"]


async def test_who_leaves_the_line_first_is_no_trouble_to_those_before() -> None:
    lines, begun = Lines(), asyncio.Event()

    async def stand(number: int) -> None:
        async with lines.turn(said(number, 1, 1)):
            begun.set()
            await asyncio.Event().wait()

    standing = [asyncio.create_task(stand(number)) for number in range(3)]
    await begun.wait()
    for task in reversed(standing):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
