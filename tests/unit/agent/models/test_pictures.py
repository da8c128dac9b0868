import base64
from collections.abc import Sequence

import pytest

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.media.pictures import (
    OLDER,
    REFUSED,
    SHOWN,
    UNSEEN,
    Seeing,
    picture_part,
    pictures_in,
)
from storage.records.entries import Json, Usage, content_text, message
from tests.support.photos import picture

SEEN = Reply("seen", (), Usage(1, 1, 1), message("assistant", "seen"))
BAD = "could not process image"


class Eyes:
    """A model that refuses some pictures, by their number."""

    def __init__(self, refuses: Sequence[int] = (), *, blind: bool = False) -> None:
        self.refuses = {url_of(each) for each in refuses}
        self.blind = blind
        self.asked: list[list[Json]] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(list(request.messages))
        urls = {url for said in request.messages for url in urls_in(said)}
        if (urls and self.blind) or urls & self.refuses:
            raise ModelError(ModelErrorKind.BAD_REQUEST, BAD)
        return SEEN


def urls_in(said: Json) -> list[str]:
    parts = said["content"] if isinstance(said["content"], list) else []
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def data_of(number: int) -> bytes:
    return picture("red", (number + 1, 1), "PNG")


def url_of(number: int) -> str:

    return "data:image/png;base64," + base64.b64encode(data_of(number)).decode()


async def content(digest: str) -> bytes | None:
    return data_of(int(digest)) if digest.isdigit() else None


def request(*numbers: int | str, sees: bool | None = None) -> Request:
    messages: list[Json] = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture_part(str(number))]}
        for number in numbers
    ]
    return Request(ModelSpec("parent", "m", sees=sees), messages, [])


def shown(eyes: Eyes) -> list[int]:
    """How many pictures each request had."""
    return [sum(len(urls_in(said)) for said in asked) for asked in eyes.asked]


async def test_a_model_that_refuses_its_first_picture_is_not_shown_another() -> None:
    eyes = Eyes(blind=True)
    seeing = Seeing(eyes, content)
    await seeing.complete(request(1))
    await seeing.complete(request(1, 2))
    assert shown(eyes) == [1, 0, 0]
    assert eyes.asked[-1][0]["content"] == f"look\n{UNSEEN}"


async def test_one_refused_picture_does_not_make_a_model_blind_that_saw_others() -> None:
    eyes = Eyes(refuses=[2])
    seeing = Seeing(eyes, content)
    await seeing.complete(request(1))
    await seeing.complete(request(1, 2))
    await seeing.complete(request(1, 2, 3))
    assert shown(eyes) == [1, 2, 0, 2]
    assert REFUSED in content_text(eyes.asked[-1][1]["content"])


@pytest.mark.parametrize("sees", [True, None])
async def test_a_picture_that_is_refused_is_no_end_of_a_conversation(sees: bool | None) -> None:
    eyes = Eyes(refuses=[2])
    seeing = Seeing(eyes, content)
    assert (await seeing.complete(request(2, sees=sees))) == SEEN
    assert (await seeing.complete(request(2, sees=sees))) == SEEN
    assert shown(eyes) == [1, 0, 0]


async def test_a_model_that_is_said_not_to_see_is_never_shown_one() -> None:
    eyes = Eyes()
    await Seeing(eyes, content).complete(request(1, sees=False))
    assert shown(eyes) == [0]


async def test_only_the_newest_are_shown_and_what_is_gone_is_said() -> None:
    eyes = Eyes()
    given = request(*range(SHOWN + 1), "gone")
    await Seeing(eyes, content).complete(given)
    assert SHOWN - 5 < shown(eyes)[0] <= SHOWN
    assert OLDER in content_text(eyes.asked[0][0]["content"])
    assert "not there any more" in content_text(eyes.asked[0][-1]["content"])
    assert len(list(pictures_in(given.messages))) == SHOWN + 2


async def test_what_is_no_refusal_of_pictures_is_raised() -> None:
    class Broken(Eyes):
        async def complete(self, request: Request) -> Reply:
            raise ModelError(ModelErrorKind.BAD_REQUEST, "messages: too long")

    with pytest.raises(ModelError, match="too long"):
        await Seeing(Broken(), content).complete(request(1))
