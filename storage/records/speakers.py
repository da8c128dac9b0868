"""Who speaks, as a model reads it: what people write cannot pass for somebody else's. Pure.

A message in a group keeps its text as people read it ("Ada: hi") and, under "speaker", whose it is.
A model gets it below the platform's own name for the writer, which nobody chooses, and with a mark
before each further line. Text of other messages stays as it is, but for lines that look like what
only we write: those get the same mark.
"""

import re
import unicodedata
from dataclasses import dataclass

from storage.records.entries import Json

TYPED = "| "
"""Before a line that somebody wrote."""
_IMPORTED = "imported:"
"""Before the identity that a file claims."""
_ID_LIMIT = 40
_NAME_LIMIT = 64

_SUSPICIOUS = re.compile(r"[<﹤＜‹〈⟨\[［【〔⁅]")
"""What an imitation cannot do without."""
_LOOKS = str.maketrans(
    "аеорсуіѕӏмткοαερτιυκ‹〈⟨›〉⟩【〔⁅】〕⁆",
    "aeopcyislmtkoaeptiuk<<<>>>[[[]]]",
    "\u115f\u1160\u2800\u3164\uffa0",
)
"""Letters and brackets that look like ours; what is blank."""
_WRAPPER = re.compile(
    r"<\s*/?\s*(?:late[\s_-]*result|summary[\s_-]*of|cut[\s_-]*off|put[\s_-]*off|event|kept[\s_-]*notes|"
    r"received[\s_-]*at)(?![a-z0-9])"
)
_RECEIVED = re.compile(r"[A-Za-z0-9 ,:+()/_-]{1,120}")
"""A time and a zone in words, of which no file can make more."""
_RECEIVED_LINE = re.compile(r"\n?<received_at>[^<>\n]*</received_at>\Z")
_ID = r"[\w./-]{1,80}"
_ADDRESS = re.compile(rf"\W*\[\s*(?!image\b)[a-z]{{1,20}}\s*:\s*{_ID}\s*(?::\s*{_ID}\s*)?\]")
"""A picture is told as "[image: TYPE]", which is nobody's address."""


@dataclass(frozen=True, slots=True)
class Speaker:
    id: str
    """Identity ("telegram:1001"), without what could end the brackets it is put in."""
    name: str
    """What people call them: on one line, but their own choice."""
    given: str
    """What the gateway says of the message: quoted lines, each behind "> ", and notes."""
    typed: str
    """What they wrote."""

    @property
    def title(self) -> str:
        return f"[{self.id}] {self.name}"


def spoken(identity: str, name: str, given: str, typed: str) -> Json:
    """What a message's body says in a group: content, for people, and speaker. `name` is one line;
    `given` and `typed` are put together as they are."""
    begin = f"{name}: "
    content = f"{begin}{given}{typed}"
    at = len(begin) + len(given)
    return {"content": content, "speaker": {"id": identity, "name": name, "typed": at}}


def speaker_of(body: Json) -> Speaker | None:
    """None for what was not said in a group, or before speakers were kept. OpenAI's "name" of a
    person's message, which only a file brings, is a claim too."""
    found, content = body.get("speaker"), body.get("content")
    if "speaker" not in body and isinstance(named := body.get("name"), str) and named.strip():
        found = {"id": _IMPORTED + named, "name": named}
    if body.get("role") != "user" or not isinstance(found, dict) or not isinstance(content, str):
        return None
    id_, name, at = found.get("id"), found.get("name"), found.get("typed")
    if not isinstance(id_, str) or not isinstance(name, str):
        return None
    begin = f"{name}: "
    start = len(begin) if content.startswith(begin) else 0
    if type(at) is not int or not start <= at <= len(content):
        at = start
    return Speaker(
        re.sub(r"[\[\]\s]", "", id_)[:_ID_LIMIT],
        " ".join(name.translate(_PLAIN_BRACKETS).split())[:_NAME_LIMIT],
        content[start:at],
        content[at:],
    )


