"""The branches of a conversation as a PNG. Pure, and slow enough for a thread of its own."""

import io
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

WIDTH = 900
"""Pixels, at most: a picture is as wide as what is in it. The height is at most about ROW for each
branch."""
LEAST_WIDTH = 320
ROW = 50
_MARGIN = 26
_INDENT = 28
_DEEPEST = 12
"""Levels that are set in for; deeper ones stand below each other."""
_DOT = 7
_UPPER_EDGE = 28.0
"""Lines that come from above begin here, below the words about what is left out."""

_PAPER = "#ffffff"
_INK = "#1f2937"
_FAINT = "#6b7280"
_LINE = "#9ca3af"
_HERE = "#2563eb"
_TAG = "#fde68a"

_WIDE_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial Unicode.ttf")
"""Fonts with more scripts than Pillow's own, where the machine has one."""
_NOT_A_CHARACTER = "\U0010ffff"
_REPLACEMENT = "?"
_DROPPED = ("Cc", "Cf", "Cs")
"""Categories that show nothing by themselves: controls, joiners."""
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Branch:
    """A straight piece of the tree, as one row."""

    level: int
    """Branch points above it."""
    begins: bool
    """It hangs on what ends a level higher; else it goes on from the row above."""
    title: str
    detail: str
    labels: tuple[str, ...]
    person: bool
    """A person began it."""
    here: bool
    """It is on the path to where the conversation is."""
    leaf: bool
    """The conversation is at its end."""


@dataclass(frozen=True, slots=True)
class Picture:
    branches: tuple[Branch, ...]
    """In drawing order: each before what hangs on it. Several that hang on nothing have the
    beginning before them, as a row of level 0."""
    above: int = 0
    below: int = 0
    """How many are left out at either end."""


def draw(picture: Picture) -> bytes:
    """A PNG. Text that does not fit is cut, characters that no font has are replaced."""
    rows = len(picture.branches)
    top = _MARGIN + (ROW // 2 if picture.above else 0)
    bottom = _MARGIN + (ROW // 2 if picture.below else 0)
    image = Image.new("RGB", (WIDTH, top + rows * ROW + bottom), _PAPER)
    canvas = ImageDraw.Draw(image)
    title, detail = _Pen(canvas, 17), _Pen(canvas, 13)
    spots = [_spot(branch, top + row * ROW) for row, branch in enumerate(picture.branches)]
    # The path is drawn over the lines beside it.
    for row, branch in sorted(enumerate(picture.branches), key=lambda one: one[1].here):
        _connect(canvas, branch, spots[row], _parent(picture.branches, spots, row))
    for branch, spot in zip(picture.branches, spots, strict=True):
        _row(canvas, branch, spot, title, detail)
    if picture.above:
        detail.write((_MARGIN, 8), f"{picture.above:,} more above", _FAINT)
    if picture.below:
        y = top + rows * ROW + 2
        detail.write((_MARGIN, y), f"{picture.below:,} more below", _FAINT)
    width = max(LEAST_WIDTH, math.ceil(max(title.end, detail.end)) + _MARGIN)
    buffer = io.BytesIO()
    image.crop((0, 0, min(width, WIDTH), image.height)).save(buffer, "PNG")
    return buffer.getvalue()


def _spot(branch: Branch, top: int) -> Point:
    return _left(branch.level), float(top + _DOT)


def _left(level: int) -> float:
    return float(_MARGIN + min(level, _DEEPEST) * _INDENT)


def _parent(branches: Sequence[Branch], spots: Sequence[Point], row: int) -> Point | None:
    """Where the row is that a branch hangs on, below the upper edge where that is not in the
    picture; None for the beginning."""
    level = branches[row].level - branches[row].begins
    above = (spots[i] for i in reversed(range(row)) if branches[i].level == level)
    return next(above, (_left(level), _UPPER_EDGE) if branches[row].level else None)


def _connect(
    canvas: ImageDraw.ImageDraw, branch: Branch, spot: Point, parent: Point | None
) -> None:
    if parent is None:
        return
    color, width = (_HERE, 3) if branch.here else (_LINE, 2)
    canvas.line([parent, (parent[0], spot[1]), spot], fill=color, width=width)


def _row(
    canvas: ImageDraw.ImageDraw, branch: Branch, spot: Point, title: "_Pen", detail: "_Pen"
) -> None:
    x, y = spot
    color = _HERE if branch.here else _LINE
    box = (x - _DOT, y - _DOT, x + _DOT, y + _DOT)
    canvas.ellipse(box, fill=color if branch.person else _PAPER, outline=color, width=3)
    left = x + 2 * _DOT + 4
    title.write((left, y - 11), branch.title, _INK)
    at = detail.write((left, y + 12), branch.detail, _FAINT)
    if branch.leaf:
        gap = 10 if branch.detail else 0
        at = detail.write((at + gap, y + 12), "you are here", _HERE)
    for label in branch.labels:
        at = detail.write((at + 14, y + 12), label, _INK, tag=True)


class _Pen:
    """Writes in one size."""

    def __init__(self, canvas: ImageDraw.ImageDraw, size: int) -> None:
        self._canvas = canvas
        self._font = _font(size)
        self._missing = self._glyph(_NOT_A_CHARACTER)
        self._known: dict[str, str] = {}
        self.end = 0.0
        """Of all that was written, the furthest to the right."""

    def write(self, at: Point, text: str, color: str, *, tag: bool = False) -> float:
        """One line, cut at the right margin; where it ends."""
        shown = self._fitting("".join(map(self._drawable, text)), WIDTH - _MARGIN - at[0])
        if not shown:
            return at[0]
        end = at[0] + self._font.getlength(shown)
        self.end = max(self.end, end)
        if tag:
            box = self._canvas.textbbox(at, shown, font=self._font)
            canvas_box = (at[0] - 4, box[1] - 3, end + 4, box[3] + 3)
            self._canvas.rounded_rectangle(canvas_box, radius=4, fill=_TAG)
        self._canvas.text(at, shown, fill=color, font=self._font)
        return end

    def _fitting(self, text: str, room: float) -> str:
        if self._font.getlength(text) <= room:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._font.getlength(text[:middle] + "…") <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return text[:low].rstrip() + "…" if low else ""

    def _drawable(self, character: str) -> str:
        if character not in self._known:
            self._known[character] = self._replaced(character)
        return self._known[character]

    def _replaced(self, character: str) -> str:
        if character.isspace():
            return " "
        if unicodedata.category(character) in _DROPPED or ord(character) in _VARIATION_SELECTORS:
            return ""
        return _REPLACEMENT if self._glyph(character) == self._missing else character

    def _glyph(self, character: str) -> bytes:
        return bytes(self._font.getmask(character))


def _font(size: int) -> ImageFont.FreeTypeFont:
    for name in _WIDE_FONTS:
        try:
            return ImageFont.truetype(name, size, layout_engine=ImageFont.Layout.BASIC)
        except OSError:
            continue  # the machine does not have it
    own = ImageFont.load_default(size)
    assert isinstance(own, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return own
