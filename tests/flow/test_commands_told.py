"""What is told of a command beside its call's result has no secrets in it either."""

from pathlib import Path

from storage.store import Store
from tests.flow.approving import rule
from tests.flow.conftest import gateway
from tests.flow.delegating import ANSWER, calls
from tests.support.sandboxes import need_bubblewrap

SECRET = "planted-secret-1234"


async def test_the_end_of_a_command_in_the_background_tells_no_secret(
    store: Store, tmp_path: Path
) -> None:
    need_bubblewrap()
    line = {"command": f"echo key: {SECRET[:7]}'{SECRET[7:]}'", "background": True}
    config = {
        "tools": {
            "toolsets": ["terminal"],
            "workspace": str(tmp_path / "{session}"),
            "rules": [rule("allow", tool="run_command")],
        },
        "models": {"parent": {"model": "demo:x", "api_key": SECRET}},
    }
    rules = [calls("run_command", line, tier="parent", last="^go"), ANSWER]
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("key: [redacted]")
        assert SECRET not in str([request.messages for request in g.model.requests])
