"""What /help says of each command: the heading that it stands under, and how it is used.

Details are Markdown: what it does is said by its description already, so they say what may stand
behind it, and give an example.
"""

from collections.abc import Mapping
from dataclasses import replace

from gateway.commands.context import Command

ANSWERS = "Answers"
TREE = "Back and branching"
CONVERSATIONS = "Conversations"
WORK = "Work"
CHAT = "This chat"
OWNERS = "For owners"
GROUPS = (ANSWERS, TREE, CONVERSATIONS, WORK, CHAT, OWNERS)
"""In the order in which they are listed."""

_GUIDE: Mapping[str, tuple[str, str]] = {
    "stop": (ANSWERS, "Ends the turn that runs here, its children too. What was written stays."),
    "retry": (
        ANSWERS,
        "The answer before stays beside the new one; buttons lead from one to the other.\n"
        "`/retry` asks again, `/retry NAME` asks the model of that name.",
    ),
    "fan": (
        ANSWERS,
        "Each answer becomes a branch, with a button to go on from it. They read files and change "
        "nothing.\n`/fan 3` gives three answers, `/fan cheap, parent` one of each model.",
    ),
    "model": (
        ANSWERS,
        "It holds on this branch, from the next message on.\n`/model` lists them with their "
        "prices, `/model NAME` chooses one, `/model default` takes the usual one again.",
    ),
    "compact": (
        ANSWERS,
        "The model reads the summary from then on; the tree keeps all that was said.\n"
        "`/compact keep the figures` says what matters.",
    ),
    "undo": (
        TREE,
        "Nothing is deleted: what you take back stays in the tree.\n`/undo` takes back one "
        "message, `/undo 3` three. /redo is the way back.",
    ),
    "redo": (TREE, "As long as nothing was said since the last /undo."),
    "branch": (
        TREE,
        "You go on after that message, and the rest stays as a branch of its own.\n`/branch` "
        "shows the last messages as buttons, `/branch 12` goes back to number 12. The numbers "
        "are in /tree.",
    ),
    "goto": (
        TREE,
        "`/goto` lists the labels as buttons, `/goto paris` goes to a label, `/goto 12` to a "
        "number.",
    ),
    "branches": (TREE, "A button for each branch. `/branches 2` is the second page."),
    "tree": (
        TREE,
        "`/tree` shows all of it, `/tree user` what people said, `/tree labeled` what has a "
        "label, `/tree no-tools` leaves the tools out; a number behind it is the page.",
    ),
    "label": (
        TREE,
        "`/label paris` names the last message, `/label paris 12` number 12, `/label` lists the "
        "names, `/label -paris` removes one.",
    ),
    "diff": (
        TREE,
        "`/diff 12 20` compares what came after the place where they part, `/diff paris` a label "
        "with where you are.",
    ),
    "summary": (
        TREE,
        "What you left goes along as a few sentences, so that it is not forgotten.\n`/summary "
        "the prices` says what to look at.",
    ),
    "new": (
        CONVERSATIONS,
        "The model knows nothing of the old one; /sessions leads back to it.\n`/new Holidays` "
        "gives it a title.",
    ),
    "sessions": (CONVERSATIONS, "A button for each. `/sessions 2` is the second page."),
    "name": (CONVERSATIONS, "`/name` says the title, `/name Holidays` gives it one."),
    "search": (
        CONVERSATIONS,
        "In all branches, also in those you left. `/search hotel Rome` finds where all of the "
        "words are.",
    ),
    "fork": (
        CONVERSATIONS,
        "Both go on apart from then on.\n`/fork` takes all of it, `/fork 12 Holidays` what is "
        "above number 12, with a title.",
    ),
    "attach": (
        CONVERSATIONS,
        "`/attach` gives a code; write `/attach CODE` in the other chat, on another platform too.",
    ),
    "export": (
        CONVERSATIONS,
        "With all branches. `/export redact` leaves out what looks like a secret; `/export me`, "
        "in private, is all that I keep about you.",
    ),
    "import": (CONVERSATIONS, "Send the file that /export gave, with `/import` as its caption."),
    "questions": (WORK, "What waits for a person, with fresh buttons."),
    "agents": (
        WORK,
        "What runs has buttons to pause or stop it.\n`/agents 7` shows what the children of "
        "number 7 said, `/agents 7 2` the second page.",
    ),
    "tasks": (WORK, "Another name for /agents: `/tasks 7` is `/agents 7`."),
    "usage": (
        WORK,
        "Dollars, tokens, calls. `/usage all` says by which tier, model and person.",
    ),
    "schedule": (
        WORK,
        "Ask me in words to do something at a time; this lists what is planned.\n`/schedule "
        "pause 7`, `/schedule resume 7`, `/schedule delete 7`; `/schedule zone Europe/Berlin` "
        "says your time zone.",
    ),
    "tools": (WORK, "`/tools revoke 3` takes back what was allowed under number 3."),
    "forget": (
        CHAT,
        "What you wrote to me, your files, notes and schedules go, and our private conversations "
        "as a whole. `/forget me` says how much that is, and asks first.",
    ),
    "memory": (
        WORK,
        "`/memory` lists the notes, `/memory tea` looks for words, `/memory delete 12` deletes "
        "number 12, `/memory forget` all about you.",
    ),
    "settings": (
        CHAT,
        "In a group, owners and approvers choose.\n`/settings` shows buttons, `/settings busy "
        "queue` chooses, `/settings busy default` takes that back.",
    ),
    "help": (CHAT, "`/help` lists the commands, `/help branch` says more of one."),
    "people": (OWNERS, ""),
    "pair": (OWNERS, ""),
}


def explained(command: Command) -> Command:
    """With what the guide says of it, where the command says nothing itself."""
    spec = command.spec
    group, details = _GUIDE.get(spec.name, ("", ""))
    spec = replace(spec, group=spec.group or group, details=spec.details or details)
    return replace(command, spec=spec)
