"""Talk during a turn: what interrupts it, what joins it, what waits. Pure."""

from dataclasses import dataclass

from gateway.access.roles import Access
from gateway.config import SessionConfig
from gateway.turns.messages import author_of
from gateway.turns.turn import TALK, Turn
from storage.records.inbox_outbox import (
    InboxKind,
    InboxRow,
)


@dataclass(frozen=True, slots=True)
class BusyPolicy:
    access: Access
    config: SessionConfig

    def interrupts(self, turn: Turn, row: InboxRow) -> bool:
        """Talk interrupts a turn of talk: its author's, or, from an owner, anybody's. Work that a
        person's decision started goes on, and so does what another conversation waits for."""
        if self.config.busy != "interrupt" or turn.rows[-1].kind not in TALK:
            return False
        return row.address == turn.address and (
            bool(row.payload["private"]) or self.may_join(turn.rows[-1], author_of(row))
        )

    def joins(self, row: InboxRow, other: InboxRow) -> bool:
        """Whether talk is answered together with other talk."""
        return row.address == other.address and self.may_join(other, author_of(row))

    def may_join(self, row: InboxRow, author: str) -> bool:
        return author == author_of(row) or self.access.is_owner(author)

    def may_cut(self, turn: Turn | None, who: str, *, private: bool) -> bool:
        """Whether a person may end the turn that runs, if one does, without an answer."""
        if turn is None or self.access.is_owner(who):
            return True
        return who == turn.person or (private and not turn.person)

    def due(self, rows: list[InboxRow]) -> list[InboxRow]:
        """What the next turn answers: a turn that was cut, with the talk that cut it; else what
        came first, with what its author said since."""
        started = [row for row in rows if row.entry is not None]
        fresh = [row for row in rows if row.entry is None]
        if not started:
            started, fresh = fresh[:1], fresh[1:]
        if not started or started[-1].kind not in TALK or self.config.busy != "interrupt":
            return started
        for row in fresh:
            if row.kind is not InboxKind.MESSAGE or not self.joins(row, started[-1]):
                break
            started.append(row)
        return started
