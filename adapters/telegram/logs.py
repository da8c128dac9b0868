"""Keep the bot's token out of the logs: it is part of every URL that the libraries print."""

import logging
import traceback

from adapters.telegram.errors import hidden

_TALKATIVE = (
    "httpx",
    "telegram.Bot",
    "telegram.request.BaseRequest",
    "telegram.request.HTTPXRequest",
)


def hide_token(token: str) -> None:
    """For as long as the process lives."""
    # A line for every request, and a traceback for every answer of an outage, which is raised too.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("telegram.request.BaseRequest").setLevel(logging.CRITICAL)
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_HideToken(token))


class _HideToken(logging.Filter):
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HideToken) and other._token == self._token

    def __hash__(self) -> int:
        return hash(self._token)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = hidden(record.getMessage(), self._token)
        record.args = None
        if record.exc_info and record.exc_info[1] is not None:
            # A formatter takes the text, where there is one, for the exception itself.
            shown = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
            record.exc_text = hidden(shown, self._token)
        return True
