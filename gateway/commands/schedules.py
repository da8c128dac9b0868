"""What is scheduled in a conversation: /schedule lists it; its people pause, resume and delete it,
and say their time zone."""

from collections.abc import Sequence
from functools import partial
from zoneinfo import ZoneInfo

from adapters.base import CommandSpec
from agent.errors import ToolError
from agent.text.markdown import escape
from agent.tools.schedule.rules import following, in_words, read
from agent.tools.schedule.tool import MOST_HERE
from agent.tools.schedule.zones import ZoneError, place, shown_time, usual_zone, zone_of
from gateway.commands.buttons import button
from gateway.commands.context import Act, Command, CommandCall, Outcome, Reply
from gateway.outbound.buttons import MenuItem
from gateway.schedules.firing import withdraw
from gateway.views.entries import preview
from storage.errors import NotFound
from storage.records.tools.schedules import Schedule, ScheduleState
from storage.store import Transaction

ON_A_PAGE = 4
"""Each has a row of buttons, and Discord has five rows."""
SHOWN = 200
"""Characters of a text."""
_MOST_DIGITS = 15
HOW = (
    "Write /schedule for the list, /schedule pause 7, /schedule resume 7, /schedule delete 7 with "
    "a number of the list, or /schedule zone Europe/Berlin."
)
NOT_HERE = (
    "Nothing can be scheduled here: the toolset `schedule` is not among `toolsets` under `[tools]` "
    "in bough.toml, where this bot's owner may put it."
)
GONE = "There is no #{number} here. /schedule lists what there is."
NOT_YOURS = "#{number} is somebody else's: they and the bot's owners may change it."
OVER = "The time of #{number} is over. Delete it, or ask me to schedule it anew."
UNREADABLE = "The times of #{number} cannot be reckoned any more. Delete it, and ask for it anew."
SHUT_OUT = "Who scheduled #{number} may not talk to me any more. Let them in first, or delete it."
FULL = (
    f"{MOST_HERE} are active here, which is the most there may be: pause or delete another first."
)
_VERBS = {
    "pause": "pause",
    "resume": "resume",
    "continue": "resume",
    "delete": "delete",
    "remove": "delete",
    "cancel": "delete",
}


def _schedule(tx: Transaction, call: CommandCall) -> Outcome:
    verb, _, rest = call.argument.partition(" ")
    verb, rest = verb.lower(), rest.strip()
    if not verb or verb.isdecimal():
        return _listed(tx, call, int(verb[:_MOST_DIGITS] or 1))
    if verb in ("zone", "timezone"):
        return _zone(tx, call, rest)
    if verb not in _VERBS:
        return Reply(HOW)
    digits = rest.removeprefix("#")
    if not (digits.isdecimal() and len(digits) <= _MOST_DIGITS):
        return Reply(HOW)
    return Act(partial(_change, call=call, what=_VERBS[verb], number=int(digits)))


def _zone_of(tx: Transaction, call: CommandCall) -> ZoneInfo:
    """The caller's."""
    usual = call.context.settings.zone_at(call.address)
    return usual_zone(tx.schedules.zone(call.who) or usual)


def _zone(tx: Transaction, call: CommandCall, name: str) -> Outcome:
    if not name:
        zone = _zone_of(tx, call)
        said = "" if tx.schedules.zone(call.who) else " You never said another."
        return Reply(
            f"Your time zone is {escape(place(tx.now, zone))}.{said} /schedule zone Europe/Berlin, "
            "say, changes it."
        )
    try:
        zone = zone_of(name)
    except ZoneError as error:
        text = str(error)
        return Reply(f"{escape(text[:1].upper() + text[1:])}.")

    def work(tx: Transaction) -> Reply:
        tx.schedules.set_zone(call.who, zone.key)
        return Reply(
            f"Your time zone is {escape(place(tx.now, zone))} now. What is scheduled already "
            "keeps its own."
        )

    return Act(work)


def _change(tx: Transaction, call: CommandCall, what: str, number: int) -> Reply:
    try:
        schedule = tx.schedules.get(number)
    except NotFound:
        schedule = None
    is_open = (ScheduleState.ACTIVE, ScheduleState.PAUSED)
    if schedule is None or schedule.address != call.address or schedule.state not in is_open:
        return Reply(GONE.format(number=number))
    if not _may_change(call, schedule):
        return Reply(NOT_YOURS.format(number=number))
    match what:
        case "pause":
            tx.schedules.change(schedule, state=ScheduleState.PAUSED, reason="")
            withdraw(tx, schedule)
            said = f"#{number} is paused."
        case "delete":
            tx.schedules.change(schedule, state=ScheduleState.DELETED)
            withdraw(tx, schedule)
            said = f"#{number} is deleted."
        case _:
            said = _resume(tx, call, schedule)
    return _listed(tx, call, 1, said)


