"""bough doctor: try everything that the configuration names, and say what to do about faults."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from adapters.base import Adapter, AdapterError
from adapters.checkup import Checkup
from adapters.events import Conversation
from adapters.platforms import PLATFORMS, bots_of, configured, private_chat
from adapters.serving.listening import Listen
from agent.compaction.cut import DEFAULT_WINDOW
from agent.errors import ToolError
from agent.models.base import Model, ModelError, ModelSpec, Request, price
from agent.models.registry import Models
from agent.models.spending.budgets import OUTPUT_RESERVED
from agent.settings import BudgetsConfig, DelegationConfig, McpConfig, ToolsConfig, resolve_template
from agent.text.suggestion import did_you_mean
from agent.tools.base import MCP, Toolset, asks_by_default, function_schema
from agent.tools.files.workspace import WorkspaceError
from agent.tools.mcp.server import Health
from agent.tools.mcp.servers import probe
from agent.tools.terminal.sandbox.cache import cache_of
from agent.tools.terminal.sandbox.place import refuse_unfit
from agent.tools.terminal.sandbox.probe import try_groups, try_sandbox, try_without
from agent.tools.terminal.sandbox.toolchain import Hands
from agent.tools.think import ThinkTool
from gateway.access.announcing import NOBODY
from gateway.access.roles import Access
from gateway.app import platform_adapters
from gateway.cli.listening import looked_at
from gateway.cli.risky_rules import risky_rules
from gateway.cli.workspaces import look_at_workspaces
from gateway.configuration.config import Config, load, own_files
from gateway.configuration.current import Current
from gateway.configuration.secret_values import all_secrets, too_short
from gateway.configuration.tool_names import unknown_to_server
from gateway.errors import ConfigError
from gateway.logs import hide, without_secrets
from gateway.models import known_models, plain_model
from gateway.processes.shared_workspace import SharedWorkspace, WorkspaceElsewhere
from gateway.running.own_bots import foreign
from gateway.toolkits import web_client
from storage.errors import StoreError
from storage.records.entries import message
from storage.sql.store import SqlStore
from storage.store import Transaction

PATIENCE = 30.0
"""Seconds for each platform and each model."""


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str
    ok: bool
    text: str
    warns: bool = False
    """It is to be known, and nothing is at fault."""


async def examine(path: Path | None) -> int:
    """Print a line for everything that was tried; 0 if all is well, 1 if something is not, 2 where
    the configuration itself cannot be read."""
    try:
        config = load(path)
    except ConfigError as error:
        show(Finding("configuration", False, str(error)))
        return 2
    hide(all_secrets(config))
    show(Finding("configuration", True, "read"))
    faults = 0
    async for finding in findings(config):
        show(finding)
        faults += not finding.ok
    print("All is well." if not faults else f"{faults} to mend.", flush=True)
    return 1 if faults else 0


async def findings(config: Config) -> AsyncIterator[Finding]:
    if short := too_short(config):
        text = f"{', '.join(short)}: too short to be taken out of the log; use a longer one"
        yield Finding("secrets", False, text)
    async for finding in _database(config):
        yield finding
    if config.server.listen is not None:
        yield Finding("server", *await looked_at(Listen.parse(config.server.listen)))
    for adapter in platform_adapters(config):
        for finding in await _platform(adapter, config):
            yield finding
    for finding in _people(config):
        yield finding
    models = await known_models(config)
    model = plain_model()
    for spec, names in _distinct(list(chain.from_iterable(map(_each_key, models.specs())))):
        yield await try_model(model, spec, names)
    for finding in await _web(config):
        yield finding
    async for finding in _commands(config):
        yield finding
    for finding in await _shared_workspace(config):
        yield finding
    ok, sizes = await asyncio.to_thread(look_at_workspaces, config.tools)
    if sizes:
        yield Finding("workspaces", ok, sizes)
    for text in risky_rules(config.tools.rules):
        yield Finding("tools.rules", True, text, warns=True)
    yield _children(config.delegation)
    for finding in (
        *_dearer(config.delegation, models),
        *_money(config.budgets, models.specs()),
        *_fallbacks(models),
    ):
        yield finding
    for server, section in config.mcp.items():
        yield await _server(server, section, config)
    name = config.delegation.escalation_model
    if name is not None and models.find(name) is None:
        meant = did_you_mean(name, models.names())
        text = f"delegation.escalation_model {name!r} is not configured; the overseer is used"
        text = f"{text}.{meant}" if meant else text
        yield Finding("escalation_model", False, text)


async def _database(config: Config) -> AsyncIterator[Finding]:
    try:
        store = await SqlStore.open(config.storage.url, create=False)
        try:
            await store.run(lambda tx: tx.directory.set_fact("doctor", tx.now))
            silent = await store.read(partial(_without_chat, config=config))
            others = await store.read(partial(foreign, bots=bots_of(config)))
        finally:
            await store.close()
    except StoreError as error:
        yield Finding("database", False, str(error))
        return
    yield Finding("database", True, f"{store.description} can be written")
    for text in others:
        yield Finding("database", False, text)
    if silent:
        text = f"{', '.join(silent)} never wrote to the bot in private, so questions cannot be sent"
        yield Finding("approvers", True, f"{text} there: they write /start to it once", warns=True)


def _without_chat(tx: Transaction, config: Config) -> list[str]:
    """Those of the file who may decide and whom the bot cannot write to."""
    access = config.access
    deciders = config.tools.approvers or access.approvers or access.owners
    here = {platform.name for platform in configured(config) if not platform.writes_first}
    chats = {who: private_chat(who) for who in deciders}
    return [
        who
        for who, chat in chats.items()
        if chat is not None and chat.platform in here and not tx.directory.is_known(chat.address)
    ]


async def _platform(adapter: Adapter, config: Config) -> list[Finding]:
    """Who the bot is, and what would keep it from serving. A bot that runs meanwhile is not
    disturbed: where looking is enough, nothing is started."""
    look = PLATFORMS[adapter.name].check
    try:
        async with asyncio.timeout(PATIENCE):
            found = await look(config) if look else Checkup(await adapter.start())
    except AdapterError as error:
        return [Finding(adapter.name, False, str(error))]
    except TimeoutError:
        return [Finding(adapter.name, False, f"no answer within {PATIENCE:g} s")]
    finally:
        await adapter.close()
    signed_in = "; ".join((f"signed in as {found.who}", *found.notes))
    troubles = (f"{trouble.text}; {trouble.cure}" for trouble in found.troubles)
    return [
        Finding(adapter.name, True, signed_in),
        *(Finding(adapter.name, False, text) for text in troubles),
    ]


async def _web(config: Config) -> list[Finding]:
    """Whether a search is configured, and answers; nothing where nobody has the web's tools."""
    if Toolset.WEB not in config.all_toolsets():
        return []
    engine = config.web.search
    if engine is None:
        text = "pages can be fetched; web_search is not there without [web] search"
        return [Finding("web", True, text)]
    client = web_client(config)
    try:
        found = await client.search("test", 1, "")
    except ToolError as error:
        return [Finding("web", False, str(error))]
    finally:
        client.close()
    return [Finding("web", True, f"{engine} answers, with {'a result' if found else 'nothing'}")]


