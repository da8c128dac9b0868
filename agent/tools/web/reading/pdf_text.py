"""The text of a PDF, page by page."""

import time
from io import BytesIO

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from agent.tools.web.reading.serving import LONGEST_TEXT, Page, Text, Unreadable, cut, serve

_FAULTS = (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, OSError)
"""What pypdf raises for broken files, beside errors of its own."""


def read_pdf(data: bytes, page: Page) -> Text:
    """Each page below a heading with its number. Raises Unreadable."""
    ends = time.monotonic() + page.seconds
    reader = _opened(data)
    texts, length, note = [], 0, ""
    try:
        count = len(reader.pages)
        for number in range(count):
            if time.monotonic() > ends or length > LONGEST_TEXT:
                note = f"pages 1–{number} of {count}, the rest was too much"
                break
            text = _page_text(reader, number)
            texts.append(f"## Page {number + 1} of {count}\n\n{text}")
            length += len(text)
    except _FAULTS as error:
        raise Unreadable(f"a broken PDF ({type(error).__name__})") from None
    if not any(text.partition("\n\n")[2].strip() for text in texts):
        raise Unreadable("a PDF without text, such as a scan")
    text, note = cut("\n\n".join(texts), note)
    return Text(text, _title(reader), note)


def _opened(data: bytes) -> PdfReader:
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("a PDF with a password")
        return reader
    except DependencyError:
        raise Unreadable("a PDF that is encrypted") from None
    except _FAULTS as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"no PDF, or a broken one ({type(error).__name__})") from None


def _page_text(reader: PdfReader, number: int) -> str:
    try:
        return reader.pages[number].extract_text().strip()
    except DependencyError:
        raise Unreadable("a PDF that is encrypted") from None
    except _FAULTS as error:
        return f"[this page cannot be read: {type(error).__name__}]"


def _title(reader: PdfReader) -> str:
    try:
        return str(reader.metadata.title or "") if reader.metadata is not None else ""
    except _FAULTS:
        return ""  # it is only an ornament


if __name__ == "__main__":
    serve(read_pdf)
