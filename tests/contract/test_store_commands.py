"""Commands, and where agents stand in their terminals."""

from storage.records.tools.commands import Command, CommandDraft, CommandState, Shell
from storage.store import Store
from tests.support.stores import Clock, new_session


def draft(session: int, line: str = "make", *, background: bool = True) -> CommandDraft:
    return CommandDraft(
        session=session,
        home=session,
        address="telegram:1",
        person="telegram:7",
        private=True,
        child=False,
        tool="run_command",
        line=line,
        directory="",
        background=background,
    )


async def started(store: Store, line: str = "make") -> Command:
    session = await new_session(store)
    return await store.run(lambda tx: tx.commands.start(draft(session.id, line)))


async def test_a_command_runs_until_it_is_ended_once(store: Store, clock: Clock) -> None:
    command = await started(store)
    assert command.state is CommandState.RUNNING and command.started == clock.now
    assert await store.read(lambda tx: tx.commands.get(command.id)) == command
    clock.now += 5
    ended = await store.run(
        lambda tx: tx.commands.end(command.id, CommandState.ENDED, status=2, output=".outputs/x")
    )
    again = await store.run(lambda tx: tx.commands.end(command.id, CommandState.LOST))
    found = await store.read(lambda tx: tx.commands.get(command.id))
    assert (ended, again) == (True, False)
    assert found is not None
    assert (found.state, found.status, found.output) == (CommandState.ENDED, 2, ".outputs/x")
    assert found.ended == clock.now


async def test_those_that_run_are_found(store: Store) -> None:
    first, second, third = [await started(store, line) for line in ("a", "b", "c")]
    await store.run(lambda tx: tx.commands.end(second.id, CommandState.ENDED))
    assert await store.read(lambda tx: tx.commands.running()) == [first, third]


async def test_the_latest_of_some_sessions_are_listed_newest_first(store: Store) -> None:
    first, second, _ = [await started(store, line) for line in ("a", "b", "c")]
    homes = [first.home, second.home]
    assert await store.read(lambda tx: tx.commands.of(homes)) == [second, first]
    assert await store.read(lambda tx: tx.commands.of(homes, limit=1)) == [second]
    assert await store.read(lambda tx: tx.commands.get(10_000)) is None


async def test_a_terminal_is_kept_for_each_session(store: Store) -> None:
    one, other = await new_session(store), await new_session(store)
    shell = Shell("src", {"NAME": "välue\n", "EMPTY": ""})
    await store.run(lambda tx: tx.commands.keep_shell(one.id, 1, Shell("first", {"A": "1"})))
    await store.run(lambda tx: tx.commands.keep_shell(one.id, 2, shell))
    assert await store.read(lambda tx: tx.commands.shell(one.id, 3)) == shell
    assert await store.read(lambda tx: tx.commands.shell(other.id, 3)) == Shell()


async def test_the_calls_of_one_reply_find_what_earlier_ones_left(store: Store) -> None:
    session = (await new_session(store)).id
    await store.run(lambda tx: tx.commands.keep_shell(session, 1, Shell("a")))
    await store.run(lambda tx: tx.commands.keep_shell(session, 2, Shell("b")))
    assert await store.read(lambda tx: tx.commands.shell(session, 2)) == Shell("a")
    await store.run(lambda tx: tx.commands.keep_shell(session, 2, Shell("c")))
    assert await store.read(lambda tx: tx.commands.shell(session, 2)) == Shell("a")
    assert await store.read(lambda tx: tx.commands.shell(session, 3)) == Shell("c")
