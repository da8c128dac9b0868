"""Models that may be chosen for a conversation, as people read them: /model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agent.models.base import UNKNOWN_PRICES, ModelSpec, price
from agent.models.registry import RANKS, Models, place
from agent.models.spending.budgets import OUTPUT_RESERVED, Pot
from agent.text.formats import dollars
from agent.text.markdown import bounded, escape

LINES = 20
"""Models that are listed."""
NAME = 40
"""Characters of a name."""
MILLION = 1_000_000
TOO_DEAR = (
    "{name} {why}, so only owners, approvers and those in `dear_models` under `[access]` may "
    "choose it. Nothing was changed: ask one of them."
)


def offered(models: Models) -> list[ModelSpec]:
    """What may be chosen: each preset, and each tier that is not another one's model."""
    shown: list[ModelSpec] = []
    seen: list[ModelSpec] = []
    for spec in models.specs():
        same = replace(spec, name="")
        if spec.name in RANKS and same in seen:
            continue
        seen.append(same)
        shown.append(spec)
    return shown


def model_name(name: str) -> str:
    """In Markdown."""
    return f"**{escape(bounded(name, NAME))}**"


def models_text(
    models: Models,
    specs: Sequence[ModelSpec],
    here: ModelSpec,
    chosen: str,
    left: Mapping[Pot, float],
) -> str:
    """`here`: what answers now; `chosen`: the name that was chosen on this branch, if any."""
    lines = [_answers(models, here, chosen)]
    for spec in specs[:LINES]:
        mark = "● " if _alike(spec, here) else "• "
        lines.append(f"{mark}{model_name(spec.name)} · {facts(models, spec)}")
    if len(specs) > LINES:
        lines.append(f"… and {len(specs) - LINES} more; /model NAME chooses one of those, too.")
    return "\n".join([*lines, *money(here, left)])


def _answers(models: Models, here: ModelSpec, chosen: str) -> str:
    if not chosen:
        return f"{model_name(here.name)} answers here. Choose another for this branch:"
    if models.find(chosen) is None:
        gone = f"{model_name(chosen)} was chosen here, and is not configured any more"
        return f"{gone}: {model_name(here.name)} answers."
    return f"{model_name(here.name)} answers here: it was chosen on this branch."


def _alike(spec: ModelSpec, here: ModelSpec) -> bool:
    """A tier that is not configured is the tier whose model it has."""
    if spec.name in RANKS and here.name in RANKS:
        return replace(spec, name="") == replace(here, name="")
    return spec.name == here.name


def facts(models: Models, spec: ModelSpec) -> str:
    """What it is and costs, in Markdown."""
    effort = f" · effort {spec.reasoning_effort}" if spec.reasoning_effort else ""
    prices = models.prices(spec)
    if prices.input is None or prices.output is None:
        cost = "price not known"
    else:
        into, out = dollars(prices.input * MILLION), dollars(prices.output * MILLION)
        cost = f"{into} in, {out} out for a million tokens"
    return escape(f"{bounded(spec.model, 2 * NAME)}{effort} · {cost}")


def money(spec: ModelSpec, left: Mapping[Pot, float]) -> Iterator[str]:
    """What budgets have to say of a model."""
    answer = price(spec, 0, OUTPUT_RESERVED)
    for pot, amount in left.items():
        title = escape(pot.title)
        if answer is not None and answer > amount:
            yield (
                f"⚠️ An answer of it may cost {dollars(answer)}; {dollars(amount)} is left of the "
                f"budget {title}, which opens again at 00:00 UTC. Choose a cheaper one till then."
            )
        elif pot.address or pot.person:
            yield f"Left today of the budget {title}: {dollars(amount)} of {dollars(pot.limit)}."
    if left and answer is None:
        yield "Its price is not configured: budgets stop it only once they are spent."


def too_dear(models: Models, usual: ModelSpec, specs: Sequence[ModelSpec]) -> str:
    """What is said of the first of these models that costs more than the usual one, or of which
    that is not known; "" where none does."""
    own = models.prices(usual)
    for spec in specs:
        prices = models.prices(spec)
        unknown = prices == UNKNOWN_PRICES and own != UNKNOWN_PRICES
        if place(spec) != place(usual) and (unknown or prices.dearer_than(own)):
            why = "has no known price" if unknown else f"costs more than {model_name(usual.name)}"
            return TOO_DEAR.format(name=model_name(spec.name), why=why)
    return ""
