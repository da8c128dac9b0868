"""Secrets in text, found by their looks, or because they are known.

Better a word too much than a key too few: what looks like a secret is taken out. Every pattern is
bounded, so that a text of any length is searched in one go.
"""

import base64
import json
import re
from collections.abc import Callable, Collection, Iterator
from html import escape
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"
SHORTEST_SECRET = 6
"""Characters. Shorter ones are part of everything that anybody writes."""
_WITHIN_WORDS = 8
"""Characters from which on a secret is found within a word too."""

_NAMES = (
    "api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|"
    "auth[_-]?token|access[_-]?token|refresh[_-]?token|bot[_-]?token|token|secret|"
    "passwords?|passwd|passphrase"
)
_LOOKS = re.compile(
    "|".join(
        (
            # A private key, also one whose end was cut off.
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?"
            r"(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)",
            # What providers hand out: it begins with their sign.
            r"(?<![\w-])(?:sk|pk|rk|gsk|xai|hf|npm|r8|pypi|dop_v1|shpat|glpat)[-_][\w-]{16,400}",
            r"(?<!\w)gh[a-z]_\w{20,300}",
            r"(?<!\w)github_pat_\w{20,300}",
            r"(?<!\w)xox[a-z]-[\w-]{10,300}",
            r"(?<!\w)(?:AKIA|ASIA)[0-9A-Z]{16}(?!\w)",
            r"(?<!\w)AIza[\w-]{35}",
            # Telegram's and Discord's bot tokens, JSON web tokens.
            r"(?<!\d)\d{6,12}:[\w-]{30,60}",
            r"(?<![\w-])[\w-]{23,30}\.[\w-]{6}\.[\w-]{27,60}",
            r"(?<![\w-])eyJ[\w-]{8,2000}\.[\w-]{8,4000}(?:\.[\w-]{1,2000})?",
        )
    ),
    re.DOTALL,
)
_AFTER_ITS_NAME = re.compile(
    r"(?P<before>"
    # Authorization headers, and values with a telling name, in JSON within JSON too.
    r"\b(?:bearer|basic)\s{1,4}(?=[a-z.~+/=_-]{0,200}\d)(?=[\w.~+/=-]{12})|"
    # Any value of such a header that has a digit, and keys in URLs.
    r"\b(?:proxy-)?authorization\\{0,8}[\"']?\s{0,4}[:=]\s{0,4}\\{0,8}[\"']?(?:\w{1,20}\s{1,4})?"
    r"(?=[^\s\"']{0,200}\d)(?=[^\s\"']{12})|"
    r"[?&](?:key|sig|signature|auth|code)=(?=[^\s\"'&]{6})|"
    rf"(?:{_NAMES})\\{{0,8}}[\"']?\s{{0,4}}[:=]\s{{0,4}}\\{{0,8}}[\"']?(?=[^\s\"']{{6}})"
    r")[^\s\"'\\,;&<>]{1,4000}",
    re.IGNORECASE,
)
_IN_URL = re.compile(
    r"(?P<before>://(?:[^\s/:@\"']{0,200}:(?=[^\s/@\"']{1,200}@)|(?=[^\s/:@\"']{20,200}@)))"
    r"[^\s/@\"']{1,200}(?=@)"
)


def known_redactor(
    secrets: Collection[str], shortest: int = SHORTEST_SECRET
) -> Callable[[str], str]:
    """What replaces these secrets in a text, those of at least `shortest` characters."""
    known = {form for each in secrets if len(each) >= shortest for form in _forms(each)}
    if not known:
        return str
    longest_first = sorted(known, key=len, reverse=True)
    # Libraries write some of what they show in small letters.
    exact = re.compile("|".join(map(_exactly, longest_first)), re.IGNORECASE)
    small = [one.lower() for one in known]

    def redact(text: str) -> str:
        # Most texts have none of them, which is seen much sooner so.
        lowered = text.lower()
        return exact.sub(REDACTED, text) if any(one in lowered for one in small) else text

    return redact


def redactor(secrets: Collection[str]) -> Callable[[str], str]:
    """What replaces every secret in a text: the known ones, and what looks like one."""
    without_known = known_redactor(secrets)

    def redact(text: str) -> str:
        text = _LOOKS.sub(REDACTED, without_known(text))
        for pattern in (_IN_URL, _AFTER_ITS_NAME):
            text = pattern.sub(rf"\g<before>{REDACTED}", text)
        return text

    return redact


def _exactly(form: str) -> str:
    pattern = re.escape(form)
    return pattern if len(form) >= _WITHIN_WORDS else rf"(?<![^\W_]){pattern}(?![^\W_])"


def _forms(secret: str) -> Iterator[str]:
    """How it may be written: as it is, in JSON, and in JSON within JSON, in Python's own notation,
    in a page, in a URL, in a header."""
    yield from (secret, escape(secret), repr(secret)[1:-1])
    for json_text in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield from (json_text, json.dumps(json_text)[1:-1])
    raw = secret.encode("utf-8", "replace")
    yield repr(raw)[2:-1]
    yield from (quote(raw), quote(raw, safe=""), quote_plus(raw))
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        yield encoded.decode().rstrip("=")
