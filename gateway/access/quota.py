"""How much one person, and one conversation, may ask for: turns in a minute, money in a day.

What was asked for is kept in the store, so a restart gives nobody more. Whoever is over a limit is
told once when it goes on; until then nothing they say is answered but commands, and no model hears
of it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from agent.text.formats import DAY, age, dollars, midnight
from gateway.configuration.config import LimitsConfig
from storage.records.entries import Json
from storage.store import Transaction

MINUTE = 60.0
FACT = "limits:{}"
AUDIT = "over the limit"


@dataclass(frozen=True, slots=True)
class Over:
    """A limit is reached."""

    subject: str
    """Whose: a person's identity, or a conversation's address."""
    until: float
    """When it goes on, in Unix seconds."""
    reached: str
    """Which limit it is, for people."""
    goes_on: str = ""
    """When that is, and what to do until then, for people."""
    holds: bool = False
    """Nothing is answered until then, though there would be room for a turn earlier."""

    @property
    def text(self) -> str:
        """For who asked for it."""
        if not self.goes_on:
            return f"⏳ {self.reached}."
        return f"⏳ {self.reached}, so this is not answered. {self.goes_on}"


@dataclass(frozen=True, slots=True)
class Quota:
    """A conversation may ask for as much as a person. Owners have the same limits."""

    limits: LimitsConfig

    def over(self, tx: Transaction, who: str, address: str, turns: int = 1) -> Over | None:
        """The limit that so many more turns of a person in a conversation would be over; None
        where they may begin."""
        for subject in self._subjects(who, address):
            whose = "" if subject == who else " in this conversation"
            found = self._of_turns(tx, subject, whose, turns) or self._of_cost(tx, subject, whose)
            if found is not None:
                return found
        return None

    def take(self, tx: Transaction, who: str, address: str, turns: int = 1) -> None:
        """Count turns that begin now."""
        if self.limits.turns_per_minute is None:
            return
        for subject in self._subjects(who, address):
            kept = _kept(tx, subject)
            begun = [*_recent(kept, tx.now), *[tx.now] * turns]
            _keep(tx, subject, {**kept, "turns": begun})

    def refuse(self, tx: Transaction, over: Over, who: str, address: str) -> str:
        """Hold up whoever is over a limit: what they are told, "" where they were told before in
        that conversation. What is said until then is not answered, and they know."""
        kept = _kept(tx, over.subject)
        told = {at: until for at, until in kept.get("told", {}).items() if until > tx.now}
        if address in told:
            return ""
        told[address] = over.until
        held = {"until": over.until} if over.holds else {}
        _keep(tx, over.subject, {**kept, **held, "told": told})
        details = {"what": "limits", "of": over.subject, "address": address, "until": over.until}
        tx.directory.audit(AUDIT, who, details)
        return over.text

    def _subjects(self, who: str, address: str) -> Iterator[str]:
        if self.limits.turns_per_minute is not None or self.limits.cost_per_day is not None:
            yield from dict.fromkeys(subject for subject in (who, address) if subject)

    def _of_turns(self, tx: Transaction, subject: str, whose: str, turns: int) -> Over | None:
        most, now = self.limits.turns_per_minute, tx.now
        if most is None:
            return None
        some = "1 turn" if most == 1 else f"{most} turns"
        if turns > most:
            at_once = f"Those are {turns} turns at once; no more than {some} a minute are answered"
            return Over(subject, now, at_once)
        kept = _kept(tx, subject)
        recent, until = _recent(kept, now), float(kept.get("until", 0.0))
        if until <= now or until > now + MINUTE:  # over, or the clock was set back
            if len(recent) + turns <= most:
                return None
            until = max(recent) + MINUTE
        reached = f"More than {some} in a minute{whose}"
        return Over(subject, until, reached, _goes_on(until - now), holds=True)

    def _of_cost(self, tx: Transaction, subject: str, whose: str) -> Over | None:
        most, since = self.limits.cost_per_day, midnight(tx.now)
        if most is None:
            return None
        of = {"address" if whose else "person": subject}
        if tx.ledger.total(since=since, **of).cost < most:
            return None
        spent = f"Today's limit of {dollars(most)}{whose} is used up"
        until = since + DAY
        return Over(subject, until, spent, _goes_on(until - tx.now, " at 00:00 UTC"))


def _goes_on(seconds: float, when: str = "") -> str:
    span = age(math.ceil(seconds / 10) * 10)
    return (
        f"It goes on{when}, in {span}: please write again then. Until then only commands are "
        "answered here."
    )


def _kept(tx: Transaction, subject: str) -> Json:
    found: Json = tx.directory.fact(FACT.format(subject)) or {}
    return found


def _keep(tx: Transaction, subject: str, kept: Json) -> None:
    tx.directory.set_fact(FACT.format(subject), kept)


def _recent(kept: Json, now: float) -> list[float]:
    """When turns of the last minute began; none from the future, where the clock was set back."""
    return [begun for begun in kept.get("turns", ()) if now - MINUTE < begun <= now]