NOBODY_NAMED = (
    "the file names nobody: where nobody was let in from a chat, bough run shows the code that "
    "makes the first owner, who lets in the others"
)


def _people(config: Config) -> list[Finding]:
    """Lists that let nobody in, or nobody decide."""
    platforms = {platform.name for platform in configured(config)}
    if not platforms:
        return []
    found = []
    access = Access(Current(config))
    pairing = config.access.pairing
    if not access.someone_talks():
        text = NOBODY_NAMED if pairing else NOBODY
        found.append(Finding("access", pairing, text))
    if not (access.has_approvers() or pairing):
        text = "nobody may decide: fill approvers or owners under [access]"
        found.append(Finding("approvers", False, text))
    found += _approvals(config, access)
    for level in config.escalation.levels:
        for address in level.to:
            platform = Conversation.parse(address).platform
            if platform not in platforms:
                text = f"{address} cannot be reached: [{platform}] is not configured"
                found.append(Finding("escalation", False, text))
    return found or [Finding("access", True, "somebody may talk, somebody may decide")]


def _approvals(config: Config, access: Access) -> list[Finding]:
    """Toolsets whose calls ask people, where nobody may answer."""
    asking = {name for name in config.all_toolsets() if asks_by_default(name)}
    ruled = any(rule.decision == "ask" for rule in config.tools.rules)
    if not (asking or ruled) or access.someone_approves() or config.access.pairing:
        return []
    what = ", ".join(sorted(asking)) or "a rule of tools.rules"
    text = (
        f"calls need approval ({what}) and nobody can give it: fill approvers under [tools], or "
        "approvers or owners under [access]"
    )
    return [Finding("tools", False, text)]


