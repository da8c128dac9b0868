"""Text that has not ended, as Markdown that shows well: what is open is closed. Pure."""

import re

from gateway.outbound.live_messages import CURSOR

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_FENCE_BEGINS = re.compile(r" {0,3}(`+|~+)")
"""A whole line. It is never searched for: a run of signs would cost the square of its length."""
_HALF_TARGET = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]{0,2000}\Z")
_HALF_LABEL = re.compile(r"!?\[([^\[\]\n]{0,200})\]?\Z")
_MARKER_AT_END = re.compile(r"(?<!\\)(?:\*{1,3}|_{1,3}|~{1,2})\Z")
_TOKEN = re.compile(r"\\.|`+|\*\*|__|~~|\*|_", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def growing(text: str) -> str:
    """A text that goes on, with the cursor at its end."""
    return _closed(text, f" {CURSOR}")


def ended(text: str) -> str:
    """A text that broke off."""
    return _closed(text, "")


def _closed(text: str, sign: str) -> str:
    fence, begin = _open_fence(text)
    if fence:
        body = text[:begin] + text[begin:].rstrip()
        line = "\n" if "\n" not in text[begin:] else ""
        # A fence that begins to close must not close twice.
        above, _, last = body.rpartition("\n")
        kept = above if len(above) > begin and _FENCE_BEGINS.fullmatch(last) else body
        return f"{kept}{line}{sign}\n{fence}"
    text = text.rstrip()
    text = _HALF_TARGET.sub(r"\1", text)
    text = _HALF_LABEL.sub(r"\1", text)
    text = _MARKER_AT_END.sub("", text).rstrip()
    breaks = [found.end() for found in _BLANK_LINE.finditer(text)]
    return f"{text}{sign}{_closers(text[max([begin, *breaks]) :])}"


def _open_fence(text: str) -> tuple[str, int]:
    """The fence of the code block that is open at the end, and where it begins; else "" and where
    the last one ended."""
    fence, begin = "", 0
    for found in _FENCE.finditer(text):
        mark, rest = found[1], found[2]
        if not fence:
            if mark[0] == "`" and "`" in rest:
                continue
            fence, begin = mark, found.start()
        elif mark.startswith(fence) and not rest.strip():
            fence, begin = "", found.end()
    return fence, begin


def _closers(paragraph: str) -> str:
    """What ends the code, bold and so on that is open at a paragraph's end."""
    code, opened = "", list[str]()
    for found in _TOKEN.finditer(paragraph):
        token = found[0]
        if code or token[0] == "`":
            if not code:
                code = token
            elif token == code:
                code = ""
            continue
        if token[0] == "\\":
            continue
        before = paragraph[found.start() - 1 : found.start()]
        after = paragraph[found.end() : found.end() + 1]
        if opened and opened[-1] == token and before.strip():
            opened.pop()
        elif token not in opened and after.strip() and not (token[0] == "_" and before.isalnum()):
            opened.append(token)
    return code + "".join(reversed(opened))
