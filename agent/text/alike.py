"""Texts that people take for each other. Pure."""

import re
import unicodedata

from agent.text.untrusted import visible

_LOOKS = {
    "a": "аα",
    "b": "вβƅ",
    "c": "сϲ",
    "d": "ԁ",
    "e": "еєε",
    "g": "ɡց",
    "h": "һнη",
    "j": "ј",
    "k": "кκ",
    "l": "i1|!ıɩιіǀ∣",
    "m": "мμ",
    "n": "пո",
    "o": "0оοօσ",
    "p": "рρ",
    "q": "ԛ",
    "s": "ѕ",
    "t": "тτ",
    "u": "υսц",
    "v": "ѵν",
    "w": "ԝшω",
    "x": "хχ",
    "y": "уγү",
    "z": "ζ",
    "3": "з",
}
"""Latin letters, and others that look like them: small ones, or their capitals (Н, Β), which stand
here in lower case."""
_TABLE = str.maketrans({other: letter for letter, others in _LOOKS.items() for other in others})
_BARELY_SEEN = re.compile("[\\s\u0300-\u036f\u200c\u200d\u2800\ufe00-\ufe0f.,:;'\"`´’‘ʼ_●○•-]+")
"""Spaces, accents, small marks and our own: nobody sees on a button whether they are there."""


def skeleton(text: str) -> str:
    """The same for texts that are easily taken for each other, like "PayPal" and "Рaypa1", whatever
    their case. Not for people to read."""
    folded = unicodedata.normalize("NFKD", visible(text)).casefold()
    bare = _BARELY_SEEN.sub("", folded).translate(_TABLE)
    return bare.replace("rn", "m").replace("vv", "w")
