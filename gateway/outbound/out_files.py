"""Files that tools give, as outbox rows for the people of a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath

from adapters.filenames import safe_name
from adapters.platforms import MEGABYTE, PLATFORMS
from agent.text.markdown import escape
from agent.tools.base import OutFile
from agent.tools.message import MOST_CAPTION
from gateway.outbound.composer import Composer
from gateway.outbound.pictures import DECODING, shown_picture
from storage.records.inbox_outbox import OutboxDraft, StoredFile

MOST_FILES = 10
"""Of one call."""
NO_LIMIT = 50 * MEGABYTE
"""Bytes of a file where the platform has no limit of its own."""


def largest_upload(address: str) -> int:
    """Bytes of a file that the platform of a conversation takes from a bot."""
    platform = PLATFORMS.get(address.partition(":")[0])
    return (platform.largest_upload if platform is not None else None) or NO_LIMIT


@dataclass(frozen=True, slots=True)
class OutFiles:
    composer: Composer

    async def parcels(
        self, address: str, files: Sequence[OutFile], reply_to: str = ""
    ) -> list[OutboxDraft]:
        """A message for each file, with its caption; for one that the platform would not take,
        words."""
        made = []
        for file in files[:MOST_FILES]:
            stored = await DECODING.run(address, partial(_stored, file))
            made += self._parcels(address, file, stored, reply_to)
        if len(files) > MOST_FILES:
            left = len(files) - MOST_FILES
            text = f"📎 {left} more files are not shown: {MOST_FILES} of a call are the most."
            made += self.composer.post(address, text, reply_to=reply_to)
        return made

    def _parcels(
        self, address: str, file: OutFile, stored: StoredFile, reply_to: str
    ) -> list[OutboxDraft]:
        name, most = escape(stored.name), largest_upload(address)
        if len(stored.data) > most:
            text = (
                f"📎 {name} is not shown: it has {len(stored.data):,} bytes, and at most {most:,} "
                "are taken here."
            )
            return self.composer.post(address, text, reply_to=reply_to)
        caption = file.caption.strip() if len(file.caption) <= MOST_CAPTION else ""
        text = caption or f"📎 {name}"
        *before, last = self.composer.post(address, text, reply_to=reply_to)
        return [*before, replace(last, file=stored)]


def _stored(file: OutFile) -> StoredFile:
    name = safe_name(file.name)
    shown = shown_picture(file.data) if file.picture else None
    if shown is None:
        return StoredFile(name, file.data)
    data, suffix = shown
    return StoredFile(PurePath(name).stem + suffix, data, picture=True)
