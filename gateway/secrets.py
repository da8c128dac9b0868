"""What of a configuration must never be shown."""

from typing import Any

from pydantic import BaseModel, SecretStr

from gateway.config import Config


def secrets_of(config: Config) -> set[str]:
    """Every secret value of a configuration; of a bot's token, also the part that is secret."""
    found: set[str] = set()
    left: list[Any] = [config]
    while left:
        match left.pop():
            case SecretStr() as secret:
                found |= {secret.get_secret_value(), secret.get_secret_value().partition(":")[2]}
            case BaseModel() as model:
                left += [getattr(model, name) for name in type(model).model_fields]
            case dict() as values:
                left += values.values()
            case list() | tuple() as values:
                left += values
    return found
