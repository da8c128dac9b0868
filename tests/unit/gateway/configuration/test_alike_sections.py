"""Adapters and agent know nothing of each other, so each says itself what a URL and a key may be.
They say the same."""

from collections.abc import Callable

import pytest
from pydantic import BaseModel, ValidationError

from adapters.settings import TelegramSettings
from agent.settings import ModelConfig


def complaint(section: Callable[[], BaseModel]) -> str:
    """What a section is refused for; "" where it is taken."""
    try:
        section()
    except ValidationError as error:
        return error.errors()[0]["msg"]
    return ""


@pytest.mark.parametrize("key", ["123456:abc", "sk-…", "two\nlines", "schlüssel", "a b", "\x00"])
def test_a_platform_takes_the_keys_that_a_model_takes(key: str) -> None:
    platform = complaint(lambda: TelegramSettings.model_validate({"token": key}))
    model = complaint(lambda: ModelConfig.model_validate({"model": "m", "api_key": key}))
    assert platform == model


@pytest.mark.parametrize(
    "url",
    [
        "https://x.example/v1",
        "http://[::1]:80",
        "ftp://x",
        "https://",
        "https:// x",
        "x.example",
        "",
    ],
)
def test_a_platform_takes_the_addresses_that_a_model_takes(url: str) -> None:
    platform = complaint(lambda: TelegramSettings.model_validate({"token": "t", "base_url": url}))
    model = complaint(lambda: ModelConfig.model_validate({"model": "m", "api_base": url}))
    assert platform == model
