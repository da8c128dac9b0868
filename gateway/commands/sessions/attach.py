"""/attach: the same session from another chat or platform, by a code that works once.

A code is kept as its hash. Whoever tries wrong ones is refused for a while. Into a group a session
is taken only by the press of a button, which uses the code up.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from gateway.access.visibility import sees
from gateway.commands.context import (
    NOTHING_YET,
    Act,
    Action,
    Command,
    CommandCall,
    Outcome,
    Reply,
)
from gateway.commands.sessions.switch import arrive, confirm
from gateway.views.sessions import quoted_name
from storage.records.entries import Json
from storage.store import Transaction

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Without what looks alike."""
LENGTH = 8
VALID = 600.0
"""Seconds."""
MOST_MISSES = 5
"""Wrong codes of a person within BARRED seconds; then they are barred for as long."""
BARRED = 600.0

_CODES, _MISSES = "attach.codes", "attach.misses"
"""Facts: hash → session, by, expires; person → times of wrong codes, until when they are barred."""
_WRONG = (
    "This code is not valid: a code works once, within 10 minutes. /attach in the conversation "
    "that you want to go on with gives a new one."
)
_TOO_MANY = "Too many wrong codes. Wait for 10 minutes, then ask for a new one with /attach."


def _attach(tx: Transaction, call: CommandCall) -> Outcome:
    if call.argument:
        return _redeem(tx, call, _hashed(call.argument), into_group=False)
    if call.session is None:
        return Reply(NOTHING_YET)
    return Act(partial(_give, call=call, session=call.session))


def _give(tx: Transaction, call: CommandCall, session: int) -> Reply:
    """Tell a new code for the conversation's session; one that the person had for it before is not
    valid any more."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    issued = {"session": session, "by": call.who}
    others = {
        hashed: kept
        for hashed, kept in _codes(tx).items()
        if (kept["session"], kept["by"]) != (session, call.who)
    }
    expires = tx.now + VALID
    tx.directory.set_fact(_CODES, {**others, _hashed(code): {**issued, "expires": expires}})
    tx.directory.audit("attach code", call.who, {"session": session, "address": call.address})
    name = quoted_name(tx.directory.overview(session))
    shown = f"{code[: LENGTH // 2]}-{code[LENGTH // 2 :]}"
    return Reply(
        f"To go on with {name} in another chat, here or on another platform, write there:\n"
        f"`/attach {shown}`\n"
        "The code works once, within 10 minutes. Whoever has it can read this conversation and "
        "go on with it.",
    )


def _redeem(tx: Transaction, call: CommandCall, hashed: str, *, into_group: bool) -> Outcome:
    """Go on with the session of a code, if it is valid. `into_group`: that was agreed to."""
    session = None if _is_barred(tx, call.who) else _session_of(tx, hashed)
    if session is None:
        return Act(partial(_refuse, call=call))
    if session == call.session:
        return Reply("You are in this conversation already. The code is still valid.")
    agreed = into_group or call.message.private
    if not agreed and not sees(tx, call.message, session):
        return confirm(tx, session, TakeAttached(hashed, call.who), call.who)
    return Act(partial(_use, call=call, hashed=hashed), leaving=True)


def _use(tx: Transaction, call: CommandCall, hashed: str) -> Reply:
    session = _session_of(tx, hashed)
    if session is None:  # somebody was faster
        return _refuse(tx, call)
    codes = _codes(tx)
    del codes[hashed]
    tx.directory.set_fact(_CODES, codes)
    tx.directory.audit("attach", call.who, {"session": session, "address": call.address})
    tx.directory.join(session, call.who)
    return arrive(tx, call, session)


@dataclass(frozen=True, slots=True)
class TakeAttached(Action):
    """The answer to the question whether the session of a code is to be taken into this group."""

    code: str
    """Its hash."""
    by: str
    """Identity of whose it is to say."""
    name = "take_attached"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        session = _session_of(tx, self.code)
        if session is not None and call.who != self.by:  # an owner, whose code it is not
            return confirm(tx, session, self, self.by)
        return _redeem(tx, call, self.code, into_group=True)


def _refuse(tx: Transaction, call: CommandCall) -> Reply:
    tx.directory.audit("attach refused", call.who, {"address": call.address})
    if _is_barred(tx, call.who):
        return Reply(_TOO_MANY)
    misses = _misses(tx)
    times = [*misses.get(call.who, {"times": ()})["times"], tx.now]
    until = tx.now + BARRED if len(times) >= MOST_MISSES else 0.0
    tx.directory.set_fact(_MISSES, {**misses, call.who: {"times": times, "until": until}})
    return Reply(_WRONG)


def _session_of(tx: Transaction, hashed: str) -> int | None:
    """The session that a code is for; None where it is not valid."""
    found = _codes(tx).get(hashed)
    return int(found["session"]) if found is not None else None


def _codes(tx: Transaction) -> dict[str, Json]:
    """Those that are valid."""
    kept: dict[str, Json] = tx.directory.fact(_CODES) or {}
    return {hashed: code for hashed, code in kept.items() if _ahead(tx, code["expires"], VALID)}


def _is_barred(tx: Transaction, who: str) -> bool:
    return who in (misses := _misses(tx)) and _ahead(tx, misses[who]["until"], BARRED)


def _misses(tx: Transaction) -> dict[str, Json]:
    """Those that still count, by person."""
    kept: dict[str, Json] = tx.directory.fact(_MISSES) or {}
    recent: dict[str, Json] = {}
    for who, missed in kept.items():
        times = [time for time in missed["times"] if _ahead(tx, time + BARRED, BARRED)]
        barred = _ahead(tx, missed["until"], BARRED)
        if barred or (times and not missed["until"]):
            recent[who] = {"times": times, "until": missed["until"]}
    return recent


def _ahead(tx: Transaction, end: float, longest: float) -> bool:
    """Whether `end` is still to come, and not further off than it was when it was set: then the
    clock was set back."""
    return tx.now < end <= tx.now + longest


def _hashed(code: str) -> str:
    """However it is written: in small letters, with spaces or hyphens."""
    plain = re.sub(r"[\s-]", "", code[:100]).upper()
    return hashlib.sha256(plain.encode()).hexdigest()


ATTACHING = (
    Command(
        CommandSpec(
            "attach", "the same conversation in another chat, by a code", "code", discreet=True
        ),
        _attach,
    ),
)
