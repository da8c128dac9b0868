"""/settings: what holds in a conversation, and choosing something else for it.

What is chosen is a row at the conversation's address, so it is of the chat and not of a branch. But
in private a time zone is the person's, wherever they talk: the one that /schedule zone says. A
button says what the list showed when it was drawn: where something else holds by now, a press
changes nothing and shows how things are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from agent.text.markdown import bounded, escape
from agent.text.suggestion import did_you_mean
from agent.tools.schedule.zones import ZoneError, zone_of
from gateway.access.denials import NOT_YOUR_SETTINGS
from gateway.access.roles import Access
from gateway.chats.settings import VALUES, Key, known
from gateway.commands.buttons import button
from gateway.commands.context import Act, Action, Command, CommandCall, Outcome, Reply
from gateway.outbound.buttons import MenuItem
from gateway.views.models import model_name
from storage.store import Transaction

SETTINGS_COMMAND = "settings"
DEFAULT = "default"
IN_GROUPS: Key = "answer"
"""What is chosen for groups only."""
OUTDATED = "Somebody changed that since; nothing was done. This is how it is now."
MEANING: Mapping[Key, Mapping[str, str]] = {
    "stream": {
        "on": "answers grow while they are written",
        "off": "answers come when they are whole",
    },
    "busy": {
        "interrupt": "what is said during a turn begins it anew",
        "queue": "what is said during a turn waits for its end",
        "steer": "what is said during a turn joins it",
    },
    "summaries": {
        "off": "a branch that is left is not summarised",
        "ask": "a button offers a summary of the branch that is left",
        "auto": "every branch that is left is summarised",
    },
    "answer": {
        "mention": "I answer mentions and replies",
        "all": "I answer everything",
        "thread": "I answer each question in a thread of its own",
    },
    "thoughts": {"on": "my notes to myself are shown", "off": "my notes to myself are not shown"},
    "zone": {},
}
ZONE: Key = "zone"
YOUR_ZONE = "the time zone in which I tell you times and read them"
ZONE_OF_CHAT = "the time zone here, for who never said another in private"


@dataclass(frozen=True, slots=True)
class _Holds:
    """What holds of one setting, by the rows of this transaction."""

    value: str
    here: str
    """What was chosen at this very address; "" for nothing."""
    source: str
    """Who says so, for people; "" for the configuration."""

    @property
    def state(self) -> str:
        return f"{self.here or DEFAULT}:{self.value}"


def _holds(tx: Transaction, call: CommandCall) -> dict[Key, _Holds]:
    settings, address, private = call.context.settings, call.address, call.message.private
    places = settings.places_at(address)
    chosen = [{row.key: row.value for row in tx.chat_settings.of(place)} for place in places]
    found: dict[Key, _Holds] = {}
    for key in _keys(private=private):
        if key == ZONE and private:
            said = tx.schedules.zone(call.who)
            source = "yours, in all chats" if said else ""
            found[key] = _Holds(said or settings.default_at(address, key), said, source)
            continue
        own = [one.get(key, "") for one in chosen]
        own = [value if known(key, value) else "" for value in own]
        value = next(filter(None, own), "") or settings.default_at(address, key)
        source = "chosen here" if own[0] else "chosen for the whole chat" if any(own) else ""
        found[key] = _Holds(value, own[0], source)
    return found


def _keys(*, private: bool) -> Iterator[Key]:
    yield from (key for key in VALUES if not (private and key == IN_GROUPS))


@dataclass(frozen=True, slots=True)
class ChooseSetting(Action):
    """Choose a value, where what the button's list showed still holds."""

    key: str
    value: str
    """DEFAULT: take back what was chosen."""
    seen: str
    """The state of it that was shown."""
    name = "choose_setting"

    def refused(self, access: Access, who: str, *, private: bool) -> str:
        return "" if access.may_set(who, private=private) else NOT_YOUR_SETTINGS

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        private = call.message.private
        key = next((key for key in _keys(private=private) if key == self.key), None)
        if not call.context.questions.access.may_set(call.who, private=private):
            return _listed(tx, call, NOT_YOUR_SETTINGS)
        if key is None or not (self.value == DEFAULT or known(key, self.value)):
            return _listed(tx, call)  # of another version
        return Act(partial(_choose, call=call, key=key, value=self.value, seen=self.seen))


def _settings(tx: Transaction, call: CommandCall) -> Outcome:
    """`/settings` lists, `/settings busy queue` chooses, `/settings busy default` takes back."""
    match call.argument.casefold().replace("=", " ").split():
        case []:
            return _listed(tx, call)
        case [name, *values]:
            return _typed(tx, call, name, values)
        case _:
            return _listed(tx, call)


