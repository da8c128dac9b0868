"""Requests that grow only at their end, so that a provider's prompt cache has their beginning."""

import json
from collections.abc import Sequence
from itertools import pairwise

from agent.models.base import Request


def assert_grow_at_the_end(requests: Sequence[Request], count: int) -> None:
    """Of one session, in order: so many, each beginning with the one before it, byte for byte."""
    assert len(requests) == count
    for earlier, later in pairwise(requests):
        assert json.dumps(list(later.tools)) == json.dumps(list(earlier.tools))
        kept = json.dumps(list(later.messages[: len(earlier.messages)]))
        assert kept == json.dumps(list(earlier.messages))
        assert len(later.messages) > len(earlier.messages)
