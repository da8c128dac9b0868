"""Templates in a branch table's prompts and formats: {field}, and {{ }} for braces. Pure."""

import re
from collections.abc import Mapping

from agent.text.untrusted import quote

FIELDS = ("observed_state", "evidence", "goal", "branch", "condition")
FROM_WORKER = frozenset({"observed_state", "evidence"})
VALUE_LIMIT = 4_000
"""Characters of one value that are filled in."""
OUTPUT_LIMIT = 32_000
"""Characters of a filled template: one may name a field many times."""

_INNER = str.maketrans("“”[]", '""()')
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def fields_in(text: str) -> list[str]:
    """Names in braces, as written, in order; a brace without its partner stands for itself."""
    return [
        token[0] if token[1] is None else token[1]
        for token in _TOKEN.finditer(text)
        if token[0] not in ("{{", "}}")
    ]


def faults_in(text: str) -> list[str]:
    """What is wrong with a template, one message for each field that there is not."""
    known = ", ".join(f"{{{name}}}" for name in FIELDS)
    wrong = dict.fromkeys(name for name in fields_in(text) if name not in FIELDS)
    return [
        f"a single {quote(name)} in a template; write {name * 2} for a brace"
        if name in ("{", "}")
        else f"{quote(f'{{{name}}}')} is not a field; use {known}, or {{{{ and }}}} for braces"
        for name in wrong
    ]


def render(text: str, fields: Mapping[str, str], *, marked: bool = False) -> str:
    """The template with its fields filled in, in one pass: braces in a value stay as they are.

    Values are cut at VALUE_LIMIT, the whole at OUTPUT_LIMIT. A field that is not given stays as
    it is written. `marked`: what a worker saw is told from the template's own words.
    """

    def fill(token: re.Match[str]) -> str:
        if token[0] in ("{{", "}}"):
            return token[0][0]
        value = fields.get(token[1]) if token[1] is not None else None
        if value is None:
            return token[0]
        shown = cut(value, VALUE_LIMIT)
        return said_by_worker(shown) if marked and token[1] in FROM_WORKER else shown

    return cut(_TOKEN.sub(fill, text), OUTPUT_LIMIT)


def said_by_worker(text: str) -> str:
    """A worker's words as such, whatever they are: nothing in them ends the quotation."""
    return f"[worker: “{text.translate(_INNER)}”]"


def cut(text: str, limit: int) -> str:
    """The first `limit` characters; what is cut is said."""
    return text if len(text) <= limit else f"{text[:limit]}… [cut, {len(text)} characters in all]"


def cut_head(text: str, limit: int) -> str:
    """The last `limit` characters; what is cut is said."""
    return text if len(text) <= limit else f"[cut, {len(text)} characters in all] …{text[-limit:]}"
