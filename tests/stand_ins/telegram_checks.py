"""What the Telegram stand-in checks requests by: Telegram's own rules, and the published spec."""

import io
import re
import struct
from typing import Any

from PIL import Image

from tests.stand_ins import specs

Json = dict[str, Any]

SENDABLE_ENTITIES = frozenset(
    [
        "mention",
        "hashtag",
        "cashtag",
        "bot_command",
        "url",
        "email",
        "phone_number",
        "bold",
        "italic",
        "underline",
        "strikethrough",
        "spoiler",
        "blockquote",
        "expandable_blockquote",
        "code",
        "pre",
        "text_link",
        "text_mention",
        "custom_emoji",
    ]
)
_URL = re.compile(r"(?:https?|tg|ton)://[^\s/]+\.[^\s]+|tg://\S+", re.IGNORECASE)
_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_BUTTONS = 100
_LONGEST_TEXT = 4096
_LONGEST_CAPTION = 1024
_LARGEST_PICTURE = 10 * 1024 * 1024


class ApiError(Exception):
    """An answer of the Bot API that is not ok."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad_request(description: str) -> ApiError:
    return ApiError(400, f"Bad Request: {description}")


def units(text: str) -> int:
    """UTF-16 code units, in which Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def checked_text(text: Any, entities: list[Json]) -> tuple[str, list[Json]]:
    """Text and entities as Telegram stores them: trimmed. ApiError as Telegram refuses them."""
    if not isinstance(text, str) or not text.strip():
        raise bad_request("message text is empty")
    return _checked(text, entities, _LONGEST_TEXT, "message is too long")


def checked_caption(text: Any, entities: list[Json]) -> tuple[str, list[Json]]:
    """The same of a caption, which may be empty."""
    return _checked(str(text or ""), entities, _LONGEST_CAPTION, "message caption is too long")


def _checked(
    text: str, entities: list[Json], longest: int, too_long: str
) -> tuple[str, list[Json]]:
    for entity in entities:
        _check_entity(text, entity)
    text, entities = _trimmed(text, entities)
    if units(text) > longest:
        raise bad_request(too_long)
    return text, entities


def picture_size(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG or JPEG. ApiError for what Telegram does not show as a picture."""
    if len(content) > _LARGEST_PICTURE:
        raise bad_request(
            f"file of size {len(content)} bytes is too big for a photo; "
            f"the maximum size is {_LARGEST_PICTURE} bytes"
        )
    if content.startswith(_PNG) and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
    else:
        width, height = _jpeg_size(content)
    if width + height > 10_000 or not 1 / 20 <= width / height <= 20:
        raise bad_request("PHOTO_INVALID_DIMENSIONS")
    return width, height


def _jpeg_size(content: bytes) -> tuple[int, int]:
    try:
        with Image.open(io.BytesIO(content), formats=("JPEG",)) as picture:
            return picture.size
    except OSError:
        raise bad_request("IMAGE_PROCESS_FAILED") from None


def _check_entity(text: str, entity: Json) -> None:
    kind, offset, length = entity.get("type"), entity.get("offset"), entity.get("length")
    if kind not in SENDABLE_ENTITIES:
        raise bad_request(f"can't parse MessageEntity: unsupported type {kind!r}")
    if not isinstance(offset, int) or not isinstance(length, int):
        raise bad_request("can't parse MessageEntity: offset and length must be numbers")
    if offset < 0 or length <= 0 or offset + length > units(text):
        raise bad_request(f"entity {kind} at {offset}+{length} is out of the text")
    encoded = text.encode("utf-16-le", "surrogatepass")
    for edge in (offset, offset + length):
        if 0xDC <= (encoded[2 * edge + 1] if 2 * edge < len(encoded) else 0) <= 0xDF:
            raise bad_request("entity begins or ends in the middle of a UTF-16 symbol")
    if kind == "text_link" and not _URL.fullmatch(str(entity.get("url", ""))):
        raise bad_request(f"entity URL '{entity.get('url')}' is invalid: Wrong HTTP URL")


def _trimmed(text: str, entities: list[Json]) -> tuple[str, list[Json]]:
    """Telegram drops spaces at the end, and at the beginning as far as no entity covers them."""
    text = text.rstrip()
    leading = len(text) - len(text.lstrip())
    cut = min([leading, *(entity["offset"] for entity in entities)])
    end = units(text)
    kept = [
        {
            **entity,
            "offset": entity["offset"] - cut,
            "length": min(entity["length"], end - entity["offset"]),
        }
        for entity in entities
        if entity["offset"] < end
    ]
    return text[cut:], kept


def check_keyboard(markup: Json | None) -> None:
    """ApiError for an inline keyboard that Telegram refuses."""
    rows = (markup or {}).get("inline_keyboard") or []
    buttons = [button for row in rows for button in row]
    if len(buttons) > _MOST_BUTTONS:
        raise bad_request("reply markup is too long")
    for button in buttons:
        if not str(button.get("text", "")).strip():
            raise bad_request("can't parse inline keyboard button: Text buttons must be non-empty")
        data = button.get("callback_data")
        if data is not None and not 1 <= len(str(data).encode()) <= 64:
            raise bad_request("BUTTON_DATA_INVALID")


class Spec:
    """The published description of the Bot API, as far as it is at hand."""

    def __init__(self) -> None:
        self._api: Json | None = specs.load("telegram_api.json")

    def request(self, method: str, params: Json) -> list[str]:
        """What is wrong with the parameters of a call."""
        if self._api is None:
            return []
        if method not in self._api["methods"]:
            return [f"{method}: there is no such method"]
        return self._fields(params, self._api["methods"][method].get("fields", []), method)

    def reply(self, method: str, result: Any) -> list[str]:
        """What is wrong with a result: the stand-in's own fault."""
        if self._api is None:
            return []
        return self._value(result, self._api["methods"][method]["returns"], f"{method} result")

    def _fields(self, given: Json, fields: list[Json], where: str) -> list[str]:
        known = {field["name"]: field for field in fields}
        problems = [f"{where}: unknown field {name}" for name in given if name not in known]
        for name, field in known.items():
            if name in given:
                problems += self._value(given[name], field["types"], f"{where}.{name}")
            elif field["required"]:
                problems.append(f"{where}: {name} is missing")
        return problems

    def _value(self, value: Any, types: list[str], where: str) -> list[str]:
        """Nothing, where the value fits one of the types; else why it does not fit the last."""
        problems: list[str] = []
        for kind in types:
            problems = self._one(value, kind, where)
            if not problems:
                break
        return problems

    def _one(self, value: Any, kind: str, where: str) -> list[str]:
        wrong = [f"{where}: {value!r:.80} is no {kind}"]
        match kind:
            case "Integer":
                return [] if type(value) is int else wrong
            case "Float":
                return [] if type(value) in (int, float) else wrong
            case "String":
                return [] if isinstance(value, str) else wrong
            case "Boolean":
                return [] if isinstance(value, bool) else wrong
            case "InputFile":
                return []
        if kind.startswith("Array of "):
            if not isinstance(value, list):
                return wrong
            inner = kind.removeprefix("Array of ")
            return [p for i, one in enumerate(value) for p in self._one(one, inner, f"{where}.{i}")]
        if not isinstance(value, dict) or self._api is None:
            return wrong
        described = self._api["types"][kind]
        if "subtypes" in described:
            return self._value(value, described["subtypes"], where)
        return self._fields(value, described.get("fields", []), where)
