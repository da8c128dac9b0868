import pytest

from storage.errors import NotFound
from storage.records.buttons import MenuButton
from storage.records.inbox_outbox import OutboxDraft, StoredFile
from storage.store import Store, Transaction
from tests.contract.stores import new_session


def _message(t: Transaction) -> int:
    return t.outbox.enqueue(OutboxDraft("telegram:1", "post", {})).id


def _button(token: str, outbox: int) -> MenuButton:
    subject = {"left": 7, "text": "it's \N{SNOWMAN}"}
    return MenuButton(token, "telegram:1", outbox, "Go on", "goto #7", "telegram:9", subject)


async def test_a_button_is_what_was_put(store: Store) -> None:
    def work(t: Transaction) -> MenuButton:
        button = _button("one", _message(t))
        t.menus.put(button)
        return button

    button = await store.run(work)
    assert await store.read(lambda t: t.menus.get("one")) == button
    assert await store.read(lambda t: t.menus.get("two")) is None


async def test_the_first_press_uses_up_all_buttons_of_a_message_and_no_others(store: Store) -> None:
    def work(t: Transaction) -> tuple[int, int]:
        message, other = _message(t), _message(t)
        for token, row in (("one", message), ("two", message), ("three", other)):
            t.menus.put(_button(token, row))
        return message, other

    message, _ = await store.run(work)
    assert await store.run(lambda t: t.menus.use(message, "Ada: Go on"))
    assert not await store.run(lambda t: t.menus.use(message, "Bob: Stop"))

    def used(t: Transaction) -> list[str]:
        buttons = [t.menus.get(token) for token in ("one", "two", "three")]
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
