"""Giving and taking rights in a chat. Owners alone do, and one of them always stays."""

from dataclasses import dataclass
from functools import partial

from adapters.platforms import private_chat
from agent.text.markdown import escape
from gateway.access.roles import Access
from gateway.commands.buttons import button
from gateway.commands.context import Act, Action, CommandCall, Outcome, Reply, Slow
from gateway.outbound.buttons import MenuItem
from gateway.turns.cancellation import end_rows
from gateway.turns.messages import author_of
from storage.records.chats.people import Right, RightDraft, Role
from storage.records.inbox_outbox import InboxRow
from storage.store import Transaction

OWNERS_ONLY = "Only the bot's owners do this."
IN_PRIVATE = "Write this to me in private: it is about people, and a group reads along."
IN_FILE = (
    "`{who}` stands in bough.toml, under `[access]`: that is changed there, and not from a chat."
)
NOBODY = "`{who}` was let in by nobody. /people lists who may talk to me."
LAST = (
    "`{who}` is the last owner for good: somebody has to be. Make somebody else an owner before "
    "(/people), or write one into bough.toml."
)
OWNERS = "owners"
"""A fact that every change of owners writes: of two at the same time, one is done again and sees
the other."""
_A = {Role.MEMBER: "a member", Role.APPROVER: "an approver", Role.OWNER: "an owner"}


def access_of(call: CommandCall) -> Access:
    return call.context.questions.access


def in_private(_: Transaction, call: CommandCall) -> str:
    """Why a place has nothing for commands about people; "" where it has."""
    return "" if call.message.private else IN_PRIVATE


def refused(call: CommandCall) -> Reply | None:
    """Why a call is not carried out, by who gave it and where; None where it may be."""
    if not access_of(call).is_owner(call.who):
        return Reply(OWNERS_ONLY)
    return None if call.message.private else Reply(IN_PRIVATE)


def person(name: str, identity: str) -> str:
    """Markdown. The name is whatever they like; the number is theirs alone."""
    return f"{escape(name)} (`{identity}`)" if name and name != identity else f"`{identity}`"


def standing(right: Right, now: float) -> str:
    return f"{_A[right.role]}, {lasting(right.until, now)}"


def lasting(until: float | None, now: float) -> str:
    if until is None:
        return "for good"
    left = max(until - now, 0.0)
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if left >= size:
            count = round(left / size)
            return f"for {count} {unit}{'' if count == 1 else 's'}"
    return "for less than a minute"


def give(tx: Transaction, access: Access, draft: RightDraft) -> Right | None:
    """Give a right, or another one; None where that would leave no owner. Whoever is let in is
    told."""
    before = tx.rights.get(draft.identity)
    demoted = before is not None and not (draft.role is Role.OWNER and draft.until is None)
    if demoted and is_last(tx, access, draft.identity):
        return None
    right = tx.rights.give(draft)
    tx.pairing.close(draft.identity)
    tx.directory.set_fact(OWNERS, tx.now)
    details = {
        "identity": draft.identity,
        "name": draft.name,
        "role": draft.role.value,
        "until": draft.until,
        "before": before.role.value if before is not None else None,
    }
    tx.directory.audit("right given", draft.by, details)
    return right


def is_last(tx: Transaction, access: Access, identity: str) -> bool:
    """Whether somebody is the only one who owns the bot for good, by the rows as they are now."""
    for_good = {
        right.identity
        for right in tx.rights.all()
        if right.role is Role.OWNER and right.until is None
    }
    return for_good == {identity} and not access.config.owners


def welcome(tx: Transaction, call: CommandCall, right: Right) -> None:
    """Tell whoever was let in."""
    chat, composer = private_chat(right.identity), call.context.composer
    if chat is not None and composer.serves(chat.address):
        text = f"You are let in, {lasting(right.until, tx.now)}. Write to me; /help says how."
        for parcel in composer.post(chat.address, text):
            tx.outbox.enqueue(parcel)


def role_buttons(right: Right) -> list[MenuItem]:
    """The other roles, and the way out."""
    others = [role for role in Role if role is not right.role]
    items = [
        button(role.value.capitalize(), SetRole(right.identity, role.value), beside=bool(place))
        for place, role in enumerate(others)
    ]
    return [*items, button("Remove", RemovePerson(right.identity), beside=True, style="danger")]


@dataclass(frozen=True, slots=True)
class SetRole(Action):
    """Somebody who was let in gets another role, for as long as they had the one before."""

    identity: str
    role: str
    name = "set_role"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return refused(call) or Act(partial(_change, call=call, wanted=self))


@dataclass(frozen=True, slots=True)
class RemovePerson(Action):
    identity: str
    name = "remove_person"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        if (no := refused(call)) is not None:
            return no
        remove = Act(partial(_remove, call=call, identity=self.identity))
        access = access_of(call)
        stays = tx.rights.get(self.identity) is None or access.role(self.identity) is not None
        if stays or is_last(tx, access, self.identity):
            return remove

        async def cut_off() -> Act:
            await call.context.turns.stop_all_of(self.identity)
            return remove

        return Slow(cut_off)


def _change(tx: Transaction, call: CommandCall, wanted: SetRole) -> Reply:
    right = tx.rights.get(wanted.identity)
    if right is None or not right.holds(tx.now):
        return _not_given(call, wanted.identity)
    role = Role(wanted.role)
    draft = RightDraft(right.identity, right.name, role, right.until, call.who)
    changed = give(tx, access_of(call), draft)
    if changed is None:
        return Reply(LAST.format(who=right.identity), role_buttons(right), call.who)
    text = f"{person(changed.name, changed.identity)} is {standing(changed, tx.now)}."
    return Reply(text, role_buttons(changed), call.who)


def _remove(tx: Transaction, call: CommandCall, identity: str) -> Reply:
    right = tx.rights.get(identity)
    if right is None:
        return _not_given(call, identity)
    if is_last(tx, access_of(call), identity):
        return Reply(LAST.format(who=identity), role_buttons(right), call.who)
    tx.rights.take(identity)
    tx.directory.set_fact(OWNERS, tx.now)
    end_work_of(tx, identity)
    details = {"identity": identity, "name": right.name, "role": right.role.value}
    tx.directory.audit("right taken", call.who, details)
    text = f"{person(right.name, identity)} is removed, and may not talk to me any more."
    left = access_of(call).role(identity)
    if left is not None:
        text = f"What was given to `{identity}` here is taken back. {IN_FILE.format(who=identity)}"
    return Reply(text)


def end_work_of(tx: Transaction, identity: str) -> None:
    """End what somebody began or has waiting, in every session. A turn of theirs that runs can
    write nothing any more: its session is claimed."""
    by_session: dict[int, list[InboxRow]] = {}
    for row in tx.inbox.unfinished():
        if row.session is not None and author_of(row) == identity:
            by_session.setdefault(row.session, []).append(row)
    for session, rows in by_session.items():
        tx.inbox.finish([row.id for row in rows if row.entry is None])
        if begun := [row for row in rows if row.entry is not None]:
            end_rows(tx, session, begun)


def _not_given(call: CommandCall, identity: str) -> Reply:
    by_file = access_of(call).role(identity) is not None
    return Reply((IN_FILE if by_file else NOBODY).format(who=identity))
