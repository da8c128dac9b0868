"""Machine-readable API specs: in BOUGH_API_SPECS, or in ../shared/specs beside the project.

Without them the stand-ins work the same and check less.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

_PROJECT = Path(__file__).resolve().parents[2]


def folder() -> Path | None:
    chosen = os.environ.get("BOUGH_API_SPECS")
    place = Path(chosen) if chosen else _PROJECT.parent / "shared" / "specs"
    return place if place.is_dir() else None


@cache
def load(name: str) -> Any | None:
    """A spec by its file name ("telegram_api.json"), parsed; None where it is not there."""
    place = folder()
    if place is None or not (place / name).is_file():
        return None
    return json.loads((place / name).read_text(encoding="utf-8"))