def _typed(tx: Transaction, call: CommandCall, name: str, values: Sequence[str]) -> Outcome:
    private = call.message.private
    keys = list(_keys(private=private))
    key = next((key for key in keys if key == name), None)
    if key is None:
        if name == IN_GROUPS:
            return Reply("That is for groups: here I answer everything.")
        meant = did_you_mean(name, keys, "/settings {}")
        shown = escape(bounded(name, 40))
        return Reply(f"There is no setting {shown}.{meant} There are: {', '.join(keys)}.")
    if key == ZONE and values and values != [DEFAULT]:
        try:
            values = [zone_of(" ".join(values)).key]
        except ZoneError as error:
            text = str(error)
            return Reply(f"{escape(text[:1].upper() + text[1:])}.")
    allowed = (*(VALUES[key] or values or ["Europe/Berlin"]), DEFAULT)
    if len(values) != 1 or values[0] not in allowed:
        return Reply(f"**{key}** may be {', '.join(allowed)}: `/settings {key} {allowed[0]}`.")
    if not call.context.questions.access.may_set(call.who, private=private):
        return Reply(NOT_YOUR_SETTINGS)
    return Act(partial(_choose, call=call, key=key, value=values[0], seen=""))


def _choose(tx: Transaction, call: CommandCall, key: Key, value: str, seen: str) -> Reply:
    held = _holds(tx, call)[key]
    if seen not in ("", held.state):
        return _listed(tx, call, OUTDATED)
    if key == ZONE and call.message.private:
        changed = held.here != ("" if value == DEFAULT else value)
        tx.schedules.set_zone(call.who, "" if value == DEFAULT else value)
    elif value == DEFAULT:
        changed = tx.chat_settings.take_back(call.address, key)
    else:
        changed = tx.chat_settings.choose(call.address, key, value, call.who)
    if changed:
        details = {"address": call.address, "key": key, "value": value, "before": held.state}
        tx.directory.audit("setting", call.who, details)
    now = _holds(tx, call)[key]
    said = f"✅ {key}: {now.value}." if changed else f"{key} is {now.value} already."
    if changed and not call.message.private:
        said += f" Chosen by {escape(bounded(call.message.user.name, 40))}."
    return _listed(tx, call, said)


def _listed(tx: Transaction, call: CommandCall, said: str = "") -> Reply:
    private, access = call.message.private, call.context.questions.access
    held = _holds(tx, call)
    place = "this topic" if "/" in call.address else "this chat"
    lines = [said, ""] if said else []
    lines.append(f"**Settings of {place}**")
    lines += [_line(key, one, private=private) for key, one in held.items()]
    lines += ["", *_more(call, access)]
    # A press may be by somebody else than who may see buttons: they hang on the message for all.
    may = access.may_set(call.who, private=private) or call.pressed is not None
    items = [item for key, one in held.items() for item in _buttons(key, one)] if may else []
    return Reply("\n".join(lines).rstrip(), items)


def _line(key: Key, held: _Holds, *, private: bool) -> str:
    source = f" ({held.source})" if held.source else ""
    about_zone = YOUR_ZONE if private else ZONE_OF_CHAT
    meaning = about_zone if key == ZONE else MEANING[key][held.value]
    return f"• **{key}** · {escape(held.value)}{source}: {meaning}"


def _more(call: CommandCall, access: Access) -> Iterator[str]:
    if not access.may_set(call.who, private=call.message.private):
        yield "Owners and approvers change them."
        return
    yield (
        "Press a button, or write `/settings busy queue` or `/settings zone Europe/Berlin`; "
        "`default` takes back what was chosen."
    )
    if access.is_owner(call.who):
        spec = call.context.offered.agent(call.session or 0, call.address, None).spec
        toolsets = sorted(call.context.settings.toolsets_at(call.address))
        shown = escape(bounded(", ".join(toolsets), 80)) if toolsets else "none"
        usual = f"Usual model: {model_name(spec.name)} (/model)"
        yield f"{usual} · toolsets: {shown} (/tools)"
        yield "Who may talk to me: /people"


def _buttons(key: Key, held: _Holds) -> Iterator[MenuItem]:
    """A row: what else it may be, and the way back."""
    others = [value for value in VALUES[key] if value != held.value]
    values = [*others, DEFAULT] if held.here else others
    for place, value in enumerate(values):
        does = ChooseSetting(key, value, held.state)
        yield button(f"{key.capitalize()}: {value}", does, beside=place > 0)


SETTINGS = (
    Command(
        CommandSpec(
            SETTINGS_COMMAND,
            "what holds in this chat, with buttons to change it",
            "choice",
            completes=True,
        ),
        _settings,
    ),
)
