"""Markdown without its marks, for previews: what it says, on a button or in a list. Pure.

It is for people who look for a message they know, so nothing is rendered: marks that stand in pairs
go, and what they stand around stays. A single asterisk or underscore is as likely a sum or a name.
"""

import re

_NESTED = 4
"""How deep marks may stand in each other: **_`x`_**."""
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_LEAD = re.compile(
    r"^[ \t]{0,8}(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)", re.MULTILINE
)
_RULE = re.compile(r"^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$", re.MULTILINE)
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,300})\]"
    r"\((?:[^()\s]|\([^()\s]*\)){0,1000}(?:[ \t]\"[^\"\n]*\")?\)"
)
_MARKS = (
    re.compile(r"(`{1,3})(?!`)([^`\n]+)(?<!`)\1(?!`)"),
    re.compile(r"(\*\*\*|\*\*|~~|\|\|)(?=\S)([^*~|\n]+?)(?<=\S)\1"),
    re.compile(r"(?<!\w)(__|_)(?=[^\s_])([^_\n]+?)(?<=[^\s_])\1(?!\w)"),
    re.compile(r"(?<![\w*])(\*)(?=[^\s*])([^*\n]+?)(?<=[^\s*])\1(?![\w*])"),
)
_ESCAPED = re.compile(r"\\([\\`*_\[\]()#~|>+.!-])")


_ASIDE = 0xF0000
"""Where characters stand, for now, that are to be shown as they are."""
_PUT_ASIDE = re.compile(f"[{chr(_ASIDE)}-{chr(_ASIDE + 127)}]")


def plain(markdown: str) -> str:
    """The words of a text, line by line. Never longer than it."""
    text = _ESCAPED.sub(lambda found: chr(_ASIDE + ord(found[1])), markdown)
    text = _LEAD.sub("", _RULE.sub("", _FENCE.sub("", text)))
    for _ in range(_NESTED):
        bare = _LINK.sub(r"\1", text)
        for marks in _MARKS:
            bare = marks.sub(r"\2", bare)
        if bare == text:
            break
        text = bare
    return _PUT_ASIDE.sub(lambda found: chr(ord(found[0]) - _ASIDE), text)
