"""The far side of `exporting`: a wish in; the file, piece by piece, an empty frame, and what is
told of it out."""

import asyncio
import gc
import json
import sys

from gateway.media.exporting import AWAY, Wish, lines_of
from storage.errors import StoreError, StoreUnavailable
from storage.interchange.api import gather
from storage.interchange.child import bounded, write_frame
from storage.interchange.pi.write import Exported
from storage.json_text import dumps
from storage.sql.store import SqlStore
from storage.store import Store

_PIECE = 262_144
"""Characters, about, that are given at once."""


async def _export(wish: Wish) -> dict[str, object]:
    store = await SqlStore.open(wish.url)
    try:
        exported = await store.read(lambda tx: gather(tx, wish.session))
        size, sent = await _write(exported, wish, store)
    finally:
        await store.close()
    return {"size": size, "sent": sent, "entries": len(exported.entries)}


async def _write(exported: Exported, wish: Wish, store: Store) -> tuple[int, bool]:
    """Bytes, and whether all of them were given: not where they are more than can be sent."""
    lines = lines_of(exported, wish, store)

    def write() -> tuple[int, bool]:
        size, fits, piece = 0, True, bytearray()
        for line in lines():
            piece += line.encode("utf-8", "replace")
            if len(piece) >= _PIECE:
                size, fits = _give(piece, size, wish.most)
                piece.clear()
        if piece:
            size, fits = _give(piece, size, wish.most)
        return size, fits

    return await asyncio.to_thread(write)


def _give(piece: bytearray, size: int, most: int | None) -> tuple[int, bool]:
    size += len(piece)
    fits = most is None or size <= most
    if fits:
        write_frame(sys.stdout.buffer, piece)
    return size, fits


def main() -> None:
    bounded()
    gc.disable()  # it would go through 100,000 entries again and again, for seconds
    out = sys.stdout.buffer
    wish = Wish(**json.loads(sys.stdin.buffer.read()))
    try:
        told = asyncio.run(_export(wish))
    except StoreUnavailable as error:
        print(error, file=sys.stderr)  # where the database is, is not for a chat
        told = {"error": AWAY}
    except StoreError as error:
        told = {"error": str(error)}
    write_frame(out, b"")
    write_frame(out, dumps(told).encode())
    out.flush()


if __name__ == "__main__":
    main()
