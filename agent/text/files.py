"""What is told of the files that came with a message, in words. Pure."""

from agent.text.fencing import fence
from storage.records.attached import HEARD, attached, lines
from storage.records.entries import Json


def files_text(body: Json) -> str:
    """Each file on a line, and what stands in the short ones, fenced: it is data. "" for none."""
    texts = [
        fence("file", file.text, name=file.name)
        for file in attached(body)
        if file.text and file.kind not in HEARD
    ]
    return "\n".join(part for part in (lines(body), *texts) if part)
