"""What somebody may have meant by a name that is none. Pure."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import islice

LONGEST = 64
"""Characters of a name that are looked at. Names of ours are shorter."""
MOST = 2_000
"""Names that a name is held against."""
ALIKE = 0.7
"""From here on two names are taken for the same one, mistyped: 1 is equal."""


def nearest(name: str, known: Iterable[str], alike: float = ALIKE) -> str | None:
    """The known name that is spelled most like this one, whatever the case; None where none is."""
    given = name[:LONGEST].casefold()
    best: tuple[float, str] | None = None
    matcher = SequenceMatcher(b=given, autojunk=False)
    for each in islice(known, MOST):
        matcher.set_seq1(each[:LONGEST].casefold())
        if matcher.real_quick_ratio() < alike or matcher.quick_ratio() < alike:
            continue
        ratio = matcher.ratio()
        if ratio >= alike and (best is None or ratio > best[0]):
            best = ratio, each
    return best[1] if best is not None else None


def did_you_mean(name: str, known: Iterable[str], form: str = "{}") -> str:
    """A sentence to be set behind another, with the space before it; "" where nothing is alike.
    `form` is how the name is written: "/{}"."""
    found = nearest(name, known)
    return f" Did you mean {form.format(found)}?" if found is not None else ""
