"""deploy/LICENCES.md: under which licence each package is that Bough is installed with, with all
extras, by the packages' own words. `python -m tests.support.supply.licences` writes it."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).parents[3] / "deploy/LICENCES.md"
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|MPL|EPL|CDDL|EUPL)|General Public|Mozilla", re.IGNORECASE)
_CLASSIFIER = "License :: OSI Approved :: "
_SHORT = {
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL",
    "ISC License (ISCL)": "ISC",
    "LGPLv3": "LGPL-3.0-only",
}
HEAD = """\
# Licences

Bough itself is under the [MIT licence](../LICENSE). It is installed with these packages, with all
extras; each stands here with the licence that it names itself. `make licences` writes this page,
`make sbom` lists the same packages with their versions and hashes.

None of them asks that Bough, or what you write with it, be under its own licence. Those marked with
**copyleft** ask it of changes to their own files: who passes on a changed one passes on its source.
Bough uses them unchanged, as libraries that can be exchanged.
"""


def installed() -> dict[str, str]:
    """The licence of each package that this environment has because of Bough."""
    found: dict[str, str] = {}
    waiting = [("bough", frozenset({"mcp", "postgres", "otel"}))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # An extra that is not installed.
        if name != "bough":
            found[name] = licence(package)
        waiting += _needs(package, extras)
    return dict(sorted(found.items()))


def _needs(package: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for line in package.requires or ():
        wanted = Requirement(line)
        marker = wanted.marker
        given = ("", *extras)
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in given):
            yield canonicalize_name(wanted.name), frozenset(wanted.extras)


def licence(package: Distribution) -> str:
    """As short as it says it itself: an SPDX expression, its classifiers, or the first line of what
    it says or of the file that it brings. "not stated" where there is nothing."""
    fields = package.metadata
    for expression in fields.get_all("License-Expression", []):
        return str(expression)
    classified = [
        str(each).removeprefix(_CLASSIFIER)
        for each in fields.get_all("Classifier", [])
        if str(each).startswith(_CLASSIFIER)
    ]
    said = "".join(map(str, fields.get_all("License", []))).strip().partition("\n")[0]
    said = said or _first_line(package)
    names = classified or ([said] if said else [])
    return " AND ".join(_SHORT.get(name, name) for name in names) or "not stated"


def _first_line(package: Distribution) -> str:
    """Of its licence's text."""
    wanted = next((f for f in package.files or () if f.name.startswith("LICENSE")), None)
    return wanted.read_text(encoding="utf-8").strip().partition("\n")[0] if wanted else ""


def page(found: dict[str, str]) -> str:
    lines = [HEAD, "| Package | Licence | |", "|---|---|---|"]
    for name, its in found.items():
        choices = its.split(" OR ")  # of which we choose
        mark = "**copyleft**" if all(COPYLEFT.search(one) for one in choices) else ""
        lines.append(f"| `{name}` | {its} | {mark} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(page(installed()), encoding="utf-8")
