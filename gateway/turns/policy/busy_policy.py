"""Talk during a turn: what interrupts it, what joins it, what waits. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.access.roles import Access
from gateway.configuration.config import Busy, SessionConfig
from gateway.turns.messages import author_of, speaker_in
from gateway.turns.turn import TALK, Turn
from storage.records.inbox_outbox import (
    InboxKind,
    InboxRow,
)


@dataclass(frozen=True, slots=True)
class BusyPolicy:
    access: Access
    session: Callable[[], SessionConfig]
    of_chat: Callable[[str], Busy] | None = None
    """What holds in a conversation, by its address; None: what the configuration says of all."""

    @property
    def config(self) -> SessionConfig:
        return self.session()

    def busy_at(self, address: str) -> Busy:
        return self.of_chat(address) if self.of_chat is not None else self.config.busy

    def interrupts(self, turn: Turn, row: InboxRow) -> bool:
        """Talk interrupts a turn of talk: its author's, or, from an owner, anybody's. Work that a
        person's decision started goes on, and so does what another conversation waits for."""
        if self.busy_at(turn.address) != "interrupt" or turn.rows[-1].kind not in TALK:
            return False
        return self.joins(row, turn.rows[-1]) or self._puts_off(row, turn.rows[-1])

    def joins(self, row: InboxRow, other: InboxRow) -> bool:
        """Whether talk is answered in one turn with other talk. What a turn does is done for one
        person, so it answers the words of one."""
        same = author_of(row) == author_of(other) == speaker_in(other)
        return same and row.address == other.address

    def _puts_off(self, row: InboxRow, other: InboxRow) -> bool:
        """Whether an owner's message is answered before another person's, whose turn runs: that
        one begins again behind it. /retry and /fan belong to a place in the tree, so they end
        first."""
        messages = row.kind is other.kind is InboxKind.MESSAGE
        others = author_of(row) != author_of(other) and row.address == other.address
        return messages and others and self.access.is_owner(author_of(row))

    def may_cut(self, person: str | None, who: str, *, private: bool) -> bool:
        """Whether somebody may end the turn of a person without an answer; None: none runs, "":
        nobody's."""
        if person is None or self.access.is_owner(who):
            return True
        return who == person or (private and not person)

    def due(self, rows: list[InboxRow]) -> list[InboxRow]:
        """What the next turn answers: a turn that was cut, with the talk of its author that cut it,
        or an owner's talk that cut it alone; else what came first, with what its author said since.
        Nobody waits for what happens by itself: fifty reminders may be due at once."""
        started = [row for row in rows if row.entry is not None]
        fresh = [row for row in rows if row.entry is None]
        fresh.sort(key=lambda row: row.kind is InboxKind.EVENT)
        if not started:
            started, fresh = fresh[:1], fresh[1:]
        if not started or started[-1].kind not in TALK:
            return started
        if self.busy_at(started[-1].address) != "interrupt":
            album = started[-1].payload.get("album")
            same = [row for row in fresh if album and row.payload.get("album") == album]
            return started + [row for row in same if self.joins(row, started[-1])]
        said = [row for row in fresh if row.kind is not InboxKind.MODEL]
        if fresh != said and said and self._cuts(said[0], started[-1]):
            # It is over for those who chose a model behind it: that one answers all of it.
            chosen = [row for row in fresh[: fresh.index(said[0])] if row not in said]
            if chosen:
                return chosen[:1]
        if fresh and started[-1].entry is not None and self._puts_off(fresh[0], started[-1]):
            started, fresh = fresh[:1], fresh[1:]
        for row in fresh:
            if not self._cuts(row, started[-1]):
                break
            started.append(row)
        return started

    def _cuts(self, row: InboxRow, other: InboxRow) -> bool:
        return row.kind is InboxKind.MESSAGE and self.joins(row, other)
