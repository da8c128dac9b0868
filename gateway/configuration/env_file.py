"""Files of KEY=VALUE lines, read as systemd reads an EnvironmentFile: so a command that is run by
hand has the tokens and keys of the service.

A value may be quoted: within '…' every character is itself, within "…" a backslash stands before
", \\, $ and `; both may span lines. Without quotes a backslash makes the next character plain, and
one at the end of a line joins the next line to it. Lines that begin with # or ;, and lines without
a =, say nothing. No value is ever shown: it may be a secret.
"""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path

from gateway.configuration.faults import unreadable
from gateway.errors import ConfigError

_PART = r"""'[^']*(?:'|\Z)|"(?:\\.|[^"\\])*(?:"|\Z)"""
_ASSIGNMENT = re.compile(
    rf"""[ \t\r\n]*(?:
        [\#;][^\n]*                                 # a comment
        | (?P<name>[^=\n]*)(?:=
            (?P<quoted>(?:[ \t\r]*(?:{_PART}))*)
            [ \t\r]*(?P<plain>(?:\\.|[^\n\\])*)
        )?
    )(?:\n|\\?\Z)""",
    re.DOTALL | re.VERBOSE,
)
_QUOTED = re.compile(_PART, re.DOTALL)
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([\n"\\`$])')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def take_over(files: Sequence[Path], environ: MutableMapping[str, str]) -> list[str]:
    """Put the variables of each file into `environ`, over what stands there, as systemd does; of
    several files the last one wins. For people: the lines that were left out, without their text.

    ConfigError where a file cannot be read; nothing was put anywhere then.
    """
    found: dict[str, str] = {}
    left_out = []
    for file in files:
        for line, name, value in _assignments(_text_of(file)):
            if _NAME.fullmatch(name) is None or "\0" in value:
                left_out.append(f"{file}, line {line}: no variable can be set so; it is left out")
            else:
                found[name] = value
    environ.update(found)
    return left_out


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"There is no file {file}. Name another with --env-file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(unreadable(file, error)) from None


def _assignments(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and value of each; the line is where the name stands, from 1."""
    at = 0
    while at < len(text):
        found = _ASSIGNMENT.match(text, at)
        assert found is not None, "every text begins with a line, if with an empty one"
        if found["plain"] is not None:
            line = text.count("\n", 0, found.start("name")) + 1
            yield line, found["name"].rstrip(), _value(found["quoted"], found["plain"])
        at = found.end()


def _value(quoted: str, plain: str) -> str:
    parts = [_unquoted(part) for part in _QUOTED.findall(quoted)]
    return "".join((*parts, _plain(plain)))


def _unquoted(part: str) -> str:
    quote, rest = part[0], part[1:]
    inside = rest.removesuffix(quote)
    return inside if quote == "'" else _ESCAPED_IN_QUOTES.sub(_kept, inside)


def _plain(text: str) -> str:
    """Spaces at the end do not count, unless a backslash stands before them."""
    ends = re.search(r"(?:\\.|[^ \t\r\\])(?=[ \t\r]*\Z)", text, re.DOTALL)
    return _ESCAPED.sub(_kept, text[: ends.end()] if ends else "")


def _kept(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]
