"""The demo model: what answers while no model is configured, and what `bough demo` shows.

It follows the rules in demo.yaml. The prices are invented, in the proportions of real tiers.
"""

from pathlib import Path

from agent.models.base import ModelSpec
from agent.models.scripted import ScriptedModel

DEMO = "demo"
RULES = Path(__file__).with_name("demo.yaml")
PRICES = {"parent": (3e-6, 15e-6), "overseer": (1e-6, 5e-6), "worker": (1e-7, 4e-7)}
"""Tier → dollars for an input token, an output token."""


def demo_model() -> ScriptedModel:
    return ScriptedModel.load(RULES)


def demo_specs() -> dict[str, ModelSpec]:
    return {
        tier: ModelSpec(name=tier, model=DEMO, input_cost=paid_in, output_cost=paid_out)
        for tier, (paid_in, paid_out) in PRICES.items()
    }
