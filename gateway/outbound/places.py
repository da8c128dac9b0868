"""Where a press came from."""

from adapters.events import Conversation, Press


def same_place(address: str, press: Press) -> bool:
    """Whether a button that was posted to an address may be pressed there. A direct message to a
    person is addressed by the person and pressed in a channel; a press on an old message of a
    Telegram topic does not say which topic."""
    here = press.conversation
    personal = f"{press.user.platform}:user:{press.user.id}"
    whole_chat = address.partition("/")[0] if not here.thread else ""
    return here.address in (address, whole_chat) or address == personal


def place_of(address: str, press: Press) -> Conversation:
    """The conversation that a press is in, where `same_place` holds: the topic of its button, where
    the press does not say it."""
    here = press.conversation
    is_in_it = here.address == address.partition("/")[0]
    return Conversation.parse(address) if is_in_it else here
