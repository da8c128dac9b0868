"""What Discord refuses although its published schema allows it."""

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

CONTENT_LIMIT = 2000


class ApiError(Exception):
    """What Discord answers instead of doing it."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def check_message(payload: Json, *, attached: bool = False) -> None:
    """ApiError. `attached`: there are files with it, so that it needs no words."""
    content = payload.get("content") or ""
    if len(content.encode("utf-16-le")) // 2 > CONTENT_LIMIT:
        raise ApiError(400, 50035, "Invalid Form Body: content: Must be 2000 or fewer in length.")
    if not (content.strip() or attached):
        raise ApiError(400, 50006, "Cannot send an empty message")
    if len(payload.get("nonce") or "") > 25:
        raise ApiError(400, 50035, "Invalid Form Body: nonce: Must be 25 or fewer in length.")
    check_components(payload.get("components") or [])


def check_components(rows: Sequence[Json]) -> None:
    custom_ids = [button["custom_id"] for row in rows for button in row["components"]]
    if len(rows) > 5 or any(not 1 <= len(row["components"]) <= 5 for row in rows):
        raise ApiError(400, 50035, "Invalid Form Body: components: too many")
    if len(set(custom_ids)) < len(custom_ids):
        raise ApiError(400, 50035, "Invalid Form Body: COMPONENT_CUSTOM_ID_DUPLICATED")
    for row in rows:
        for button in row["components"]:
            if not button.get("label") or len(button["label"]) > 80:
                raise ApiError(400, 50035, "Invalid Form Body: label: 1 to 80 characters")
            if not 1 <= len(button["custom_id"]) <= 100:
                raise ApiError(400, 50035, "Invalid Form Body: custom_id: 1 to 100 characters")


def numbered(rows: Sequence[Json]) -> list[Json]:
    """Components with the ids that Discord gives them."""
    count = 0
    result = []
    for row in rows:
        count += 1
        number = count
        buttons = []
        for button in row["components"]:
            count += 1
            buttons.append(button | {"id": count})
        result.append(row | {"id": number, "components": buttons})
    return result
