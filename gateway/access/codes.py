"""Codes that people read to each other: made at random, kept as a digest, compared in constant
time."""

import hashlib
import hmac
import re
import secrets

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without 0 and O, 1 and I: they are taken for each other."""
LENGTH = 8
_PARTED = "[-\u2010-\u2015\u2212 ]"
"""What stands between the halves: a telephone may make another dash of it, people a space."""
CODE = rf"[{ALPHABET}]{{4}}{_PARTED}?[{ALPHABET}]{{4}}"
"""The pattern of a code, however it is written; letters of either case."""
_SHAPE = re.compile(CODE, re.IGNORECASE | re.ASCII)


def new_code() -> str:
    """As people see it: "ABCD-EFGH", one of 2 ** 40."""
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return f"{drawn[:4]}-{drawn[4:]}"


def code_in(text: str) -> str | None:
    """The code that a text is, however it is written; None where it is none."""
    text = text.strip()
    return (text[:4] + text[-4:]).upper() if _SHAPE.fullmatch(text) else None


def sealed(code: str) -> tuple[str, str]:
    """A salt, and the digest of a code with it."""
    salt = secrets.token_hex(16)
    return salt, _digest(salt, code)


def is_code(code: str, salt: str, digest: str) -> bool:
    """Whether a code is the one of a digest; never for a digest that is void ("")."""
    return hmac.compare_digest(_digest(salt, code), digest)


def _digest(salt: str, code: str) -> str:
    plain = code.replace("-", "").upper()
    return hmac.new(salt.encode(), plain.encode(), hashlib.sha256).hexdigest()
