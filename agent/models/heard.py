"""What is heard of a streamed answer, and what one is worth that broke off."""

from dataclasses import dataclass, field, replace

from agent.models.base import Heard, ModelError, Reply, Request, price
from agent.models.usage import dollars, estimated_input, estimated_output
from storage.records.entries import Usage, message


@dataclass(slots=True)
class Listener:
    """Passes the text of one answer on, and keeps it.

    White space at the beginning is held back until more follows: an answer of nothing else is an
    empty one, and is asked for once more.
    """

    tell: Heard
    _waiting: str = ""
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that was passed on."""
        return "".join(self._pieces)

    def __call__(self, piece: str) -> None:
        if not self._pieces:
            piece = self._waiting + piece
            self._waiting = ""
            if not piece.strip():
                self._waiting = piece
                return
        if piece:
            self._pieces.append(piece)
            self.tell(piece)


def listening(request: Request) -> tuple[Request, Listener | None]:
    """The request with somebody who keeps what is heard of its answer, where it is streamed."""
    if request.heard is None:
        return request, None
    listener = Listener(request.heard)
    return replace(request, heard=listener), listener


def partial_usage(request: Request, text: str) -> Usage:
    """What an answer cost that broke off after this text, by our estimate: nobody counted it."""
    read = estimated_input(request)
    written = estimated_output(Reply(text, (), Usage(), {}))
    return Usage(read, written, 1, dollars(price(request.spec, read, written)))


def partial_reply(request: Request, text: str, error: ModelError | None = None) -> Reply:
    """What had come of an answer, as a reply: never half a call of a tool."""
    usage = error.usage if error is not None else None
    return Reply(
        text,
        (),
        usage or partial_usage(request, text),
        message("assistant", text),
        error.model if error is not None else "",
    )