def _resume(tx: Transaction, call: CommandCall, schedule: Schedule) -> str:
    """From its next time on: what came and went while it was paused was not wanted."""
    if schedule.state is ScheduleState.ACTIVE:
        return f"#{schedule.id} is not paused."
    if not call.context.questions.access.may_talk(schedule.person):
        return SHUT_OUT.format(number=schedule.id)
    if tx.schedules.active(address=call.address) >= MOST_HERE:
        return FULL
    try:
        rule, zone = read(schedule.rule), ZoneInfo(schedule.zone)
        at = following(rule, zone, tx.now)
    except (ToolError, ValueError, LookupError, OSError):
        return UNREADABLE.format(number=schedule.id)
    if at is None:
        return OVER.format(number=schedule.id)
    # What begins later begins then.
    at = max(at, schedule.next) if schedule.next > tx.now else at
    tx.schedules.change(schedule, state=ScheduleState.ACTIVE, next=at, reason="")
    return f"#{schedule.id} goes on: {shown_time(at, _zone_of(tx, call))}."


def _may_change(call: CommandCall, schedule: Schedule) -> bool:
    return schedule.person == call.who or call.context.questions.access.is_owner(call.who)


def _listed(tx: Transaction, call: CommandCall, page: int, said: str = "") -> Reply:
    """`said`: what was done just before."""
    before = [escape(said), ""] if said else []
    found = tx.schedules.of_conversation(call.address)
    zone = _zone_of(tx, call)
    if not found:
        nothing = "Nothing is scheduled here. Ask me to remind you of something, say."
        return Reply("\n".join([*before, nothing]))
    pages = -(-len(found) // ON_A_PAGE)
    page = min(max(page, 1), pages)
    shown = found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
    heading = "**Scheduled here**" + (f", page {page} of {pages}" if pages > 1 else "")
    lines = [line for schedule in shown for line in _lines(call, schedule, zone)]
    items = [item for schedule in shown for item in _items(call, schedule)]
    items += _turning(page, pages)
    return Reply("\n".join([*before, heading, "", *lines]), items, by=call.who)


def _lines(call: CommandCall, schedule: Schedule, zone: ZoneInfo) -> Sequence[str]:
    """When, how often and by whom; what."""
    is_active = schedule.state is ScheduleState.ACTIVE
    why = f": {schedule.reason}" if schedule.reason else ""
    when = shown_time(schedule.next, zone) if is_active else f"paused{why}"
    by = "you" if schedule.person == call.who else schedule.person
    return (
        f"**#{schedule.id}** · {escape(when)} · {escape(_often(schedule))} · by {escape(by)}",
        f"> {escape(preview(schedule.text, SHOWN))}",
        "",
    )


def _often(schedule: Schedule) -> str:
    try:
        return in_words(read(schedule.rule))
    except (ToolError, ValueError):
        return "at times that cannot be reckoned"


def _items(call: CommandCall, schedule: Schedule) -> Sequence[MenuItem]:
    if not _may_change(call, schedule):
        return ()
    verb = "pause" if schedule.state is ScheduleState.ACTIVE else "resume"
    number = schedule.id
    return (
        button(f"{verb.capitalize()} #{number}", f"schedule {verb} {number}"),
        button(f"Delete #{number}", f"schedule delete {number}", beside=True, style="danger"),
    )


def _turning(page: int, pages: int) -> list[MenuItem]:
    back = [button("◀", f"schedule {page - 1}")] if page > 1 else []
    on = [button("▶", f"schedule {page + 1}", beside=bool(back))] if page < pages else []
    return [*back, *on]


def _lacking(tx: Transaction, call: CommandCall) -> str:
    on = "schedule" in call.context.settings.toolsets_at(call.address)
    return "" if on or tx.schedules.of_conversation(call.address) else NOT_HERE


SCHEDULES: Sequence[Command] = (
    Command(
        CommandSpec(
            "schedule",
            "what is scheduled here; pause N, resume N, delete N, zone NAME",
            "what",
            completes=True,
        ),
        _schedule,
        lacking=_lacking,
    ),
)
