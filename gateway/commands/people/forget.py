"""/forget me: a person has the bot forget them. It says first what goes and what stays, and does it
once they have confirmed it themselves."""

from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from gateway.commands.buttons import button
from gateway.commands.context import Act, Action, Command, CommandCall, Outcome, Reply, Slow
from gateway.commands.people.rights import end_work_of
from storage.records.retention.forgetting import Extent
from storage.store import Transaction

HOW = (
    "`/forget me` has me forget you: what you wrote to me, your files, notes and schedules. It "
    "asks first. `/export me` gives you all of it as a file before."
)
STAYS = (
    "**What stays:** that something was said there (numbers and branches), what others wrote, my "
    "answers in groups, what it cost in sums, what was decided, without your name, and your right "
    "to talk to me. What you see in this chat is kept by the platform: delete it there. Backups "
    "keep what is in them."
)
BEGUN = (
    "You are being forgotten: that takes a moment, and goes on if I am restarted. If you write to "
    "me, we begin anew."
)
KEPT = "Nothing was forgotten."


def _forget(tx: Transaction, call: CommandCall) -> Outcome:
    if call.argument.casefold() != "me":
        return Reply(HOW)
    return _asked(tx, call, call.who)


def _asked(tx: Transaction, call: CommandCall, who: str) -> Reply:
    """In a group nothing is said of how much there is."""
    lines = ["**This forgets you, for good.**", ""]
    if call.message.private and who == call.who:
        lines += [f"• {one}" for one in goes(tx.forgettings.extent(who))]
    else:
        lines.append(
            "• what you wrote, here and elsewhere, and our private conversations as a whole, with "
            "files, notes and schedules; your private chat with me says how much that is"
        )
    lines += ["• your name, and which account you are", "", STAYS]
    items = [
        button("Forget me", ForgetPerson(who), style="danger"),
        button("No", KeepPerson(who), beside=True),
    ]
    return Reply("\n".join(lines), items, by=who)


def goes(extent: Extent) -> list[str]:
    """What is forgotten, a line each, with counts."""
    private = _count(extent.private_sessions, "private conversation")
    shared = _count(extent.shared_sessions, "conversation")
    lines = [
        f"{private} with me, whole: {_count(extent.private_messages, 'message')}, "
        "yours and mine, and what was delegated there",
        f"{_count(extent.own_messages, 'message')} of yours in {shared} with others",
    ]
    rest = (
        (extent.files, "file"),
        (extent.notes, "note"),
        (extent.schedules, "schedule"),
    )
    lines.append(", ".join(_count(count, what) for count, what in rest))
    if extent.questions:
        waits = "question that waits" if extent.questions == 1 else "questions that wait"
        lines.append(f"{extent.questions} {waits} for you: withdrawn")
    return lines


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class ForgetPerson(Action):
    """Forget whoever asked for it, and presses it themselves."""

    who: str
    """Their identity."""
    name = "forget_person"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        if call.who != self.who:  # an owner may press every button, but this is not theirs to say
            return _asked(tx, call, self.who)

        async def cut_off() -> Act:
            await call.context.turns.stop_all_of(self.who)
            return Act(partial(_begin, call=call))

        return Slow(cut_off)


@dataclass(frozen=True, slots=True)
class KeepPerson(Action):
    who: str
    name = "keep_person"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return Reply(KEPT) if call.who == self.who else _asked(tx, call, self.who)


def _begin(tx: Transaction, call: CommandCall) -> Reply:
    end_work_of(tx, call.who)
    for question in tx.questions.open():
        if question.subject.get("person") == call.who:
            call.context.questions.withdraw(tx, question.id)
    # Before it begins: so the pseudonym takes the place of who it was here, too.
    tx.directory.audit("person forgotten", call.who, {"rights": False})
    tx.forgettings.begin(call.who, call.who)
    return Reply(BEGUN)


FORGETTING = (
    Command(
        CommandSpec(
            "forget", "me: have me forget you; asks first", "me", details=HOW, discreet=True
        ),
        _forget,
    ),
)
