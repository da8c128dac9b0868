"""Bough where litellm, and what only litellm needs, is not installed, as a program:
`python -m tests.support.without_litellm run --config FILE`."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

HIDDEN = {"litellm", "openai", "tiktoken", "tokenizers", "huggingface_hub", "jinja2", "fastuuid"}


class Without(PathFinder):
    """Finds everything but what is hidden, as if those packages had never been there."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in HIDDEN:
            return None
        return super().find_spec(fullname, path, target)


def main() -> int:
    sys.meta_path = [Without if each is PathFinder else each for each in sys.meta_path]
    from gateway.__main__ import main as bough

    return bough()


if __name__ == "__main__":
    sys.exit(main())
