"""Under which names models know the tools of a server. Pure.

Every provider takes letters, digits, `_` and `-`, at most 64 of them. A server's names are its own:
what does not fit is cut and marked with a hash of the whole, so the same tool has the same name
whatever else the server lists, today and after a restart.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

LONGEST = 64
_SEPARATOR = "__"
_MARK = 8
_UNFIT = re.compile("[^A-Za-z0-9_-]")


def named(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The server's name of each tool by the model's. Of two that are one to a model, the one whose
    name fits stays, else the first."""
    every = list(dict.fromkeys(tool for tool in tools if tool))
    found: dict[str, str] = {}
    for tool in sorted(every, key=lambda tool: model_name(server, tool) != _plain(server, tool)):
        found.setdefault(model_name(server, tool), tool)
    order = {tool: place for place, tool in enumerate(every)}
    return dict(sorted(found.items(), key=lambda pair: order[pair[1]]))


def model_name(server: str, tool: str) -> str:
    plain = _plain(server, tool)
    if len(plain) <= LONGEST and not _UNFIT.search(tool):
        return plain
    mark = sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{_UNFIT.sub('_', plain)[: LONGEST - _MARK - 1]}_{mark}"


def _plain(server: str, tool: str) -> str:
    return f"{server}{_SEPARATOR}{tool}"
