"""What is offered to who types a command's option."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from adapters.base import LONGEST_CHOICE, MOST_CHOICES
from adapters.events import Completion, Conversation, User
from agent.models.base import ModelSpec
from agent.models.registry import Models
from gateway.commands.guidance.completions import COMPLETED, choices
from gateway.commands.registry import command_specs
from storage.records.entries import Draft, Kind
from storage.sql.store import SqlStore
from storage.store import Store
from tests.support.stores import append, new_session, said

HERE = Conversation("discord", "42")
NO_MODELS = Models({"parent": ModelSpec("parent", "scripted:x")})


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    yield store
    await store.close()


def typing(command: str, typed: str) -> Completion:
    user = User("discord", "7", "ann")
    return Completion("k", HERE, user, command, typed, "completion:1:t", private=False)


def test_what_a_menu_completes_is_what_can_be_completed() -> None:
    assert {spec.name for spec in command_specs() if spec.completes} == set(COMPLETED)


async def test_no_more_is_offered_than_a_platform_takes(store: Store) -> None:
    session = await new_session(store)
    await store.run(lambda tx: tx.directory.bind(HERE.address, session.id))
    (entry,) = await append(store, session.id, said("hello"))
    names = [f"{number:03} {'long ' * 40}" for number in range(60)]
    drafts = [Draft(Kind.LABEL, {"label": name, "target": entry.id}) for name in names]
    await append(store, session.id, *drafts)
    found = await store.read(lambda tx: choices(tx, typing("goto", ""), NO_MODELS))
    assert 0 < len(found) <= MOST_CHOICES
    assert all(0 < len(text) <= LONGEST_CHOICE for one in found for text in (one.label, one.value))


async def test_an_old_name_among_many_is_offered_to_who_types_it(store: Store) -> None:
    session = await new_session(store)
    await store.run(lambda tx: tx.directory.bind(HERE.address, session.id))
    entries = await append(store, session.id, *(said(str(number)) for number in range(150)))
    await append(
        store,
        session.id,
        *(
            Draft(Kind.LABEL, {"label": f"plan {place}", "target": entry.id})
            for place, entry in enumerate(entries)
        ),
    )
    found = await store.read(lambda tx: choices(tx, typing("goto", "Plan 17"), NO_MODELS))
    assert [one.value for one in found] == ["#18"]


async def test_what_begins_with_what_was_typed_comes_first(store: Store) -> None:
    found = await store.read(lambda tx: choices(tx, typing("tree", "L"), NO_MODELS))
    assert [one.value for one in found] == ["labeled", "default", "no-tools", "all"]


async def test_nothing_is_offered_where_nothing_was_said_nor_for_other_commands(
    store: Store,
) -> None:
    for command in ("goto", "branch", "sessions", "help", "nonsense"):
        find = partial(choices, asked=typing(command, ""), models=NO_MODELS)
        assert list(await store.read(find)) == []