async def _commands(config: Config) -> AsyncIterator[Finding]:
    """What confines commands, tried; nothing where none can be run."""
    if not {Toolset.TERMINAL, Toolset.CODE} & config.all_toolsets():
        return
    if config.tools.sandbox == "none":
        probed = await try_without()
    else:
        probed = await try_sandbox(network=config.tools.network)
    yield Finding("sandbox", probed.ok, probed.text, probed.warns)
    held = await try_groups()
    yield Finding("memory of commands", held.ok, held.text, held.warns)
    try:
        refuse_unfit(resolve_template(config.tools.workspace, 0), *own_files(config))
    except WorkspaceError as error:
        yield Finding("workspace", False, str(error))
        return
    yield Finding("commands", True, await asyncio.to_thread(_given, config.tools))
    if config.tools.sandbox != "none" and probed.ok:
        for tried in await Hands(config.tools, tuple(own_files(config)[1])).tried():
            yield Finding("commands", tried.ok, tried.text)


def _given(tools: ToolsConfig) -> str:
    """What commands have besides the system's programs; of variables the names alone, as a value
    may be a key."""
    cache = cache_of(resolve_template(tools.workspace, 0).absolute())
    above = next(folder for folder in cache.parents if folder.is_dir())
    kept = f"kept beside each workspace, as {cache}"
    if not os.access(above, os.W_OK):
        kept = f"none, because {above} cannot be written"
    return (
        f"tools.read_only: {', '.join(tools.read_only) or 'nothing'}; "
        f"tools.environment: {', '.join(tools.environment) or 'nothing'}; cache: {kept}"
    )


async def _shared_workspace(config: Config) -> list[Finding]:
    """Whether a worker on this host would use what the others do; nothing where it is alone."""
    try:
        store = await SqlStore.open(config.storage.url, create=False)
        try:
            shared = SharedWorkspace.of(config, store)
            return [] if shared is None else [Finding("workspace", *await shared.look())]
        finally:
            await store.close()
    except StoreError:
        return []  # what is wrong with the database is said already
    except WorkspaceElsewhere as error:
        return [Finding("workspace", False, str(error))]


def _distinct(specs: Sequence[ModelSpec]) -> list[tuple[ModelSpec, str]]:
    """Each model once, with the names it is configured under."""
    found: dict[tuple[str, str | None, str | None], list[ModelSpec]] = {}
    for spec in specs:
        found.setdefault((spec.model, spec.api_base, spec.api_key), []).append(spec)
    return [(same[0], ", ".join(spec.name for spec in same)) for same in found.values()]


def _each_key(spec: ModelSpec) -> list[ModelSpec]:
    """The same model once for each of its keys."""
    count = len(spec.api_keys)
    return [
        replace(spec, name=f"{spec.name} (key {number} of {count})", api_key=key)
        for number, key in enumerate(spec.api_keys, start=1)
    ] or [spec]


def _children(section: DelegationConfig) -> Finding:
    """How many children there may be in the worst case: each level multiplies."""
    each = section.max_concurrent_children
    depth = section.max_spawn_depth if section.orchestrator_enabled else 1
    factors = " × ".join([str(each)] * depth)
    total = f"{factors} = {each**depth}" if depth > 1 else str(each)
    text = f"in the worst case {total} children work side by side in a conversation"
    return Finding("delegation", True, f"{text}; each agent has as many again in the background")


