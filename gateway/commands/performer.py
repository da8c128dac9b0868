"""Carries out what a command or an action comes to: permission, lane, races, jobs and the answer.

The plan is made on a transaction that only reads. Whatever is not to be moved is done then, in the
transaction that ends the command's inbox row. For a move the turn that runs is ended, and the plan
is made once more in that transaction: no turn is ended to say that a number is not there.
"""

from dataclasses import replace
from functools import partial
from typing import assert_never

from gateway.access.denials import NOT_YOURS
from gateway.access.quota import Quota
from gateway.commands.context import (
    Act,
    CarryOut,
    CommandCall,
    Job,
    Move,
    Outcome,
    Plan,
    Pressed,
    Reply,
    Slow,
)
from gateway.outbound.buttons import distinct, send_menu
from gateway.turns.turn import TALK
from storage.errors import LeafMoved
from storage.records.entries import LeafMove
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft
from storage.store import Transaction

TRIES = 5
ANOTHER_SESSION = "This button is from another conversation than the one that goes on here now."
MOVED_MEANWHILE = "Somebody else moved this conversation at the same moment; nothing was changed."


async def perform(call: CommandCall, plan: Plan, carry_out: CarryOut) -> None:
    """Plan and do; `carry_out` takes the work into the transaction that ends the inbox row."""
    if _is_elsewhere(call):
        return await carry_out(partial(say, call=call, reply=Reply(ANOTHER_SESSION)))
    outcome, seen = await _look(call, plan)
    for _ in range(TRIES):
        if not isinstance(outcome, Move):
            return await _at_once(call, outcome, carry_out)
        try:
            return await _in_lane(call, plan, outcome.session, seen, carry_out)
        except LeafMoved:
            outcome, last = await _look(call, plan)
        if last is not None and last != seen and last.by != call.who:
            break
        seen = last  # another command of the same person, or a label: one after the other then
    await carry_out(partial(say, call=call, reply=Reply(MOVED_MEANWHILE)))


def _is_elsewhere(call: CommandCall) -> bool:
    """Whether a button was made for another session than the conversation is in now."""
    within = call.pressed.within if call.pressed is not None else None
    return within is not None and within != call.session


async def _look(call: CommandCall, plan: Plan) -> tuple[Outcome, LeafMove | None]:
    """What a command comes to as things are, and what last moved the leaf that it would move."""

    def look(tx: Transaction) -> tuple[Outcome, LeafMove | None]:
        outcome = _within_limits(tx, call, plan(tx, call))
        return outcome, _newest_move(tx, outcome.session) if isinstance(outcome, Move) else None

    return await call.context.store.read(look)


def _within_limits(tx: Transaction, call: CommandCall, outcome: Outcome) -> Outcome:
    """What a command comes to where that would be more turns than its giver, or the conversation,
    may begin: nothing, and they are told each time."""
    job = outcome.job if isinstance(outcome, Move) else outcome
    turns = _turns(job) if isinstance(job, Job) else 0
    over = _quota(call).over(tx, call.who, call.address, turns) if turns else None
    return outcome if over is None else Reply(over.text)


def _turns(job: Job) -> int:
    """How many turns a job is."""
    if job.kind not in TALK:
        return 0
    return len(job.payload["models"]) if job.kind is InboxKind.FAN else 1


def _quota(call: CommandCall) -> Quota:
    return Quota(call.context.config.limits)


async def _at_once(
    call: CommandCall, outcome: Reply | Act | Job | Slow, carry_out: CarryOut
) -> None:
    if isinstance(outcome, Slow):
        outcome = await outcome.step()
    if isinstance(outcome, Act) and outcome.leaving and call.session is not None:
        await call.context.turns.leave(call.session, call.address)
    await carry_out(partial(_do, call=call, outcome=outcome))


