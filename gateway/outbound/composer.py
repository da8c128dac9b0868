"""Markdown into outbox rows, and outbox rows into what an adapter sends."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from adapters.base import Body, Button, Edit, OpenThread, Post, Renderer, Upload
from adapters.events import Conversation, Message, User
from gateway.outbound.choices import Offer, offer
from storage.records.entries import Json
from storage.records.inbox_outbox import OutboxDraft, OutboxRow, StoredFile, Thread

FILE_LIMIT = 8_000_000
"""Bytes of a text that goes as a file: every platform takes so many."""
NOTICE = "notice"
"""The key in a row's payload that says that no person waits for it."""
HELD_UP = "⏳ That came late: {platform} asked me to send nothing for {seconds} s."
_SAMPLE = 8_192
"""Characters of Markdown for each message, to see whether a text is too long."""


@dataclass(frozen=True, slots=True)
class Composer:
    renderers: Mapping[str, Renderer]
    """By platform, whether it is connected or not."""
    max_messages: int = 20
    """A text of more platform messages goes as a file, with its beginning as a message."""

    def serves(self, address: str) -> bool:
        return Conversation.parse(address).platform in self.renderers

    def offer(
        self, address: str, labels: Sequence[str], wholes: Sequence[str] | None = None
    ) -> Offer:
        """What buttons there say, and what the text says so that nobody takes one for another."""
        return offer(self._renderer(address), labels, wholes)

    def post(
        self,
        address: str,
        markdown: str,
        *,
        entry: int | None = None,
        buttons: Sequence[Button] = (),
        reply_to: str = "",
        handle: str = "",
        file: int | None = None,
        asks: User | None = None,
    ) -> list[OutboxDraft]:
        """One parcel for each platform message; buttons and a stored file hang on the last, a reply
        on the first. Too long a text goes as a file, unless it has a file or buttons of its own:
        what people are to decide on stands where they press. `asks`: of whom a reply is wanted."""
        bodies, whole = self._bounded(address, markdown, wanted=file is None and not buttons)
        last = len(bodies) - 1
        return [
            OutboxDraft(
                address,
                "post",
                {
                    "body": body,
                    "buttons": [asdict(button) for button in buttons] if index == last else [],
                    "nonce": secrets.token_hex(12),
                    "reply_to": reply_to if index == 0 else "",
                    "handle": handle if index == 0 else "",
                    "file": file if index == last else None,
                    **({"asks": asdict(asks)} if asks is not None and index == last else {}),
                },
                entry,
                file=whole if index == last else None,
            )
            for index, body in enumerate(bodies)
        ]

    def notice(self, address: str, markdown: str) -> list[OutboxDraft]:
        """What no person waits for: answers overtake it, in this conversation and in all others."""
        return [unhurried(parcel) for parcel in self.post(address, markdown)]

    def fits(self, address: str, markdown: str) -> bool:
        """Whether one message holds it."""
        return len(self._render(address, markdown)) == 1

    def bodies(self, address: str, markdown: str) -> list[Body]:
        """A text as messages, however many."""
        return self._render(address, markdown)

    def last_body(self, address: str, markdown: str) -> Body:
        """The end of a text, as one message: for what is edited again and again."""
        return self._render(address, markdown)[-1]

    def reply(self, message: Message, markdown: str) -> list[OutboxDraft]:
        """An answer to a message or command; none for no text."""
        if not markdown:
            return []
        reply_to = "" if message.private else message.message_id
        address = message.conversation.address
        return self.post(address, markdown, reply_to=reply_to, handle=message.handle)

    def change(
        self,
        address: str,
        markdown: str,
        *,
        row: int | None = None,
        message_id: str = "",
        buttons: Sequence[Button] = (),
        handle: str = "",
    ) -> list[OutboxDraft]:
        """Put another text where an outbox row's message, or a message by its id, stands. What one
        message does not hold follows in others, and so do the buttons then."""
        bodies, whole = self._bounded(address, markdown, wanted=not buttons)
        first, *rest = bodies
        shown = [asdict(button) for button in buttons]
        here: Json = {"body": first, "message_id": message_id, "buttons": [] if rest else shown}
        if handle:
            here["handle"] = handle
        edit = OutboxDraft(address, "edit", here, edits=row)
        if not rest:
            return [edit]
        more = [
            OutboxDraft(address, "post", {**_EMPTY, "body": body, "nonce": secrets.token_hex(12)})
            for body in rest
        ]
        more[-1].payload["buttons"] = shown
        more[-1] = replace(more[-1], file=whole)
        return [edit, *more]

    def amend(
        self,
        address: str,
        markdown: str,
        addition: str,
        *,
        row: int | None = None,
        message_id: str = "",
    ) -> list[OutboxDraft]:
        """Add to the end of the text that an outbox row, or a message by its id, shows; its buttons
        go. Where the message has no room left, the addition becomes a message of its own."""
        before = self._render(address, markdown)
        after = self._render(address, f"{markdown}\n\n{addition}")
        fits = after[:-1] == before[:-1]
        body = (after if fits else before)[-1]
        edit = OutboxDraft(address, "edit", {"body": body, "message_id": message_id}, edits=row)
        return [edit] if fits else [edit, *self.post(address, addition)]

    def _bounded(
        self, address: str, markdown: str, *, wanted: bool
    ) -> tuple[list[Body], StoredFile | None]:
        """A text as messages; where it is `wanted` and there would be too many, its first message
        and a note, with the file that goes with the note."""
        # Its beginning shows whether it is too long; rendering megabytes would take seconds.
        sample = markdown[: _SAMPLE * (self.max_messages + 1)] if wanted else markdown
        bodies = self._render(address, sample)
        if len(sample) < len(markdown) and len(bodies) <= self.max_messages:
            bodies = self._render(address, markdown)
        if not wanted or len(bodies) <= self.max_messages:
            return bodies, None
        data = markdown.encode("utf-8", "replace")
        kept = data[:FILE_LIMIT].decode("utf-8", "ignore").encode()
        cut = " It is cut too: there was even more." if len(kept) < len(data) else ""
        note = (
            f"✂️ This would be more than {self.max_messages} messages. Its beginning is above; the "
            f"whole text is in this file.{cut}"
        )
        return [bodies[0], *self._render(address, note)], StoredFile("answer.md", kept)

    def _render(self, address: str, markdown: str) -> list[Body]:
        renderer = self._renderer(address)
        return renderer.render(markdown) if renderer is not None else [{"text": markdown}]

    def _renderer(self, address: str) -> Renderer | None:
        return self.renderers.get(Conversation.parse(address).platform)


