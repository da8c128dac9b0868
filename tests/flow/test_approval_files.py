"""Rules about files hold however a model writes their paths."""

from pathlib import Path

import pytest

from storage.store import Store
from tests.flow.approving import rule
from tests.flow.conftest import gateway
from tests.flow.delegating import ANSWER, calls


@pytest.mark.parametrize("path", ["keys/a", "./keys/a", "keys//a", ".///keys/./a", "{root}/keys/a"])
async def test_a_rule_about_a_folder_holds_for_every_way_to_write_it(
    store: Store, tmp_path: Path, path: str
) -> None:
    arguments = {"path": path.format(root=tmp_path), "content": "mine"}
    config = {
        "tools": {
            "toolsets": ["file"],
            "workspace": str(tmp_path),
            "rules": [rule("deny", '"path": "keys/', tool="write_file")],
        }
    }
    rules = [calls("write_file", arguments, tier="parent", last="^go"), ANSWER]
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("not allowed here: rule 1")
        assert not (tmp_path / "keys").exists()
