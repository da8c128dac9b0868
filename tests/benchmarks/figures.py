"""A measured figure, and how figures are printed: JSON lines for programs, a table for people."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

Goal = Literal["at most", "at least"]


@dataclass(frozen=True, slots=True)
class Figure:
    """`bar` and `peer` are in the unit of `value`."""

    name: str
    value: float
    unit: str
    goal: Goal = "at most"
    bar: float | None = None
    """What `value` must not pass; None where a figure is only shown."""
    peer: float | None = None
    """The same, measured in the same run, of what it is compared with."""
    peer_name: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.peer if self.peer else None

    @property
    def ok(self) -> bool | None:
        """None without a bar."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.goal == "at most" else self.value >= self.bar

    def json(self) -> str:
        figure = asdict(self) | {"ratio": self.ratio, "ok": self.ok}
        rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in figure.items()}
        return json.dumps(rounded)


def table(figures: Sequence[Figure]) -> str:
    head = ("figure", "value", "bar", "beside", "ratio", "")
    rows = [head, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def _row(figure: Figure) -> tuple[str, ...]:
    sign = "≤" if figure.goal == "at most" else "≥"
    return (
        figure.name,
        _amount(figure.value, figure.unit),
        f"{sign} {_amount(figure.bar, figure.unit)}" if figure.bar is not None else "",
        f"{_amount(figure.peer, figure.unit)} {figure.peer_name}" if figure.peer else "",
        f"{figure.ratio:.2f} ×" if figure.ratio is not None else "",
        {True: "ok", False: "MISSED", None: ""}[figure.ok],
    )


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.2f} {unit}"