def _dearer(section: DelegationConfig, models: Models) -> list[Finding]:
    """Workers that no parent is given unless it names another model."""
    worker, parent = (models.prices(models.tier(name)) for name in ("worker", "parent"))
    if section.allow_dearer or not worker.dearer_than(parent):
        return []
    text = (
        "models.worker is dearer than models.parent, so a task that names no cheaper model is an "
        "error: configure a cheaper worker, or set delegation.allow_dearer"
    )
    return [Finding("models.worker", False, text)]


def _money(section: BudgetsConfig, specs: Sequence[ModelSpec]) -> list[Finding]:
    """Budgets that do not hold, or that let nothing through."""
    limits = {key: limit for key, limit in section if limit is not None}
    if not limits:
        return []
    least = {spec: price(spec, 0, OUTPUT_RESERVED) for spec in specs}
    texts = [
        f"{names}: {spec.model} has no input_cost and output_cost; its calls may not be counted"
        for spec, names in _distinct([spec for spec in specs if least[spec] is None])
    ]
    texts += [
        f"budgets.{key} is too small for a single call of {spec.model} ({names})"
        for key, limit in limits.items()
        for spec, names in _distinct([spec for spec in specs if (least[spec] or 0.0) > limit])
    ]
    faults = [Finding("budgets", False, text) for text in texts]
    return faults or [Finding("budgets", True, "every model has a price")]


def _fallbacks(models: Models) -> list[Finding]:
    """That they exist is seen to with the configuration."""
    useless = [
        spec.name for spec in models.specs() if len(models.fallbacks(spec)) < len(spec.fallback)
    ]
    if not useless:
        return []
    text = f"{', '.join(useless)}: a fallback is the model itself, or stands there twice"
    return [Finding("fallback", False, text)]


async def _server(name: str, section: McpConfig, config: Config) -> Finding:
    """Whether an MCP server can be used, and whether anybody may."""
    subject = f"mcp.{name}"
    state = await probe(name, section, PATIENCE)
    if state.health is not Health.UP:
        why = state.why or f"it is not ready within {section.start_timeout + PATIENCE:g} s"
        said = f"; it said: {' / '.join(state.said)}" if state.said else ""
        return Finding(subject, False, f"{why}{said}")
    count = f"it has {len(state.tools)} tools"
    if state.why:
        return Finding(subject, False, f"{count}, but {state.why}")
    if f"{MCP}{name}" not in config.all_toolsets():
        text = f'{count}, but no conversation has them: put "{MCP}{name}" into [tools] toolsets'
        return Finding(subject, False, text)
    if unknown := list(unknown_to_server(config.tools.rules, name, state.tools)):
        return Finding(subject, False, f"{count}, but {'; '.join(unknown)}")
    return Finding(subject, True, count)


async def try_model(model: Model, spec: ModelSpec, names: str) -> Finding:
    subject = f"model of {names}"
    said = [message("user", "Answer with the word OK.")]
    # As a chat asks: streamed, and with a tool. A server may take the one and not the other.
    offered = [function_schema(ThinkTool.name, ThinkTool.description, ThinkTool.parameters)]
    request = Request(spec, said, offered, heard=lambda _: None)
    try:
        async with asyncio.timeout(PATIENCE):
            await model.complete(request)
    except ModelError as error:
        return Finding(subject, False, f"{spec.model}: {error}")
    except TimeoutError:
        return Finding(subject, False, f"{spec.model}: no answer within {PATIENCE:g} s")
    if spec.context_window is None:
        window = f"{DEFAULT_WINDOW:,} tokens is assumed; set its context_window if it is another"
    else:
        window = f"{spec.context_window:,} tokens"
    return Finding(subject, True, f"{spec.model} answers; context window: {window}")


def show(finding: Finding) -> None:
    mark = "warn" if finding.warns else "ok  " if finding.ok else "FAIL"
    text = without_secrets(finding.text)
    print(f"{mark}  {finding.subject}: {text}", file=sys.stdout, flush=True)
