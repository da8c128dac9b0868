"""Buttons, and the boxes that they hang on."""

import pytest

from storage.errors import NotFound, StoreError
from storage.records.buttons import Action, ActOnChild, ButtonRow, Decide, RunAction, RunCommand
from storage.records.inbox_outbox import OutboxDraft, StoredFile
from storage.store import Store, Transaction
from tests.support.stores import new_session


def _message(t: Transaction) -> int:
    return t.outbox.enqueue(OutboxDraft("telegram:1", "post", {})).id


COMMAND = RunCommand("goto it's \N{SNOWMAN}", private=True, within=7)
ACTION = RunAction("back", {"leaf": None, "text": "it's \N{SNOWMAN}"}, within=7)
STOP = ActOnChild("stop", 3, session=1)


def _button(
    token: str, outbox: int, action: Action = COMMAND, expires: float | None = None
) -> ButtonRow:
    return ButtonRow(token, "telegram:1", outbox, "Go on", action, "telegram:9", expires)


@pytest.mark.parametrize("action", [COMMAND, ACTION, Decide(2, "stop"), STOP])
async def test_a_button_is_what_was_put(store: Store, action: Action) -> None:
    def work(t: Transaction) -> ButtonRow:
        button = _button("one", _message(t), action, 7.5)
        t.buttons.put(button)
        return button

    button = await store.run(work)
    assert await store.read(lambda t: t.buttons.get("one")) == button
    assert await store.read(lambda t: t.buttons.get("two")) is None


async def test_a_token_is_given_to_one_button_only(store: Store) -> None:
    await store.run(lambda t: t.buttons.put(_button("one", _message(t))))
    with pytest.raises(StoreError):
        await store.run(lambda t: t.buttons.put(_button("one", _message(t), STOP)))
    kept = await store.read(lambda t: t.buttons.get("one"))
    assert kept is not None and kept.action == COMMAND


async def test_a_button_hangs_on_a_message_that_is_there(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.run(lambda t: t.buttons.put(_button("one", 99)))


async def test_temporary_are_those_that_expire_and_are_not_used_up(store: Store) -> None:
    def work(t: Transaction) -> None:
        for token, expires in (("lasts", None), ("used", 1.0), ("one", 9.0), ("two", 1.0)):
            t.buttons.put(_button(token, _message(t), STOP, expires))
        t.buttons.use(2, "over")

    await store.run(work)
    left = await store.read(lambda t: t.buttons.temporary())
    assert [button.token for button in left] == ["one", "two"]


async def test_the_first_press_uses_up_all_buttons_of_a_message_and_no_others(store: Store) -> None:
    def work(t: Transaction) -> tuple[int, int]:
        message, other = _message(t), _message(t)
        for token, row in (("one", message), ("two", message), ("three", other)):
            t.buttons.put(_button(token, row))
        return message, other

    message, _ = await store.run(work)
    assert await store.run(lambda t: t.buttons.use(message, "Ada: Go on"))
    assert not await store.run(lambda t: t.buttons.use(message, "Bob: Stop"))

    def used(t: Transaction) -> list[str]:
        buttons = [t.buttons.get(token) for token in ("one", "two", "three")]
        return [button.used for button in buttons if button is not None]

    assert await store.read(used) == ["Ada: Go on", "Ada: Go on", ""]


async def test_a_file_is_kept_until_it_is_dropped(store: Store) -> None:
    file = StoredFile("tree.png", b"\x89PNG\0", picture=True)
    kept = await store.run(lambda t: t.outbox.keep(file))
    assert await store.read(lambda t: t.outbox.kept(kept)) == file
    await store.run(lambda t: t.outbox.drop(kept))
    with pytest.raises(NotFound):
        await store.read(lambda t: t.outbox.kept(kept))


async def test_who_joined_a_session_is_remembered_once(store: Store) -> None:
    one, two = await new_session(store), await new_session(store)

    def work(t: Transaction) -> None:
        t.directory.bind("telegram:1", one.id)
        t.directory.join(one.id, "telegram:7")
        t.directory.join(one.id, "telegram:7")
        t.directory.bind("telegram:1", two.id)

    await store.run(work)
    assert await store.read(lambda t: t.directory.members(one.id)) == ["telegram:1", "telegram:7"]
    joined = await store.read(lambda t: t.directory.joined(["telegram:1", "telegram:7"]))
    assert joined == [two.id, one.id]
    assert await store.read(lambda t: t.directory.joined([])) == []
