"""What is asked, each answer tried at once against the service that it is for."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.base import AdapterError, Misconfigured
from adapters.platforms import ANYBODY, PLATFORMS, Platform, checked_identity
from agent.models.demo import DEMO
from gateway.cli.doctor import PATIENCE, try_model
from gateway.cli.init.lines import ask, choose, confirm, say
from gateway.cli.init.writing import Keys
from gateway.commands.registry import command_specs
from gateway.configuration.config import Config, add_environment, checked, read_file
from gateway.configuration.secret_values import all_secrets
from gateway.errors import ConfigError
from gateway.logs import hide
from gateway.models import model_specs, plain_model

KEPT = ("base_url", "base_file_url", "api_base", "gateway_url")
"""Addresses that a file which is written anew keeps."""
BAD = "FAIL"
GOOD = "ok  "


@dataclass
class Answers:
    """Asks on `runner`, whose loop lives as long as the questions do."""

    runner: asyncio.Runner
    old: Mapping[str, Any] = field(default_factory=dict)
    """The file that is to be replaced."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What variables say: it wins, and is not written into the file."""
    _secrets: set[str] = field(default_factory=set, init=False)

    def platform(self) -> Platform | None:
        names = [name for name, each in PLATFORMS.items() if each.sign_up]
        say("Where shall the bot be?")
        chosen = choose("Number", [*names, "only in this terminal"])
        return PLATFORMS.get(chosen)

    def token(self, platform: Platform) -> Keys:
        """The section of a platform, with a token that it takes."""
        name = platform.name
        addresses = {key: self.old[name][key] for key in KEPT if key in _table(self.old, name)}
        given = _table(self.environment, name)
        if "token" in given:
            say(f"Its token stands in the environment: BOUGH_{name.upper()}__TOKEN.")
            if self._try_token(platform, {**addresses, **given}):
                return addresses
            say("The variable wins over the file: unset it, or set it to the right token.")
        say(f"The bot's token comes from {platform.sign_up}.")
        while True:
            keys = {**addresses, "token": ask("Token (not shown while you type)", secret=True)}
            if self._try_token(platform, {**keys, **given, "token": keys["token"]}):
                return keys

    def _try_token(self, platform: Platform, section: Mapping[str, Any]) -> bool:
        """Whether it is to be used: the platform takes it, or cannot be asked and the person is
        sure."""
        try:
            config = self._checked({platform.name: section})
            who = self.runner.run(_signed_in(platform, config))
        except (ConfigError, Misconfigured) as error:
            say(f"{BAD}  {_lines(error)}")
            return False
        except (AdapterError, TimeoutError) as error:
            say(f"{BAD}  {_lines(error) or f'no answer within {PATIENCE:g} s'}")
            return confirm("It could not be tried. Use it all the same?", default=False)
        say(f"{GOOD}  {platform.name}: signed in as {who}")
        return True

    def owner(self, platform: Platform) -> Keys:
        name = platform.name
        say("Who owns the bot? Owners may talk to it and decide, and let others in.")
        say("Leave it empty: bough run shows a code, and whoever writes it to the bot owns it.")
        while True:
            who = ask(f"Your number on {name}, if you know it").removeprefix(f"{name}:")
            if not who:
                return {}
            try:
                if who == ANYBODY:
                    raise ValueError(f"{who!r} would make everybody an owner")
                return {"owners": (checked_identity(f"{name}:{who}"),)}
            except ValueError as error:
                say(f"{BAD}  {error}")

    def model(self, tier: str, question: str, like: Keys | None = None) -> Keys:
        """A model that answers. Nothing where the demo model, or that of the tier above, will do.
        `like`: a model whose server and key it may share."""
        given = _table(_table(self.environment, "models"), tier)
        while True:
            keys: Keys = {}
            if "model" not in given and (name := ask(question)):
                keys["model"] = name
            name = str(given.get("model", keys.get("model", "")))
            if name in ("", DEMO):
                return keys
            keys |= self._server(name, given, like or {})
            if self._try_model(tier, {**keys, **given}):
                return keys
            if not keys:
                say("The environment says all of it: mend it there.")
                return keys

    def _server(self, name: str, given: Mapping[str, Any], like: Keys) -> Keys:
        """Where a model is, and its key."""
        same = str(like.get("model", "")).partition("/")[0] == name.partition("/")[0]
        before = like if same else {}
        keys: Keys = {}
        if "api_base" not in given:
            address = str(before.get("api_base", ""))
            keys["api_base"] = ask("Its server, where not the provider's own (URL)", address)
        if not {"api_key", "api_keys"} & given.keys():
            hint = "the same" if before.get("api_key") else "that of the environment, or none"
            key = ask(f"Its key (not shown; empty: {hint})", secret=True)
            keys["api_key"] = key or before.get("api_key", "")
        return {key: value for key, value in keys.items() if value}

    def _try_model(self, tier: str, section: Mapping[str, Any]) -> bool:
        try:
            config = self._checked({"models": {tier: section}})
        except ConfigError as error:
            say(f"{BAD}  {_lines(error)}")
            return False
        spec = model_specs(config)[0][tier]
        say("Asking it a short question ...")
        finding = self.runner.run(try_model(plain_model(), spec, tier))
        say(f"{GOOD if finding.ok else BAD}  {finding.text}")
        return finding.ok or confirm("Use it all the same?", default=False)

    def _checked(self, data: Mapping[str, Any]) -> Config:
        config = checked(data)
        self._secrets |= all_secrets(config)
        hide(self._secrets)
        return config


def answers(runner: asyncio.Runner, file: Path) -> Answers:
    """With the file as it is, and what the environment says. ConfigError where a variable is
    wrong."""
    environment: dict[str, Any] = {}
    add_environment(environment, os.environ)
    try:
        old = read_file(file, required=False)
    except ConfigError:
        old = {}  # no TOML; it is to be replaced anyway
    return Answers(runner, old, environment)


async def _signed_in(platform: Platform, config: Config) -> str:
    async with asyncio.timeout(PATIENCE):
        if platform.check is not None:
            return (await platform.check(config)).who
        adapter = platform.build(config, command_specs(), None, ())
        try:
            return await adapter.start()
        finally:
            await adapter.close()


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name, {})
    return found if isinstance(found, dict) else {}


def _lines(error: Exception) -> str:
    """What is wrong, without the line above a list of faults."""
    first, _, rest = str(error).partition("\n")
    return " ".join(rest.split()) or first