async def _in_lane(
    call: CommandCall, plan: Plan, session: int, seen: LeafMove | None, carry_out: CarryOut
) -> None:
    """Move, with no turn running in the session. Where somebody else has moved the leaf since the
    command was given, LeafMoved: they meant another place than where it is now."""
    turns = call.context.turns
    may_cut = partial(turns.may_cut, session=session, who=call.who, private=call.message.private)
    if not await call.context.store.read(may_cut):
        return await carry_out(partial(say, call=call, reply=Reply(NOT_YOURS)))

    def work(tx: Transaction) -> None:
        last = _newest_move(tx, session)
        if last is not None and last != seen and last.by != call.who:
            raise LeafMoved(f"session {session} was moved by {last.by}")
        _do(tx, call, _within_limits(tx, call, plan(tx, call)))

    if call.session is not None and call.session != session:
        await turns.leave(call.session, call.address)
    async with turns.still(session):
        await carry_out(work)


def _newest_move(tx: Transaction, session: int) -> LeafMove | None:
    return next(iter(tx.tree.leaf_moves(session, 1)), None)


def _do(tx: Transaction, call: CommandCall, outcome: Outcome) -> None:
    match outcome:
        case Reply():
            reply: Reply | None = outcome
        case Act(work):
            reply = work(tx)
        case Job():
            assert call.session is not None, "a job is about a session"
            _leave_job(tx, call, call.session, outcome)
            reply = outcome.reply
        case Move():
            _move(tx, call, outcome)
            reply = outcome.reply
        case Slow():
            raise AssertionError("what takes its time comes before a move is planned")
        case _:
            assert_never(outcome)
    if reply is not None:
        say(tx, call, reply)


def _move(tx: Transaction, call: CommandCall, move: Move) -> None:
    """LeafMoved where somebody was faster."""
    leaf = tx.tree.session(move.session).leaf
    if move.to != leaf:
        tx.tree.move_leaf(move.session, move.to, after=leaf, by=call.who, why=move.why)
    if tx.directory.conversation(call.address) != move.session:
        tx.directory.bind(call.address, move.session)
    if move.job is not None:
        _leave_job(tx, call, move.session, move.job)


def _leave_job(tx: Transaction, call: CommandCall, session: int, job: Job) -> None:
    if turns := _turns(job):
        _quota(call).take(tx, call.who, call.address, turns)
    key = f"{job.kind}:{call.row.id}"
    row = tx.inbox.receive(Arrival(key, job.kind, call.address, job.payload, session))
    if row is not None and job.entry is not None:
        tx.inbox.link(row.id, job.entry)


def say(tx: Transaction, call: CommandCall, reply: Reply) -> None:
    """Answer in the transaction that carries a command out: as a message, or, where a button was
    pressed, in place of the message it hangs on. With a file, always as a message of its own."""
    context, pressed, message = call.context, call.pressed, call.message
    text, items = distinct(context.composer, call.address, reply.text, reply.items)
    kept = pressed is not None and not reply.over_answer and _keep_answer(tx, pressed)
    if pressed is None or reply.file is not None or kept:
        parcels = context.composer.post(
            call.address,
            text,
            reply_to="" if message.private or pressed else message.message_id,
            handle=message.handle,
            file=tx.outbox.keep(reply.file) if reply.file is not None else None,
        )
    else:
        parcels = context.composer.change(
            call.address,
            text,
            row=pressed.outbox,
            message_id=pressed.message_id,
            handle=pressed.handle,
        )
        if reply.rest is not None and len(parcels) > 1:
            parcels, items = parcels[:1], [*items, reply.rest]
    send_menu(tx, parcels, items, private=message.private, by=reply.by)
    if pressed is not None and reply.shows is not None:
        tx.outbox.link_message(call.address, pressed.message_id, reply.shows)
    if reply.then is not None:
        # The platform has had its answer to the command by then.
        say(tx, replace(call, message=replace(message, handle="")), reply.then)


def _keep_answer(tx: Transaction, pressed: Pressed) -> bool:
    """Whether a button hangs on an answer of the agent; its buttons go, they are used up."""
    row = tx.outbox.get(pressed.outbox)
    if row.entry is None:
        return False
    if tx.outbox.linked_entry(row.address, pressed.message_id) == row.entry:
        body = {"body": row.payload["body"], "message_id": pressed.message_id, "buttons": []}
        tx.outbox.enqueue(OutboxDraft(row.address, "edit", body, edits=row.id))
    return True