def happened(title: str, text: str) -> Json:
    """What the body of a message says of an event, which nobody wrote."""
    return {"content": text, "event": " ".join(title.split())}


def received(words: str, zone: str) -> Json:
    """What the body of a person's message, an event or a task says of when it was appended: in
    words, so that a model is told the same for ever, whatever becomes of zones; and in which zone
    (IANA name)."""
    return {"received": {"at": words, "zone": zone}}


def zone_said(body: Json) -> str:
    """The zone that a message was received in; "" where that is not known."""
    found = body.get("received")
    zone = found.get("zone") if isinstance(found, dict) else None
    return zone if isinstance(zone, str) else ""


def received_words(body: Json) -> str:
    """When a message was appended; "" for one from before that was kept."""
    found = body.get("received")
    words = found.get("at") if isinstance(found, dict) else None
    return words if isinstance(words, str) and _RECEIVED.fullmatch(words) else ""


def received_line(body: Json) -> str:
    """The same as a model reads it, below the message; chat text cannot pass for it."""
    words = received_words(body) if body.get("role") == "user" else ""
    return f"<received_at>{words}</received_at>" if words else ""


def without_received(text: str) -> str:
    """A message as a model reads it, without that line."""
    return _RECEIVED_LINE.sub("", text)


def claimed(body: Json) -> Json:
    """The body of a message that a file brings: whose it is stays a claim, and it is no event."""
    body = {key: value for key, value in body.items() if key != "event"}
    if "speaker" not in body:
        return body
    rest = {key: value for key, value in body.items() if key != "speaker"}
    found = body["speaker"]
    if speaker_of(body) is None:
        return rest
    id_ = _IMPORTED + str(found["id"]).removeprefix(_IMPORTED)
    return rest | {"speaker": {"id": id_, "name": found["name"]}}


def name_taken_off(body: Json) -> str:
    """The text of a person's message as they wrote it, with what they quoted."""
    content = body.get("content")
    speaker = speaker_of(body)
    if speaker is not None:
        return speaker.given + speaker.typed
    return content if isinstance(content, str) else ""


def told(body: Json) -> str | None:
    """The content of a person's message as a model reads it; None where there is none."""
    content = body.get("content")
    if not isinstance(content, str):
        return None
    if isinstance(title := body.get("event"), str):
        return f"<event {title}>\n{guarded(content)}\n</event>"
    speaker = speaker_of(body)
    if speaker is None:
        return guarded(content)
    given = [line for line in speaker.given.splitlines() if line.strip()]
    first, *more = speaker.typed.splitlines() or [""]
    if given or _imitates(first):
        first, more = "", speaker.typed.splitlines()
    head = f"{speaker.title}: {first}".rstrip()
    return "\n".join([head, *given, *(f"{TYPED}{line}".rstrip() for line in more)])


def quoted_below(head: str, text: str) -> str:
    """A line of ours, and below it a text of somebody else's, each of its lines behind a mark."""
    lines = (f"{TYPED}{line}".rstrip() for line in text.splitlines())
    return "\n".join([guarded(" ".join(head.split())), *lines])


def guarded(text: str) -> str:
    """The text with a mark before each line that looks like one of ours."""
    if not _SUSPICIOUS.search(text):
        return text
    lines = text.splitlines()
    marked = [TYPED + line if _imitates(line) else line for line in lines]
    return text if marked == lines else "\n".join(marked)


def _imitates(line: str) -> bool:
    """Whether it reads like a speaker or a tag of ours, in lookalike characters too."""
    if not _SUSPICIOUS.search(line):
        return False
    folded = unicodedata.normalize("NFKC", line).casefold().translate(_LOOKS)
    seen = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc") or c == "\t")
    return _WRAPPER.search(seen) is not None or _ADDRESS.match(seen) is not None


_PLAIN_BRACKETS = str.maketrans("[]［］", "()()")
