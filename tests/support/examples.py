"""How many examples a property is tried with."""

from hypothesis import settings


def examples(share: float) -> settings:
    """This share of what others are tried with, which `--hypothesis-profile` says."""
    return settings(max_examples=round(share * settings().max_examples))
