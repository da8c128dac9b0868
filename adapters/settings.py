"""The sections of the configuration that say how a platform is reached; each bears its name.

What a URL and a key may be the agent says too (`agent/settings.py`), as neither knows the other.
"""

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from adapters.serving.listening import Listen


def _url(value: str) -> str:
    if not re.match(r"https?://[^/\s]+", value):
        raise ValueError("must be a URL that starts with http:// or https://")
    return value


def _sendable(value: SecretStr) -> SecretStr:
    """A key goes into an HTTP header, which takes no other characters. A placeholder ("sk-…") that
    was left standing would fail there, in words that name no key."""
    secret = value.get_secret_value()
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError(
            "has a character that no key or token has, such as … or a line break: "
            "put the real one there"
        )
    return value


def _webhook_secret(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", value.get_secret_value()):
        raise ValueError("must be 1 to 256 of the characters A-Z, a-z, 0-9, _ and -")
    return value


def _listen(value: str) -> str:
    Listen.parse(value)
    return value


Url = Annotated[str, AfterValidator(_url)]
Token = Annotated[SecretStr, AfterValidator(_sendable), Field(min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TelegramSettings(_Section):
    token: Token
    base_url: Url = "https://api.telegram.org/bot"
    base_file_url: Url = "https://api.telegram.org/file/bot"
    mode: Literal["polling", "webhook"] = "polling"
    webhook_url: Url | None = None
    webhook_secret: Annotated[SecretStr, AfterValidator(_webhook_secret)] | None = None
    listen: Annotated[str, AfterValidator(_listen)] = "127.0.0.1:8443"
    paced: bool = True

    @model_validator(mode="after")
    def _webhook_can_be_reached(self) -> Self:
        if self.mode == "webhook":
            if self.webhook_url is None:
                raise ValueError(
                    'mode = "webhook" needs webhook_url: the https:// address at which Telegram '
                    "reaches this bot"
                )
            if urlsplit(self.base_url).hostname == _TELEGRAM:
                _reachable_by_telegram(self.webhook_url)
        return self


_TELEGRAM = "api.telegram.org"
_WEBHOOK_PORTS = (443, 80, 88, 8443)


def _reachable_by_telegram(url: str) -> None:
    """Its own server takes no others; one that somebody runs beside the bot takes any."""
    try:
        port = urlsplit(url).port or 443
    except ValueError:
        raise ValueError("webhook_url has a port that is no number") from None
    if not url.startswith("https://"):
        raise ValueError("webhook_url must start with https://: Telegram takes nothing else")
    if port not in _WEBHOOK_PORTS:
        ports = ", ".join(map(str, _WEBHOOK_PORTS))
        raise ValueError(f"webhook_url: Telegram reaches the ports {ports} only")


class DiscordSettings(_Section):
    token: Token
    api_base: Url = "https://discord.com/api/v10"
    gateway_url: str | None = None
    shards: int | None = Field(default=None, ge=1)
    paced: bool = True


class PlatformSettings(_Section):
    """The sections of the platforms that are configured."""

    telegram: TelegramSettings | None = None
    discord: DiscordSettings | None = None

    def unused(self) -> list[str]:
        """Keys that were set and do nothing, for people."""
        if self.telegram is None or self.telegram.mode == "webhook":
            return []
        given = self.telegram.model_fields_set & {"webhook_url", "webhook_secret", "listen"}
        return [
            f"telegram.{key} does nothing: the bot polls. Did you mean to set telegram.mode to "
            '"webhook"?'
            for key in sorted(given)
        ]
