"""/people: who may talk to the bot, since when, until when and by whom; who asks to be let in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.base import CommandSpec
from agent.text.formats import age
from gateway.commands.buttons import button
from gateway.commands.context import Action, Command, CommandCall, Outcome, Reply
from gateway.commands.people.requests import SHOWN, request_buttons
from gateway.commands.people.rights import (
    NOBODY,
    RemovePerson,
    SetRole,
    access_of,
    in_private,
    lasting,
    person,
    refused,
    role_buttons,
)
from gateway.outbound.buttons import MenuItem
from storage.records.chats.people import PairingRequest, Right, Role
from storage.store import Transaction

ON_A_PAGE = 8
OF_FILE = 20
"""People of bough.toml that are named."""
_IN_A_ROW = 4
"""Buttons."""
_REMOVE = re.compile(r"remove\s+(\S+)\Z", re.IGNORECASE)
_ROLE = re.compile(r"role\s+(\S+)\s+(member|approver|owner)\Z", re.IGNORECASE)
_PAGE = re.compile(r"[0-9]{1,4}\Z")
HOW = (
    "Write /people alone, `/people role telegram:5 approver` (member, approver, owner), or "
    "`/people remove telegram:5`."
)


def _people(tx: Transaction, call: CommandCall) -> Outcome:
    if (no := refused(call)) is not None:
        return no
    argument = call.argument
    if not argument or _PAGE.match(argument):
        return _listed(tx, call, int(argument or 1))
    if (found := _REMOVE.match(argument)) is not None:
        return RemovePerson(found[1]).plan(tx, call)
    if (found := _ROLE.match(argument)) is not None:
        return SetRole(found[1], found[2].lower()).plan(tx, call)
    return Reply(HOW)


@dataclass(frozen=True, slots=True)
class PeoplePage(Action):
    """Another page of the list."""

    page: int
    name = "people_page"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return refused(call) or _listed(tx, call, self.page)


@dataclass(frozen=True, slots=True)
class ShowPerson(Action):
    """One person of the list, with what can be changed."""

    identity: str
    page: int
    name = "show_person"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        if (no := refused(call)) is not None:
            return no
        right = tx.rights.get(self.identity)
        back = button("Back", PeoplePage(self.page))
        if right is None:
            return Reply(NOBODY.format(who=self.identity), [back])
        return Reply(_line(right, tx.now), [*role_buttons(right), back], call.who)


def _listed(tx: Transaction, call: CommandCall, page: int) -> Reply:
    rights = [right for right in tx.rights.all() if right.holds(tx.now)]
    asking = [each for each in tx.pairing.all() if not each.ignored]
    ignored = [each for each in tx.pairing.all() if each.ignored]
    pages = max(1, -(-len(rights) // ON_A_PAGE))
    page = max(1, min(page, pages))
    shown = rights[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
    asks = [*asking, *ignored][:SHOWN]
    lines = ["**Who may talk to me**" + (f", page {page} of {pages}" if pages > 1 else ""), ""]
    lines += [*_by_file(call), *(_line(right, tx.now) for right in shown)]
    if asks:
        lines += ["", "**Who asks to be let in**", "", *(_asks(each, tx.now) for each in asks)]
        if more := len(asking) + len(ignored) - len(asks):
            lines.append(f"{more} more")
    lines += ["", HOW]
    buttons = [item for each in asks for item in request_buttons(each)]
    items = [*_persons(shown, page), *buttons, *_turning(page, pages)]
    return Reply("\n".join(lines), items, by=call.who)


def _by_file(call: CommandCall) -> Iterator[str]:
    config = access_of(call).config
    people = list(dict.fromkeys((*config.owners, *config.allow, *config.approvers)))
    for identity in people[:OF_FILE]:
        listed = {
            Role.OWNER.value: config.owners,
            Role.MEMBER.value: config.allow,
            Role.APPROVER.value: config.approvers,
        }
        roles = ", ".join(role for role, people in listed.items() if identity in people)
        yield f"`{identity}` · {roles} · by bough.toml"
    if (more := len(people) - OF_FILE) > 0:
        yield f"{more} more by bough.toml"


def _line(right: Right, now: float) -> str:
    by = f"by `{right.by}`" if right.by else "by the owner code"
    since = f"since {age(now - right.since)} ago"
    who = person(right.name, right.identity)
    return f"{who} · {right.role.value} · {since} · {lasting(right.until, now)} · {by}"


def _asks(asks: PairingRequest, now: float) -> str:
    ignored = " · ignored" if asks.ignored else ""
    return f"{person(asks.name, asks.identity)} · {age(now - asks.asked)} ago{ignored}"


def _persons(rights: Sequence[Right], page: int) -> Iterator[MenuItem]:
    for place, right in enumerate(rights):
        yield button(
            right.name or right.identity,
            ShowPerson(right.identity, page),
            beside=place % _IN_A_ROW > 0,
            whole=f"{right.name} ({right.identity})",
        )


def _turning(page: int, pages: int) -> list[MenuItem]:
    items = []
    if page > 1:
        items.append(button("◀", PeoplePage(page - 1)))
    if page < pages:
        items.append(button("▶", PeoplePage(page + 1), beside=bool(items)))
    return items


PEOPLE = (
    Command(
        CommandSpec(
            "people",
            "who may talk to me; change that",
            "change",
            owner=True,
            details=HOW,
            discreet=True,
            rights=True,
        ),
        _people,
        lacking=in_private,
    ),
)
