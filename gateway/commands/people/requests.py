"""Strangers who ask to be let in: what owners hear of them, and how they let them in, by a button
or by the code that the stranger has."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from adapters.platforms import private_chat
from gateway.access.codes import CODE, code_in, is_code, new_code, sealed
from gateway.access.roles import Access
from gateway.commands.buttons import button
from gateway.commands.context import Act, Action, Command, CommandCall, Outcome, Reply
from gateway.commands.people.rights import (
    IN_PRIVATE,
    LAST,
    OWNERS_ONLY,
    access_of,
    end_work_of,
    give,
    in_private,
    person,
    refused,
    role_buttons,
    standing,
    welcome,
)
from gateway.outbound.buttons import MenuItem, distinct, send_menu
from gateway.outbound.composer import Composer, unhurried
from storage.records.chats.people import PairingRequest, RequestDraft, RightDraft, Role
from storage.records.inbox_outbox import OutboxRow, OutboxState
from storage.store import Transaction

HOUR = 3_600.0
CODE_KEPT = HOUR
"""Seconds for which a code is good."""
REQUEST_KEPT = 7 * 24 * HOUR
"""Seconds for which an owner can press a button."""
MOST_REQUESTS = 200
MOST_NOTICES = 10
"""Strangers in an hour of whom owners hear at once."""
SHOWN = 4
"""Strangers who stand with buttons in the message to owners; the others are counted."""
MOST_GUESSES = 5
"""Wrong codes of an owner, in an hour."""
LONGEST = 3_650 * 24 * HOUR
"""Seconds of a right that ends."""
NOTICES = "pairing.notices"
"""The fact that says how many strangers the owners heard of in the hour that began then, and the
outbox rows of the messages that say so."""
GUESSES = "pairing.guesses:{who}"
"""The fact that says when an owner wrote wrong codes."""

_ROLES = {role.value: role for role in Role}
_UNITS = {
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), HOUR),
    **dict.fromkeys(("d", "day", "days"), 24 * HOUR),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 24 * HOUR),
    **dict.fromkeys(("month", "months"), 30 * 24 * HOUR),
    **dict.fromkeys(("year", "years"), 365 * 24 * HOUR),
}
"""Seconds. Whole words alone: of "3 months" nobody means minutes."""
_ARGUMENT = re.compile(
    rf"(?P<code>{CODE}|\S+)(?:\s+(?P<role>[a-z]+))??"
    r"(?:\s+for\s+(?P<count>[0-9]{1,5})\s*(?P<unit>[a-z]+))?\s*\Z",
    re.IGNORECASE,
)
HOW = (
    "Write `/pair CODE` with the code that the person got from me; `/pair CODE approver` for "
    "another role than member (approver, owner), `/pair CODE member for 30d` for a while."
)
HOW_LONG = (
    "That is no time I know; nobody was let in. Write `for 12h`, `for 30d`, `for 6 months`: from a "
    "minute to ten years."
)
NO_SUCH_CODE = (
    "That is no code that holds: it may be mistyped, used, or more than an hour old. They get "
    "another one by writing /start to me."
)
TOO_MANY = (
    "Too many wrong codes: for an hour after them I take none from you. /people shows who asks, "
    "with buttons."
)
IN_A_GROUP = (
    "Codes do not work in a group, where everybody reads them. If this was one, it is void now: "
    "they get another one by writing /start to me, and you give it to me in private."
)
EXPIRED = (
    "This request has expired, or was dealt with. Whoever still wants to be let in writes /start "
    "to me again."
)


def ask(tx: Transaction, access: Access, composer: Composer, identity: str, name: str) -> str:
    """Note that a stranger asks, and tell the owners, once for each. The code for the stranger; ""
    for one whom an owner ignores."""
    before = tx.pairing.get(identity)
    if before is not None and before.ignored:
        return ""
    code = new_code()
    draft = RequestDraft(identity, name, *sealed(code), tx.now + CODE_KEPT)
    if tx.pairing.ask(draft, MOST_REQUESTS):
        _notice(tx, access, composer)
    return code


def tell_of_more(tx: Transaction, access: Access, composer: Composer) -> None:
    """Tell the owners, in one message, how many asked beyond those that they heard of."""
    heard = tx.directory.fact(NOTICES) or {}
    if heard.get("more") and tx.now - heard["since"] >= HOUR:
        tx.directory.set_fact(NOTICES, {"since": tx.now, "told": 0, "more": 0})
        more = heard["more"]
        text = f"🚪 {more} more {'person' if more == 1 else 'people'} asked to be let in; /people"
        for address in _owners(access, composer).values():
            for parcel in composer.notice(address, f"{text} shows who waits."):
                tx.outbox.enqueue(parcel)


def end_lapsed(tx: Transaction, access: Access, composer: Composer) -> frozenset[str]:
    """What time alone does: rights end, requests are forgotten, owners hear of how many asked.
    Whose rights ended."""
    ended = [right for right in tx.rights.all() if not right.holds(tx.now)]
    for right in ended:
        tx.rights.take(right.identity)
        end_work_of(tx, right.identity)
        details = {"identity": right.identity, "role": right.role.value, "by": right.by}
        tx.directory.audit("right ended", "", details)
    tx.pairing.lapse(tx.now - REQUEST_KEPT)
    tell_of_more(tx, access, composer)
    return frozenset(right.identity for right in ended)


def _notice(tx: Transaction, access: Access, composer: Composer) -> None:
    """Tell the owners of who asks: one message each in an hour, which is changed for every other
    stranger, so that what else they wait for does not stand behind ten."""
    tell_of_more(tx, access, composer)
    heard = tx.directory.fact(NOTICES)
    if heard is None or tx.now - heard["since"] >= HOUR:
        heard = {"since": tx.now, "told": 0, "more": 0}
    tells = heard["told"] < MOST_NOTICES
    counted = "told" if tells else "more"
    heard |= {counted: heard[counted] + 1}
    if tells:
        text, items = _asking(tx, heard["since"])
        posts = [_post_of(tx, row) for row in heard.get("posts", ())]
        before = {post.address: post.id for post in posts if post is not None}
        heard["posts"] = [
            _tell(tx, composer, address, before.get(address), (text, items), owner)
            for owner, address in _owners(access, composer).items()
        ]
    tx.directory.set_fact(NOTICES, heard)


def _tell(
    tx: Transaction,
    composer: Composer,
    address: str,
    post: int | None,
    told: tuple[str, Sequence[MenuItem]],
    owner: str,
) -> int:
    """Post it, or change the message of that outbox row; the row of the message that shows it."""
    text, items = distinct(composer, address, *told)
    if post is None:
        parcels = composer.post(address, text)
    else:
        parcels = composer.change(address, text, row=post)
    row = send_menu(tx, [unhurried(one) for one in parcels], items, private=True, by=owner)
    return row.edits if row.edits is not None else row.id


def _post_of(tx: Transaction, row: int) -> OutboxRow | None:
    """The message that tells of strangers, unless it cannot be changed."""
    post = tx.outbox.get(row)
    return post if post.state is not OutboxState.FAILED else None


def _asking(tx: Transaction, since: float = 0.0) -> tuple[str, list[MenuItem]]:
    """Who asked since then and was not dealt with, the newest first, with buttons for the first of
    them; "" and none where there is none."""
    asking = [each for each in tx.pairing.all() if not each.ignored and each.asked >= since]
    asking.sort(key=lambda each: each.asked, reverse=True)
    lines = []
    for each in asking[:SHOWN]:
        at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(each.asked))
        lines.append(f"🚪 {person(each.name, each.identity)} asks to be let in. ({at})")
    if (more := len(asking) - SHOWN) > 0:
        lines.append(f"🚪 {more} more; /people shows who waits.")
    if len(asking) == 1:
        return lines[0], [
            button("Let in", LetIn(asking[0].identity), style="primary"),
            button("Ignore", Ignore(asking[0].identity), beside=True),
        ]
    items = [item for each in asking[:SHOWN] for item in request_buttons(each)]
    return "\n\n".join(lines), items


def request_buttons(asks: PairingRequest) -> list[MenuItem]:
    """Those of one of several."""
    whole = f"{asks.name} ({asks.identity})"
    let_in = button(f"Let in {asks.name}", LetIn(asks.identity), whole=f"Let in {whole}")
    if asks.ignored:
        return [let_in]
    label, does = f"Ignore {asks.name}", Ignore(asks.identity)
    return [let_in, button(label, does, beside=True, whole=f"Ignore {whole}")]


def _with_others(tx: Transaction, call: CommandCall, reply: Reply) -> Reply:
    """The answer to a press: the message goes on telling of those who still wait. Once there are
    none, the next stranger gets a message of their own."""
    text, items = _asking(tx)
    if text:
        return Reply(f"{reply.text}\n\n{text}", items, call.who)
    heard, pressed = tx.directory.fact(NOTICES) or {}, call.pressed
    if pressed is not None and pressed.outbox in heard.get("posts", ()):
        left = [row for row in heard["posts"] if row != pressed.outbox]
        tx.directory.set_fact(NOTICES, heard | {"posts": left})
    return reply


def _owners(access: Access, composer: Composer) -> dict[str, str]:
    """The addresses of their private chats, by identity."""
    chats = {owner: private_chat(owner) for owner in access.owners()}
    return {
        owner: chat.address
        for owner, chat in chats.items()
        if chat is not None and composer.serves(chat.address)
    }


@dataclass(frozen=True, slots=True)
class LetIn(Action):
    """A stranger becomes a member for good; the answer offers other roles."""

    identity: str
    name = "let_in"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return refused(call) or Act(partial(_let_in, call=call, identity=self.identity))


@dataclass(frozen=True, slots=True)
class Ignore(Action):
    """A stranger gets no more codes, and owners hear no more of them, as long as it is kept."""

    identity: str
    name = "ignore_stranger"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return refused(call) or Act(partial(_ignore, call=call, identity=self.identity))


def _open(tx: Transaction, identity: str) -> PairingRequest | None:
    asks = tx.pairing.get(identity)
    return asks if asks is not None and tx.now - asks.asked < REQUEST_KEPT else None


def _let_in(tx: Transaction, call: CommandCall, identity: str) -> Reply:
    asks = _open(tx, identity)
    if asks is None:
        return _over(tx, call, identity)
    return _with_others(tx, call, _admit(tx, call, asks, Role.MEMBER, None))


def _over(tx: Transaction, call: CommandCall, identity: str) -> Reply:
    """There is nothing to decide any more; what there is instead."""
    right = tx.rights.get(identity)
    if right is None or not right.holds(tx.now):
        return _with_others(tx, call, Reply(EXPIRED))
    text = f"{person(right.name, identity)} is let in already: {standing(right, tx.now)}."
    return _with_others(tx, call, Reply(text, role_buttons(right), call.who))


def _ignore(tx: Transaction, call: CommandCall, identity: str) -> Reply:
    asks = _open(tx, identity)
    if asks is None:
        return _over(tx, call, identity)
    tx.pairing.ignore(identity)
    tx.directory.audit("stranger ignored", call.who, {"identity": identity, "name": asks.name})
    who = person(asks.name, identity)
    told = Reply(f"{who} is ignored for a week. /people lets them in all the same.")
    return _with_others(tx, call, told)


def _admit(
    tx: Transaction, call: CommandCall, asks: PairingRequest, role: Role, until: float | None
) -> Reply:
    draft = RightDraft(asks.identity, asks.name, role, until, call.who)
    right = give(tx, access_of(call), draft)
    if right is None:
        return Reply(LAST.format(who=asks.identity))
    welcome(tx, call, right)
    text = f"✅ {person(right.name, right.identity)} is let in: {standing(right, tx.now)}."
    return Reply(text, role_buttons(right), call.who)


def _pair(tx: Transaction, call: CommandCall) -> Outcome:
    if not call.message.private:
        return Act(partial(_void, call=call))
    if not access_of(call).is_owner(call.who):
        return Reply(OWNERS_ONLY)
    found = _ARGUMENT.match(call.argument)
    if found is None:
        return Reply(HOW)
    role = _ROLES.get((found["role"] or Role.MEMBER.value).lower())
    if role is None:
        return Reply(HOW)
    span = _seconds(found["count"], found["unit"]) if found["count"] else None
    if span is not None and not 60 <= span <= LONGEST:
        return Reply(HOW_LONG)
    return Act(partial(_by_code, call=call, text=found["code"], role=role, span=span))


def _seconds(count: str, unit: str) -> float:
    """0 for a unit that is none."""
    return float(count) * _UNITS.get(unit.lower(), 0.0)


def _by_code(
    tx: Transaction, call: CommandCall, text: str, role: Role, span: float | None
) -> Reply:
    fact = GUESSES.format(who=call.who)
    wrong = [at for at in tx.directory.fact(fact) or () if 0 <= tx.now - at < HOUR]
    if len(wrong) >= MOST_GUESSES:
        return Reply(TOO_MANY)
    asks = _whose(tx, text)
    if asks is None:
        tx.directory.set_fact(fact, [*wrong, tx.now])
        tx.directory.audit("wrong code", call.who, {"tries left": MOST_GUESSES - len(wrong) - 1})
        return Reply(NO_SUCH_CODE)
    return _admit(tx, call, asks, role, tx.now + span if span is not None else None)


def _whose(tx: Transaction, text: str) -> PairingRequest | None:
    """Who was given a code that holds."""
    code = code_in(text)
    if code is None:
        return None
    fits = [each for each in tx.pairing.all() if is_code(code, each.salt, each.digest)]
    return next((each for each in fits if tx.now < each.expires), None)


def void(tx: Transaction, text: str, who: str) -> bool:
    """Make a code void that everybody can read now; False where it was none."""
    asks = _whose(tx, text)
    if asks is not None:
        tx.pairing.void(asks.identity)
        tx.directory.audit("code void", who, {"identity": asks.identity, "why": "in a group"})
    return asks is not None


def _void(tx: Transaction, call: CommandCall) -> Reply:
    found = _ARGUMENT.match(call.argument)
    void(tx, found["code"] if found is not None else "", call.who)
    return Reply(IN_A_GROUP if access_of(call).is_owner(call.who) else IN_PRIVATE)


PAIRING = (
    Command(
        CommandSpec(
            "pair",
            "let somebody in by the code that they got from me",
            "code",
            owner=True,
            details=HOW,
            discreet=True,
            rights=True,
        ),
        _pair,
        lacking=in_private,
    ),
)
