"""Talk during a turn: what interrupts it, what joins it, what waits. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.access.roles import Access
from gateway.configuration.config import Busy, SessionConfig
from gateway.turns.messages import author_of
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
        return row.address == turn.address and (
            bool(row.payload["private"]) or self.may_join(turn.rows[-1], author_of(row))
        )

    def joins(self, row: InboxRow, other: InboxRow) -> bool:
        """Whether talk is answered together with other talk."""
        return row.address == other.address and self.may_join(other, author_of(row))

    def may_join(self, row: InboxRow, author: str) -> bool:
        return author == author_of(row) or self.access.is_owner(author)

    def may_cut(self, person: str | None, who: str, *, private: bool) -> bool:
        """Whether somebody may end the turn of a person without an answer; None: none runs, "":
        nobody's."""
        if person is None or self.access.is_owner(who):
            return True
        return who == person or (private and not person)

    def due(self, rows: list[InboxRow]) -> list[InboxRow]:
        """What the next turn answers: a turn that was cut, with the talk that cut it; else what
        came first, with what its author said since. Nobody waits for what happens by itself: fifty
        reminders may be due at once."""
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
        for row in fresh:
            if not self._cuts(row, started[-1]):
                break
            started.append(row)
        return started

    def _cuts(self, row: InboxRow, other: InboxRow) -> bool:
        return row.kind is InboxKind.MESSAGE and self.joins(row, other)
