"""litellm's list of prices and context windows, read from its file: litellm itself takes seconds
to import, and what a model is offered must be the same before and after."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.models.base import UNKNOWN_PRICES, Prices
from agent.models.usage import dollars

_FILE = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True, slots=True)
class Listed:
    prices: Prices
    window: int | None
    """Tokens that a request may have."""


def listed_models(models: Iterable[str]) -> dict[str, Listed]:
    """What is listed of models, by the name they are configured with. Blocks."""
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
    listed = {model: _listed(known, model) for model in wanted}
    return {model: each for model, each in listed.items() if each != Listed(UNKNOWN_PRICES, None)}


def _listed(known: Mapping[str, Any], model: str) -> Listed:
    """Models are listed as `provider/model`, or without a provider that the entry names."""
    provider, slash, rest = model.partition("/")
    entry = known.get(model)
    if entry is None and slash:
        entry = known.get(rest)
        if entry is not None and not str(entry.get("litellm_provider")).startswith(provider):
            entry = None
    if entry is None:
        return Listed(UNKNOWN_PRICES, None)
    prices = Prices(
        dollars(entry.get("input_cost_per_token")), dollars(entry.get("output_cost_per_token"))
    )
    window = entry.get("max_input_tokens")
    return Listed(prices, window if isinstance(window, int) and window > 0 else None)
