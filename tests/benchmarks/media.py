"""What a turn with a photo, and one with a voice, costs beside one with words: through the wire,
with the file fetched, looked at and kept, and the voice written down by a server that answers at
once.

    python -m tests.benchmarks media
"""

import io
import os
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch, write_config
from tests.benchmarks.wire import RULES, Telegram, alternate, bough
from tests.stand_ins.transcription import TranscriptionServer

WARM_UP = 10
ROUNDS = 60
WORDS, PHOTO, VOICE = 1001, 1002, 1003
"""Chats."""
BAR_PHOTO_MS = 150.0
BAR_VOICE_MS = 60.0
_VOICE = b"OggS" + os.urandom(60_000)


async def run() -> list[Figure]:
    with scratch() as folder:
        async with (
            TranscriptionServer("where is my parcel?") as listener,
            Telegram("1000:bough") as telegram,
            bough(telegram, _config(folder, telegram, listener.url)),
        ):
            words, photos, voices = await alternate(
                [
                    lambda: telegram.turn(WORDS, "How are you?"),
                    lambda: telegram.turn(PHOTO, "", caption=True, photo=_photo(telegram)),
                    lambda: telegram.turn(VOICE, "", voice=_voice(telegram)),
                ],
                warm_up=WARM_UP,
                rounds=ROUNDS,
            )
    plain = 1e3 * median(words)
    return [
        _beside("photo turn beside words, p50", 1e3 * median(photos), plain, BAR_PHOTO_MS),
        _beside("voice turn beside words, p50", 1e3 * median(voices), plain, BAR_VOICE_MS),
    ]


def _beside(name: str, value: float, words: float, bar: float) -> Figure:
    """`bar`: what may be added to a turn with words."""
    return Figure(name, value, "ms", bar=words + bar, peer=words, peer_name="a turn with words")


def _config(folder: Path, telegram: Telegram, listener: str) -> Path:
    rules = folder / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    urls = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url}
    sections: dict[str, dict[str, Any]] = {
        "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
        "telegram": {"token": telegram.token, "paced": False, **urls},
        "models.parent": {"model": f"scripted:{rules}"},
        "models.transcription": {"model": "whisper-1", "api_base": listener},
        "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
    }
    return write_config(folder / "bough.toml", sections)


def _photo(telegram: Telegram) -> list[dict[str, Any]]:
    """A new one each time, as large as Telegram sends them, and as hard to compress as a photo."""
    small = Image.frombytes("RGB", (160, 120), os.urandom(160 * 120 * 3))
    out = io.BytesIO()
    small.resize((1_280, 960), Image.Resampling.BICUBIC).save(out, "JPEG", quality=85)
    kept = telegram.world.keep("photo.jpg", out.getvalue())
    said = {"file_id": kept, "file_unique_id": f"u-{kept}", "width": 1_280, "height": 960}
    return [said | {"file_size": len(out.getvalue())}]


def _voice(telegram: Telegram) -> dict[str, Any]:
    kept = telegram.world.keep("voice.oga", _VOICE + os.urandom(8))
    more = {"mime_type": "audio/ogg", "file_size": len(_VOICE) + 8}
    return {"file_id": kept, "file_unique_id": f"u-{kept}", "duration": 12, **more}
