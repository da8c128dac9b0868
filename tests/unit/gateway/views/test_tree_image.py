import io

import pytest
from PIL import Image

from gateway.views.tree_image import LEAST_WIDTH, ROW, WIDTH, Branch, Picture, draw


def branch(title: str = "#1 hello", level: int = 0, **more: bool) -> Branch:
    labels = ("a label",) if more.pop("labelled", False) else ()
    flags = {"person": True, "here": False, "leaf": False} | more
    return Branch(level, level > 0, title, "2 entries to #2 · 3 h ago", labels, **flags)


def size(data: bytes) -> tuple[int, int]:
    image = Image.open(io.BytesIO(data))
    image.load()
    assert image.format == "PNG"
    return image.size


@pytest.mark.parametrize("rows", [1, 2, 40])
def test_a_picture_is_as_high_as_it_has_rows(rows: int) -> None:
    width, height = size(draw(Picture(tuple(branch(level=n % 3) for n in range(rows)))))
    assert LEAST_WIDTH <= width < WIDTH
    assert rows * ROW <= height <= (rows + 2) * ROW


@pytest.mark.parametrize(
    "title",
    [
        "",
        "x" * 5_000,
        "漢字 Привет مرحبا नमस्ते 👨‍👩‍👧 🏳️‍🌈",
        "\x00\x07\x1b[31m\u202e\u2066",
        "\ud800\udfff",
        "\U0010ffff\uffff\ufffd",
        "a\nb\tc\rd\u2028e",
    ],
)
def test_no_text_is_too_strange_to_be_drawn(title: str) -> None:
    rows = (branch(title, labelled=True), branch(title, 30, leaf=True, here=True))
    assert LEAST_WIDTH <= size(draw(Picture(rows)))[0] <= WIDTH


def test_what_is_left_out_is_said() -> None:
    rows = (branch(), branch(level=1))
    assert draw(Picture(rows)) != draw(Picture(rows, above=3))
    assert draw(Picture(rows)) != draw(Picture(rows, below=3))


def test_the_path_is_drawn_in_its_own_colour() -> None:
    data = draw(Picture((branch(here=True), branch(level=1, here=True, leaf=True))))
    colours = {color for _, color in Image.open(io.BytesIO(data)).getcolors(1 << 24) or ()}
    assert (0x25, 0x63, 0xEB) in colours
    assert (0x9C, 0xA3, 0xAF) not in colours


def pixels(picture: Picture) -> Image.Image:
    return Image.open(io.BytesIO(draw(picture))).convert("RGB")


LEFT, IN = 26, 54
"""Where the dots of the first two levels are."""
PAPER = (0xFF, 0xFF, 0xFF)


def test_what_begins_side_by_side_hangs_on_the_beginning_by_elbows() -> None:
    image = pixels(Picture((branch("the beginning"), branch(level=1), branch(level=1))))
    first, second, third = (26 + 7 + row * ROW for row in range(3))
    for y in range(first, third):
        assert image.getpixel((LEFT, y)) != PAPER
    for y in (second, third):
        assert image.getpixel(((LEFT + IN) // 2, y)) != PAPER
    assert image.getpixel((IN, (second + third) // 2)) == PAPER


def test_what_hangs_on_a_row_that_is_left_out_comes_from_above_it() -> None:
    image = pixels(Picture((branch(level=1), branch(level=1)), above=4))
    y = 26 + ROW // 2 + 7
    assert image.getpixel((LEFT, y - 12)) != PAPER
    assert image.getpixel((IN, y - 12)) == PAPER


def test_a_picture_is_no_wider_than_what_is_in_it() -> None:
    narrow = size(draw(Picture((branch("#1 hello"),))))[0]
    wide = size(draw(Picture((branch("#1 hello"), branch("#2 " + "hello " * 10)))))[0]
    assert LEAST_WIDTH <= narrow < wide < WIDTH
