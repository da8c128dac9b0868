"""What a worker that goes on in its own conversation is told. Pure.

Its instructions stay as they were when it began, so that every request is the one before it and
something more: a provider's cache then holds all that was said.
"""

from dataclasses import replace

from agent.delegation.tables.model import BranchTable, describe
from agent.text.fencing import fence
from agent.text.templates import cut

CHECK_LIMIT = 4_000
"""Characters of a check that an overseer asks for."""

_GO_ON = """\
Go on from what you have seen already: look or run again only where that is not enough. Then end \
with report_outcome again."""


def correction(wrong: str) -> str:
    text = f"{wrong.removesuffix('.')}. Call report_outcome again, correctly."
    return f"Error: {text} This is the only correction."


def extension(before: BranchTable, after: BranchTable) -> str:
    """What is new in the table, numbered as in the whole of it; all of it where nothing is."""
    new = tuple(c for c in after.conditions if c not in before.conditions)
    table = describe(replace(after, conditions=new or after.conditions))
    return (
        "The branch table was extended for what you saw. These conditions are new; one with the "
        "number of an old one takes its place. The others hold as before.\n\n"
        f"<branch_table>\n{table}\n</branch_table>\n\n{_GO_ON}"
    )


def check(wanted: str) -> str:
    return (
        "The overseer needs to know more before it decides. Check this, and quote what you find "
        f"as evidence:\n\n{fence('check', cut(wanted, CHECK_LIMIT))}\n\n{_GO_ON}"
    )
