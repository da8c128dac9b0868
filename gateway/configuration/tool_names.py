"""Rules of a configuration whose `tool` names nothing: one that was mistyped forbids nothing. Pure.

What an MCP server offers is known only when it runs. So a rule that names a tool of a configured
server is taken, and `bough doctor`, which asks the server, says whether it has that tool.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from agent.settings import McpConfig, ToolRule
from agent.text.suggestion import did_you_mean, nearest
from agent.tools.mcp.names import named

TOOLS = (
    *("think", "clarify", "memory", "schedule", "send_message", "send_file"),
    *("read_file", "list_files", "search_files", "write_file", "edit_file"),
    *("git_status", "git_diff", "git_log"),
    *("run_command", "command_output", "stop_command", "execute_code"),
    *("fetch_url", "web_search"),
)
"""Those of ours that rules are tried on."""
UNRULED = ("delegate_task", "report_outcome", "resolve", "give_verdict")
"""Those of ours that rules are not tried on."""
_SEPARATOR = "__"
"""Between a server's name and its tool's."""


def unknown_tools(rules: Sequence[ToolRule], servers: Mapping[str, McpConfig]) -> Iterator[str]:
    """A line for each rule that is about no tool that there is, with what may have been meant."""
    for number, rule in enumerate(rules, 1):
        known = any(fnmatchcase(name, rule.tool) for name in TOOLS)
        if known or any(matches_server(rule.tool, *each) for each in servers.items()):
            continue
        yield f"tools.rules, rule {number}: tool: {_why(rule.tool, servers)}"


def matches_server(pattern: str, server: str, section: McpConfig) -> bool:
    """Whether a rule can be about a tool of a server: of those that are offered, where the
    configuration lists them."""
    if section.tools is not None:
        return any(fnmatchcase(name, pattern) for name in named(server, section.tools))
    return _may_begin_with(pattern, f"{server}{_SEPARATOR}")


def unknown_to_server(
    rules: Sequence[ToolRule], server: str, offered: Sequence[str]
) -> Iterator[str]:
    """Rules about tools of a running server that it does not have. `offered`: as models know
    them."""
    for number, rule in enumerate(rules, 1):
        if not rule.tool.startswith(f"{server}{_SEPARATOR}"):
            continue
        if not any(fnmatchcase(name, rule.tool) for name in offered):
            meant = did_you_mean(rule.tool, offered)
            yield f"rule {number} of tools.rules is about {rule.tool!r}, which it has not.{meant}"


def _why(tool: str, servers: Mapping[str, McpConfig]) -> str:
    if any(fnmatchcase(name, tool) for name in UNRULED):
        return (
            f"no rule is tried on {tool!r}. What children may do is ruled by the names of their "
            "tools, and how many there are by [delegation]."
        )
    server, separator, _ = tool.partition(_SEPARATOR)
    offered = [name for each in servers.items() for name in named(each[0], each[1].tools or ())]
    if separator and server not in servers:
        meant = did_you_mean(server, servers, f"{{}}{_SEPARATOR}")
        return f"{tool!r}: there is no [mcp.{server}].{meant}"
    meant = did_you_mean(tool, [*TOOLS, *offered]) or _meant_beginning(tool)
    names = ", ".join([*TOOLS, "SERVER__TOOL of an MCP server"])
    return f"{tool!r} is no tool.{meant} Tools are {names}; * and ? stand for any characters."


def _meant_beginning(pattern: str) -> str:
    """Of a pattern, held against as much of each name."""
    plain = pattern.strip("*?")
    names = {name[: len(plain)]: name for name in TOOLS}
    found = nearest(plain, names) if plain else None
    return f" Did you mean {names[found]}?" if found is not None else ""


def _may_begin_with(pattern: str, beginning: str) -> bool:
    """Whether a pattern matches any name that begins so. What is in brackets is taken to match."""
    if "[" in pattern:
        beginning = beginning[: pattern.index("[")]
        pattern = f"{pattern[: pattern.index('[')]}*"
    reached = _past_stars(pattern, {0})
    for letter in beginning:
        stay = {at for at in reached if pattern[at : at + 1] == "*"}
        step = {at + 1 for at in reached - stay if pattern[at : at + 1] in ("?", letter)}
        reached = _past_stars(pattern, stay | step)
    # What is left of the pattern is the name of a tool, which is not empty.
    return any(at < len(pattern) for at in reached)


def _past_stars(pattern: str, reached: set[int]) -> set[int]:
    """With the places behind a star that stands for nothing."""
    found = set(reached)
    for at in range(len(pattern)):
        if at in found and pattern[at] == "*":
            found.add(at + 1)
    return found