def unhurried(parcel: OutboxDraft) -> OutboxDraft:
    """A parcel as a notice."""
    return replace(parcel, payload={**parcel.payload, NOTICE: True})


def held_up(address: str, seconds: float) -> OutboxDraft:
    """Tells who waited for an answer why it came late."""
    platform = Conversation.parse(address).platform.capitalize()
    text = HELD_UP.format(platform=platform, seconds=round(seconds))
    return unhurried(
        OutboxDraft(
            address, "post", {**_EMPTY, "body": {"text": text}, "nonce": secrets.token_hex(12)}
        )
    )


_EMPTY: Json = {"buttons": [], "reply_to": "", "handle": "", "file": None}


def outgoing(
    row: OutboxRow,
    edited: OutboxRow | None,
    *,
    file: StoredFile | None = None,
    plain: bool,
    refused: Thread | None = None,
    anew: bool = False,
) -> Post | Edit | OpenThread | None:
    """What is to be sent for a row. None: an edit of a message that was never sent. What says all
    that a post says is one then, and where the message is gone (`anew`). `refused`: the thread that
    the row is for, where it cannot be opened; then its channel gets it."""
    conversation = Conversation.parse(row.address)
    payload = row.payload
    if row.kind == "thread":
        channel = Conversation.parse(payload["channel"])
        return OpenThread(conversation, channel, payload["message_id"], payload["name"])
    hangs_on = ""
    if refused is not None:
        hangs_on, conversation = conversation.chat, Conversation.parse(refused.channel)
    if row.kind == "edit":
        message_id = payload["message_id"] or (edited.message_id if edited is not None else None)
        if message_id and not anew:
            buttons = tuple(Button(**button) for button in payload.get("buttons", ()))
            body, handle = payload["body"], payload.get("handle", "")
            return Edit(conversation, message_id, body, buttons, plain=plain, handle=handle)
        if "nonce" not in payload:
            return None
    return Post(
        conversation,
        payload["body"],
        buttons=tuple(Button(**button) for button in payload["buttons"]),
        upload=Upload(file.name, file.data, file.picture) if file is not None else None,
        nonce=payload["nonce"],
        reply_to=hangs_on or payload["reply_to"],
        handle=payload["handle"],
        plain=plain,
        asks=User(**payload["asks"]) if "asks" in payload else None,
    )
