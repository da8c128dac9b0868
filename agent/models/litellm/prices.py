"""litellm's list of prices, read from its file: litellm itself takes seconds to import, and what a
model is offered must be the same before and after."""

import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.models.base import UNKNOWN_PRICES, Prices
from agent.models.usage import dollars

_FILE = "model_prices_and_context_window_backup.json"


def listed_prices(models: Iterable[str]) -> dict[str, Prices]:
    """The prices of those that are listed, by the name they are configured with. Blocks."""
    wanted = set(models)
    if not wanted:
        return {}
    found = find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    try:
        known: Mapping[str, Any] = json.loads(Path(found.origin).with_name(_FILE).read_bytes())
    except (OSError, ValueError):
        return {}  # prices are not known then, as for models that are not listed
    prices = {model: _prices(known, model) for model in wanted}
    return {model: each for model, each in prices.items() if each != UNKNOWN_PRICES}


def _prices(known: Mapping[str, Any], model: str) -> Prices:
    """Models are listed as `provider/model`, or without a provider that the entry names."""
    provider, slash, rest = model.partition("/")
    entry = known.get(model)
    if entry is None and slash:
        entry = known.get(rest)
        if entry is not None and not str(entry.get("litellm_provider")).startswith(provider):
            entry = None
    if entry is None:
        return UNKNOWN_PRICES
    return Prices(
        dollars(entry.get("input_cost_per_token")), dollars(entry.get("output_cost_per_token"))
    )
