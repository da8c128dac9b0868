"""Buttons that nobody presses for another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Adapter, Button
from adapters.discord import payload
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.render import render as for_discord
from adapters.recording import RecordingAdapter
from adapters.telegram.render import keyboard, label
from adapters.telegram.render import render as for_telegram
from adapters.terminal.adapter import TerminalAdapter
from agent.text.alike import skeleton
from agent.text.untrusted import visible
from gateway.outbound.choices import ALIKE, chosen, offer

LONG = "Transfer the whole amount of the invoice to the account of the supplier in "
BERN, MINSK = f"go: {LONG}Bern, known since 2011", f"go: {LONG}Minsk, first seen today"


class Telegram(RecordingAdapter):
    def label(self, text: str) -> str:
        return label(text)


class Discord(RecordingAdapter):
    def label(self, text: str) -> str:
        return payload.label(text)


PLATFORMS = pytest.mark.parametrize("adapter", [Telegram(), Discord()], ids=["telegram", "discord"])


@PLATFORMS
def test_labels_that_fit_and_differ_stay_as_they_are(adapter: Adapter) -> None:
    made = offer(adapter, ["go: It is there", "Try again", "Stop"])
    assert (made.labels, made.listing) == (("go: It is there", "Try again", "Stop"), "")


@PLATFORMS
def test_what_a_button_cannot_show_stands_in_the_text_under_its_number(adapter: Adapter) -> None:
    made = offer(adapter, [BERN, MINSK, "Stop"])
    assert [one[:12] for one in made.labels] == ["1. go: Trans", "2. go: Trans", "3. Stop"]
    assert f"**1.** `{BERN}`\n**2.** `{MINSK}`\n**3.** `Stop`" in made.listing


def test_a_telegram_label_is_cut_before_a_discord_label() -> None:
    text = "x" * 70
    assert offer(Discord(), [text]).labels == (text,)
    assert offer(Telegram(), [text]).labels == (f"1. {'x' * 60}…",)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("Pay Acme", "Pay Acme", "(one of 2 that read the same: no. 2)"),
        ("Pay Acme", "Pay  Acme\u200b", "(one of 2 that read the same: no. 2)"),
        ("Pay Acme", "\u202ePay Acme", "(one of 2 that read the same: no. 2)"),
        ("Pay Acme", "Pay Аcme", "(with CYRILLIC CAPITAL LETTER A)"),
        ("Pay Acme", "pay ACME", "`pay ACME`"),
        ("Pay Acme", "Рay Асme", "CYRILLIC SMALL LETTER ES"),
        ("Pay 100", "Pay l0O", "`Pay l0O`"),
        ("Pay Acme", "Ｐａｙ Acme", "FULLWIDTH LATIN CAPITAL LETTER P"),
        ("Pay Acme", "Pay Acm\u0435\u0301", "CYRILLIC SMALL LETTER IE"),
        ("modern", "modem", "`modem`"),
    ],
)
@PLATFORMS
def test_choices_that_look_the_same_are_told_apart(
    adapter: Adapter, one: str, other: str, told: str
) -> None:
    made = offer(adapter, [one, other])
    assert [label[:3] for label in made.labels] == ["1. ", "2. "]
    assert ALIKE in made.listing
    assert told in made.listing


def test_a_terminal_has_numbers_of_its_own_and_shows_labels_whole() -> None:
    made = offer(TerminalAdapter(), [BERN, MINSK, "Stop"])
    assert (made.labels, made.listing) == ((BERN, MINSK, "Stop"), "")
    alike = offer(TerminalAdapter(), ["Pay Acme", "Pay Аcme", "Stop"])
    assert alike.labels == ("Pay Acme", "Pay Аcme (with CYRILLIC CAPITAL LETTER A)", "Stop")
    assert alike.listing == ""


def test_a_choice_of_nothing_is_listed_as_that() -> None:
    made = offer(Telegram(), ["\u200b\u3164", "Stop"])
    assert "(nothing that can be seen)" in made.listing


def test_what_was_chosen_is_told_in_full_and_by_number_where_others_look_like_it() -> None:
    assert chosen([BERN, MINSK], 1) == MINSK
    assert chosen(["Pay Acme", "Pay Аcme"], 0) == "1. Pay Acme".replace(".", "\\.")
    assert "with CYRILLIC" in chosen(["Pay Acme", "Pay Аcme"], 1)


def test_an_adapters_own_labels_are_those_it_sends() -> None:
    text = "😀" * 50
    markup = keyboard([Button(text, "t")])
    assert markup is not None
    assert markup.inline_keyboard[0][0].text == label(text)
    assert DiscordAdapter.label.__doc__ is None


TEXTS = st.text(min_size=1, max_size=30) | st.sampled_from(
    [
        BERN,
        MINSK,
        "Stop",
        "`" * 7,
        "x" * 900,
        "@all",
        "https://evil.example",
        "\u202e",
        "a b",
        "😀" * 300,
    ]
)


@given(st.lists(TEXTS, min_size=1, max_size=12))
@PLATFORMS
def test_of_any_choices_none_is_lost_and_no_two_buttons_are_the_same(
    adapter: Adapter, labels: list[str]
) -> None:
    made = offer(adapter, labels)
    names = [" ".join(visible(one).split()) for one in labels]
    assert len(set(made.labels)) == len(labels)
    assert all(adapter.label(one) == one for one in made.labels)
    if not made.listing:
        assert list(made.labels) == names
        assert len({skeleton(one) for one in names}) == len(labels)
        return
    for number, one in enumerate(made.labels, 1):
        assert one.startswith(f"{number}. ") or one == f"{number}."
    telegram = "".join(body["text"].replace("\n", "") for body in for_telegram(made.listing))
    for name in filter(None, names):
        assert name.replace("`", "ʼ") in telegram
    for body in for_telegram(made.listing):
        assert {entity["type"] for entity in body["entities"]} <= {"bold", "code"}
    for body in for_discord(made.listing):
        for line in body["text"].splitlines():
            assert line.count("`") in (0, 2), "code that does not end on its line"
