"""What of a configuration that is read anew holds at once."""

from typing import Any

import pytest

from adapters.platforms import same_bot
from gateway.configuration.config import Config, checked
from gateway.configuration.current import Current
from gateway.configuration.takeover import objection, taken_over

MODELS = {"parent": {"model": "openai/a", "api_key": "k"}, "presets": {"cheap": {"model": "demo"}}}
BASE: dict[str, Any] = {"models": MODELS, "tools": {"toolsets": ["file"]}}


def config(**sections: Any) -> Config:
    return checked(BASE | sections)


def test_nothing_changes_where_nothing_has() -> None:
    same, waiting = taken_over(config(), config())
    assert (same, waiting) == (config(), [])


def test_what_parts_look_at_each_time_holds_at_once() -> None:
    given = config(
        access={"allow": ["telegram:1"]},
        limits={"turns_per_minute": 3},
        budgets={"day": 2.0},
        escalation={"timeout": "1h"},
        session={"busy": "queue", "stream": False, "max_iterations": 7},
        server={"drain": "5s"},
        log={"level": "error", "format": "json"},
        tools={
            "toolsets": ["file"],
            "approvers": ["telegram:9"],
            "rules": [{"tool": "*", "decision": "deny"}],
        },
        agent={"instructions": "Be brief."},
        chats={"telegram:5": {"busy": "steer"}},
        retention={"messages": "90d", "rows": "14d"},
    )
    assert taken_over(config(), given) == (given, [])


def test_what_was_used_at_the_start_waits_for_the_next_and_is_named() -> None:
    given = config(
        storage={"url": "sqlite:///other.db"},
        telegram={"token": "123:another"},
        models=MODELS | {"parent": {"model": "openai/b", "api_key": "other"}},
        session={"summary_model": "cheap", "busy": "queue"},
        otel={"endpoint": "http://localhost:4318"},
        mcp={"docs": {"command": "docs"}},
    )
    holds, waiting = taken_over(config(), given)
    assert waiting == [
        "mcp.docs",
        "models.parent.api_key",
        "models.parent.model",
        "otel.endpoint",
        "session.summary_model",
        "storage.url",
        "telegram",
    ]
    assert holds == config(session={"busy": "queue"})


def test_a_conversation_gets_models_and_toolsets_that_are_there() -> None:
    models = MODELS | {"presets": {"cheap": {"model": "demo"}, "new": {"model": "demo"}}}
    before = config(chats={"telegram:1": {"toolsets": ["file", "web"], "model": "cheap"}})
    chat = {"toolsets": ["file", "terminal"], "model": "new", "busy": "queue"}
    holds, waiting = taken_over(before, config(models=models, chats={"telegram:1": chat}))
    kept = holds.chats["telegram:1"]
    assert (kept.toolsets, kept.model, kept.busy) == (("file",), "cheap", "queue")
    assert waiting == [
        'chats."telegram:1".model',
        'chats."telegram:1".toolsets',
        "models.presets.new",
    ]


def test_a_part_is_made_once_for_each_value() -> None:
    made = []

    def negative(value: int) -> int:
        made.append(value)
        return -value

    live = Current(1)
    part = live.part(negative)
    assert (part(), part(), made) == (-1, -1, [1])
    live.replace(2)
    assert (part(), part(), made) == (-2, -2, [1, 2])


@pytest.mark.parametrize(
    ("before", "given", "same"),
    [
        ("MTIz.Gabc.first", "MTIz.Gxyz.second", True),
        ("MTIz.Gabc.first", "NDU2.Gabc.first", False),
        ("plain-token", "another", True),  # of what has no parts nobody knows whose it is
    ],
)
def test_a_renewed_token_is_the_same_bots(before: str, given: str, *, same: bool) -> None:
    one, other = (config(discord={"token": token}) for token in (before, given))
    assert same_bot(one, other) is same
    assert same_bot(one, config())


def test_another_password_is_not_another_database() -> None:
    def at(url: str) -> Config:
        return config(storage={"url": url})

    before = at("postgresql://bough:old@db:5432/bough?sslmode=require")
    assert objection(before, at("postgresql://bough:new@db/bough")) == ""
    for other in ("postgresql://bough:old@db2/bough", "sqlite:///bough.db", "postgresql://[x/b"):
        assert "another database" in objection(before, at(other))
