"""What may stand in the sections of the platforms."""

import pytest
from pydantic import SecretStr, ValidationError

from adapters.settings import PlatformSettings, TelegramSettings
from adapters.telegram.inbound.webhook import secret_of


def webhook(**keys: object) -> PlatformSettings:
    section = {"token": "1:x", "mode": "webhook", "webhook_url": "https://bot.example/hook"}
    return PlatformSettings.model_validate({"telegram": section | keys})


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"webhook_url": "https://bot.example:8443/hook"},
        {"webhook_url": "http://127.0.0.1:9/x", "base_url": "http://127.0.0.1:8081/bot"},
        {"webhook_secret": "a-Secret_1"},
        {"listen": "[::1]:8443"},
        {"listen": "localhost:0"},
    ],
)
def test_a_webhook_that_telegram_can_reach_is_taken(keys: dict[str, str]) -> None:
    assert webhook(**keys).telegram is not None


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"webhook_url": None}, 'mode = "webhook" needs webhook_url'),
        ({"webhook_url": "http://bot.example/hook"}, "must start with https://"),
        ({"webhook_url": "https://bot.example:8080/hook"}, "443, 80, 88, 8443"),
        ({"webhook_url": "https://bot.example:99999/hook"}, "a port that is no number"),
        ({"webhook_secret": ""}, "1 to 256"),
        ({"webhook_secret": "with space"}, "1 to 256"),
        ({"webhook_secret": "x" * 257}, "1 to 256"),
        ({"listen": "8443"}, "HOST:PORT"),
        ({"listen": "::1:8443"}, "HOST:PORT"),
        ({"listen": "[1::2::3]:8443"}, "not an IPv6 address"),
        ({"listen": "127.0.0.1:70000"}, "HOST:PORT"),
    ],
)
def test_a_webhook_that_cannot_be_is_refused_in_words(keys: dict[str, str], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        webhook(**keys)
    assert words in str(refused.value)


def test_the_secret_is_the_bots_own_and_the_same_each_time() -> None:
    own, other = TelegramSettings(token=SecretStr("1:x")), TelegramSettings(token=SecretStr("1:y"))
    assert secret_of(own.token.get_secret_value()) == secret_of("1:x")
    assert secret_of(own.token.get_secret_value()) != secret_of(other.token.get_secret_value())
