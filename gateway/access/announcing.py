"""What the start tells of who may talk to the bot, and of the code that makes its owner. Pure."""

from collections.abc import Mapping

from gateway.access.roles import Access
from storage.records.chats.people import Role

NAMED = 5
"""People."""
NOBODY = "nobody may talk to the bot: fill allow or owners under [access]"
NOBODY_YET = "nobody may talk to the bot yet: the code above makes its first owner"
INVITATION = """\
This bot has no owner yet. Write this code to it in private to become its owner:

    {code}

{places}. It is good for one person and for a day; the next start shows another one."""


def invitation(code: str, signed_in: Mapping[str, str]) -> str:
    """`signed_in`: who the bot is, by platform."""
    places = ", ".join(f"{who} on {name}" for name, who in signed_in.items())
    return INVITATION.format(code=code, places=f"The bot is {places}")


def who_may_talk(access: Access) -> str:
    """One line: how many, and the first of them."""
    config, given = access.config, access.given
    owners = dict.fromkeys(access.owners())
    others = dict.fromkeys((*config.allow, *given.holding(Role.MEMBER, Role.APPROVER)))
    named = [f"{one} (owner)" for one in owners] + [one for one in others if one not in owners]
    if not named:
        return "nobody"
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return f"{len(named)}: {', '.join(named[:NAMED])}{more}"
