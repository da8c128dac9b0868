"""Updates whose strings no database would take."""

from dataclasses import asdict

import pytest

from adapters.events import Conversation, File, Message, Press, User, cleaned
from storage.json_text import dumps


def said(odd: str) -> Message:
    return Message(
        key=f"telegram:{odd}:7",
        conversation=Conversation("telegram", odd, odd),
        user=User("telegram", odd, odd),
        text=odd,
        message_id=odd,
        private=True,
        quoted=odd,
        attachments=(odd,),
        handle=odd,
        reply_to=odd,
        files=(File(odd, odd, 3),),
    )


def pressed(odd: str) -> Press:
    return Press(odd, Conversation("telegram", odd), User("telegram", odd, odd), odd, odd, odd)


@pytest.mark.parametrize("odd", ["\ud800", "a\udfffb", "a\0b", "\ud83d"])
def test_every_string_of_an_update_can_be_encoded(odd: str) -> None:
    for update in (cleaned(said(odd)), cleaned(pressed(odd))):
        text = dumps(asdict(update))
        assert "\\ud" not in text and "\\u0000" not in text
        assert update.conversation.address.encode()
        assert update.user.identity.encode()


def test_what_is_clean_stays_the_very_same() -> None:
    update = said("Zoë 🌳 �")
    assert cleaned(update) is update


def test_cleaning_again_changes_nothing() -> None:
    once = cleaned(said("a\ud800\0"))
    assert cleaned(once) == once


def test_ids_that_differ_still_differ_and_are_nobody_elses() -> None:
    odd = ["1\ud800", "1\ud801", "1\0", "1", "1�"]
    assert len({cleaned(said(each)).user.identity for each in odd}) == len(odd)
    assert len({cleaned(pressed(each)).token for each in odd}) == len(odd)


def test_texts_are_cleaned_as_people_read_them() -> None:
    message = cleaned(said("a\ud800b"))
    assert (message.text, message.user.name, message.files[0].name) == ("a�b",) * 3
