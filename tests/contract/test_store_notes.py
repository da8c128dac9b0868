"""Notes, and whose private conversation one is."""

from storage.records.tools.notes import Note, NoteDraft, NoteOwner, NoteScope
from storage.store import Store, Transaction
from tests.support.stores import Clock, new_session

ADA = NoteOwner(NoteScope.PERSON, "telegram:1")
HERE = NoteOwner(NoteScope.CHAT, "telegram:1")
"""Ada's private chat, which is called as she is."""


def draft(text: str, owner: NoteOwner = ADA) -> NoteDraft:
    return NoteDraft(owner.scope, owner.owner, text, "telegram:1", "telegram:-100/5")


async def add(store: Store, text: str, owner: NoteOwner = ADA) -> Note:
    return await store.run(lambda tx: tx.notes.add(draft(text, owner)))


async def test_a_note_is_what_was_noted(store: Store, clock: Clock) -> None:
    note = await add(store, "it's \N{SNOWMAN}\nbelow")
    assert note == Note(
        note.id, NoteScope.PERSON, "telegram:1", "it's \N{SNOWMAN}\nbelow", "telegram:1",
        "telegram:-100/5", clock.now,
    )  # fmt: skip
    assert await store.read(lambda tx: tx.notes.get(note.id)) == note
    assert await store.read(lambda tx: tx.notes.get(note.id + 1)) is None


async def test_an_owner_has_its_own_notes_newest_text_first(store: Store, clock: Clock) -> None:
    one = await add(store, "one")
    clock.now += 1
    two = await add(store, "two")
    here = await add(store, "here", HERE)
    await add(store, "another's", NoteOwner(NoteScope.PERSON, "telegram:2"))

    async def of(*owners: NoteOwner) -> list[str]:
        return [note.text for note in await store.read(lambda tx: tx.notes.of(owners))]

    assert await of(ADA) == ["two", "one"]
    assert await of(HERE) == ["here"]
    assert await of(ADA, HERE, ADA) == ["here", "two", "one"]
    assert await of() == []
    clock.now += 1
    assert await store.run(lambda tx: tx.notes.replace(one.id, draft("one again")))
    assert await of(ADA) == ["one again", "two"]
    assert {one.id, two.id, here.id} == {note.id for note in await notes_of(store)}


async def notes_of(store: Store) -> list[Note]:
    return await store.read(lambda tx: tx.notes.of([ADA, HERE]))


async def test_only_its_own_owner_changes_or_deletes_a_note(store: Store) -> None:
    note = await add(store, "hers")
    assert not await store.run(lambda tx: tx.notes.replace(note.id, draft("mine", HERE)))
    assert await store.run(lambda tx: tx.notes.delete([note.id], [HERE])) == []
    assert await notes_of(store) == [note]
    gone = await store.run(lambda tx: tx.notes.delete([note.id, note.id, 99], [HERE, ADA]))
    assert gone == [note.id]
    assert await notes_of(store) == []
    assert not await store.run(lambda tx: tx.notes.replace(note.id, draft("back")))


async def test_a_number_is_never_given_again(store: Store) -> None:
    first = await add(store, "one")
    await store.run(lambda tx: tx.notes.delete([first.id], [ADA]))
    assert (await add(store, "two")).id > first.id


async def test_what_no_database_takes_is_kept_as_far_as_it_goes(store: Store) -> None:
    note = await add(store, "a\0b\ud800")
    kept = await store.read(lambda tx: tx.notes.get(note.id))
    assert kept is not None
    assert kept.text == "a\ufffdb?"


async def test_whose_private_conversation_one_is_is_known_before_and_after_it_is_bound(
    store: Store,
) -> None:
    session = await new_session(store)

    def work(tx: Transaction) -> list[str | None]:
        found = [tx.directory.private_with("discord:5")]
        tx.directory.set_private("discord:5", "discord:7")
        tx.directory.bind("discord:5", session.id)
        found.append(tx.directory.private_with("discord:5"))
        tx.directory.set_private("discord:5", "")
        found.append(tx.directory.private_with("discord:5"))
        return found

    assert await store.run(work) == [None, "discord:7", ""]
    assert await store.read(lambda tx: tx.directory.conversation("discord:5")) == session.id
