"""What differs between platforms."""

import pytest

from adapters.events import Conversation
from adapters.platforms import (
    DISCORD,
    PLATFORMS,
    TELEGRAM,
    checked_address,
    configured,
    private_chat,
)
from adapters.settings import PlatformSettings


def test_every_section_of_the_configuration_has_a_platform() -> None:
    assert set(PlatformSettings.model_fields) <= set(PLATFORMS)


def test_a_platform_is_configured_where_it_has_a_section() -> None:
    assert configured(PlatformSettings()) == []
    both = {"discord": {"token": "y"}, "telegram": {"token": "x"}}
    assert configured(PlatformSettings.model_validate(both)) == [TELEGRAM, DISCORD]


@pytest.mark.parametrize(
    ("identity", "chat"),
    [
        ("telegram:1001", Conversation("telegram", "1001")),
        ("discord:42", Conversation("discord", "user:42")),
        ("terminal:local", Conversation("terminal", "local")),
        ("telegram:*", None),
    ],
)
def test_a_persons_private_chat_is_where_they_are(identity: str, chat: Conversation | None) -> None:
    assert private_chat(identity) == chat
    assert chat is None or checked_address(chat.address) == chat.address
