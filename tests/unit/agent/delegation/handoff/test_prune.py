"""A handoff never takes more than its budget, and what is cut is said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.delegation.handoff.model import (
    HandedCommand,
    Hydrated,
    HydratedFile,
    Probe,
    cache,
    hydrate,
)
from agent.delegation.handoff.prune import DEFAULT_WINDOW, MIN_BUDGET, budget, prune, tokens
from agent.delegation.handoff.render import commands_block, first_message, history
from agent.text.sizing import size
from storage.records.entries import Json
from tests.support.small_handoffs import STATE, has, parsed

bits = st.text(max_size=300) | st.builds(
    lambda line, count: line * count, st.text(min_size=1, max_size=40), st.integers(1, 200)
)
names = st.text(min_size=1, max_size=30)
commands = st.builds(HandedCommand, names, st.none() | st.integers(-1, 255), bits)
files = st.builds(HydratedFile, names, bits, st.just(STATE))
hydrateds = st.builds(
    Hydrated,
    files=st.lists(files, max_size=6, unique_by=lambda file: file.path).map(tuple),
    commands=st.lists(commands, max_size=6).map(tuple),
    probes=st.lists(st.builds(Probe, names, bits), max_size=6).map(tuple),
    dead_ends=st.lists(bits.filter(str.strip), max_size=6).map(tuple),
    cuts=st.lists(st.from_regex(r"[a-z. ]*[a-z]", fullmatch=True), max_size=3).map(tuple),
)


def shown(hydrated: Hydrated) -> tuple[str, str]:
    """What a child is given, in both forms."""
    opening = first_message(hydrated)
    calls = json.dumps(history(hydrated), ensure_ascii=False) if hydrated.commands else ""
    return opening + commands_block(hydrated), opening + calls


@given(hydrateds, st.integers(0, 3_000))
def test_what_is_shown_never_exceeds_the_budget(hydrated: Hydrated, limit: int) -> None:
    pruned = prune(hydrated, limit)
    assert tokens(pruned) <= max(limit, MIN_BUDGET)
    assert all(size(text) <= max(limit, MIN_BUDGET) * 4 for text in shown(pruned))


@given(hydrateds, st.integers(2_000, 6_000))
def test_nothing_is_lost_without_being_stated(hydrated: Hydrated, limit: int) -> None:
    pruned = prune(hydrated, limit)
    if tokens(hydrated) <= limit:
        assert pruned is hydrated
        return
    lost = {
        "file": set(hydrated.files) - set(pruned.files),
        "commands": set(hydrated.commands) - set(pruned.commands),
        "results": set(hydrated.probes) - set(pruned.probes),
        "dead ends": set(hydrated.dead_ends) - set(pruned.dead_ends),
    }
    said = " ".join(cut for cut in pruned.cuts if cut not in hydrated.cuts)
    for kind, items in lost.items():
        named = kind in said or (kind == "file" and "only" in said)
        assert named or not items or "not listed here" in said
    assert all(cut in first_message(pruned).replace("\n  ", "\n") for cut in pruned.cuts)
    for file in pruned.files:
        whole = next(given for given in hydrated.files if given.path == file.path)
        assert file == whole or (file.state is None and "only" in file.note)
        assert whole.text.startswith(file.text)
    assert set(cache(pruned).items()) <= set(cache(hydrated).items())


@given(hydrateds, st.integers(0, 3_000))
def test_pruning_again_changes_nothing(hydrated: Hydrated, limit: int) -> None:
    pruned = prune(hydrated, limit)
    assert prune(pruned, limit) == pruned


def file_of(path: str, characters: int) -> HydratedFile:
    line = "x" * 79 + "\n"
    return HydratedFile(path, (line * (characters // 80 + 1))[:characters], STATE)


def test_files_are_whole_where_possible_and_the_others_cut_at_a_line() -> None:
    hydrated = Hydrated((file_of("big", 100_000), file_of("a", 800), file_of("b", 800)))
    big, a, b = prune(hydrated, 2_000).files
    assert (a, b) == hydrated.files[1:]
    assert big.text.endswith("\n")
    assert big.note == f"only lines 1-{len(big.text) // 80} of 1,250"
    assert prune(hydrated, 2_000).cuts == (f"'big': {big.note}",)
    assert f'note="{big.note}"' in first_message(prune(hydrated, 2_000))
    assert len(big.text) > 4_000


def test_a_file_of_one_line_is_cut_within_it() -> None:
    pruned = prune(Hydrated((HydratedFile("a", "é" * 90_000, STATE),)), 1_000)
    assert pruned.files[0].note.startswith("only the first 1,")
    assert "of 90,000 characters" in pruned.files[0].note
    assert cache(pruned) == {}


def test_dead_ends_and_probes_outlive_commands_and_commands_outlive_files() -> None:
    hydrated = Hydrated(
        files=(file_of("a", 9_000),),
        commands=tuple(HandedCommand(f"c{n}", 0, "out " * 60) for n in range(30)),
        probes=(Probe("p", "r" * 200),),
        dead_ends=("d" * 200,),
    )
    pruned = prune(hydrated, 1_000)
    assert (pruned.dead_ends, pruned.probes) == (hydrated.dead_ends, hydrated.probes)
    assert pruned.commands == hydrated.commands[-len(pruned.commands) :]
    assert 1 < len(pruned.commands) < 30
    assert sum(len(file.text) for file in pruned.files) < 300
    assert pruned.cuts[0].startswith("commands dropped: ")
    assert pruned.cuts[0].endswith(f" and {30 - len(pruned.commands) - 3} more")


def test_files_for_which_there_is_no_room_are_named() -> None:
    hydrated = Hydrated(
        files=(file_of("a", 9_000), file_of("b", 9_000)),
        dead_ends=tuple(f"{n} {'d' * 400}" for n in range(30)),
    )
    pruned = prune(hydrated, 1_000)
    assert pruned.files == ()
    assert "files dropped: 'a', 'b'" in pruned.cuts


def test_of_a_long_output_the_end_is_kept() -> None:
    output = "\n".join(f"line {n}" for n in range(10_000))
    pruned = prune(Hydrated(commands=(HandedCommand("pytest", 1, output),)), 1_000)
    [command] = pruned.commands
    assert command.tail.startswith("[cut, 98,889 characters in all] …line ")
    assert command.tail.endswith("line 9999")
    assert pruned.cuts == ("of the commands, 'pytest' is cut",)


def test_one_dead_end_leaves_room_for_the_rest() -> None:
    hydrated = Hydrated(
        files=(file_of("a", 800),),
        probes=(Probe("p", "r" * 50_000),),
        dead_ends=("d" * 50_000, "short"),
    )
    pruned = prune(hydrated, 2_000)
    assert pruned.dead_ends[0].endswith("… [cut, 50,000 characters in all]")
    assert pruned.dead_ends[1] == "short"
    assert pruned.probes[0].result.startswith("rrr")
    assert pruned.files == hydrated.files
    assert len(pruned.cuts) == 2


def test_a_command_too_long_to_be_told_is_dropped_not_changed() -> None:
    pruned = prune(Hydrated(commands=(HandedCommand("x" * 90_000, 0, "ok"),)), 1_000)
    assert pruned.commands == ()
    assert pruned.cuts[0].startswith("commands dropped: 'xxx")


@pytest.mark.parametrize(
    "given",
    [
        {"dead_ends": ["x" * 10_000_000]},
        {"dead_ends": ["dead end"] * 500_000},
        {"probe_results": {f"probe {n}": "hit" for n in range(200_000)}},
        {"probe_results": {"p" * 10_000_000: "hit"}},
        {"ran_commands": [{"cmd": "make", "rc": 2, "tail": "\x1b[31m" * 2_000_000}]},
        {"ran_commands": ["y" * 10_000_000, *(["ls"] * 100_000)]},
        {"read_files": [{"path": "a", "content": "line\n" * 2_000_000}]},
        {"read_files": [f"{'folder/' * 40}{n}" for n in range(35_000)]},
    ],
)
def test_ten_megabytes_are_a_stated_pruning(given: Json) -> None:
    pruned = prune(hydrate(parsed(**given), has()), budget(None))
    assert tokens(pruned) <= budget(None)
    assert 0 < sum(map(len, pruned.cuts)) < 10_000


def test_the_budget_is_a_share_of_the_window() -> None:
    assert budget(200_000) == 50_000
    assert budget(None) == DEFAULT_WINDOW // 4
    assert budget(10_000, 0.5) == 5_000
