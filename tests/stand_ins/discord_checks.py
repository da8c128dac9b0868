"""What Discord refuses although its published schema allows it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]

CONTENT_LIMIT = 2000
_COMMAND_NAME = re.compile(r"[-_'\w]{1,32}")
_MOST_OF_A_KIND = {1: 100, 2: 5, 3: 5}
"""Commands, by type: slash commands, of a person's menu, of a message's menu."""
_MOST_OPTIONS = 25
_LONGEST_COMMAND = 8000
"""Characters of all names, descriptions and values of a command."""


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


def check_commands(given: Sequence[Json]) -> None:
    kinds = Counter(command.get("type", 1) for command in given)
    if any(count > _MOST_OF_A_KIND[kind] for kind, count in kinds.items()):
        raise _invalid("Maximum number of application commands reached")
    if len({(command["name"], command.get("type", 1)) for command in given}) < len(given):
        raise ApiError(400, 50035, "APPLICATION_COMMANDS_DUPLICATE_NAME")
    for command in given:
        _check_command(command)


def _check_command(command: Json) -> None:
    if command.get("type", 1) != 1:
        if not 1 <= len(command["name"]) <= 32 or command.get("description"):
            raise _invalid("name: 1 to 32 characters, and no description")
        return
    options = command.get("options") or []
    if len(options) > _MOST_OPTIONS or len({each["name"] for each in options}) < len(options):
        raise _invalid("options: too many, or two of a name")
    for each in (command, *options):
        name = each["name"]
        if not _COMMAND_NAME.fullmatch(name) or name != name.lower():
            raise _invalid(f"name: {name!r}")
        if not 1 <= len(each["description"]) <= 100:
            raise _invalid("description: 1 to 100 characters")
    required = [bool(each.get("required")) for each in options]
    if required != sorted(required, reverse=True):
        raise _invalid("options: required ones come first")
    if sum(map(len, _texts(command))) > _LONGEST_COMMAND:
        raise _invalid("a command of more than 8000 characters")


def _texts(command: Json) -> Iterator[str]:
    for each in (command, *(command.get("options") or [])):
        yield each["name"]
        yield each["description"]
        for choice in each.get("choices") or []:
            yield choice["name"]
            yield str(choice["value"])


def check_choices(choices: Sequence[Json]) -> None:
    """What is offered to who types an option."""
    texts = [text for each in choices for text in (each["name"], each["value"])]
    if len(choices) > _MOST_OPTIONS or not all(1 <= len(text) <= 100 for text in texts):
        raise _invalid("choices: 25 of 1 to 100 characters")
    if not all(each["name"].strip() for each in choices):
        raise _invalid("choices: name: This field is required")


def check_form(form: Json) -> None:
    rows = form["components"]
    if not 1 <= len(form["title"].strip()) <= 45 or not 1 <= len(form["custom_id"]) <= 100:
        raise _invalid("title: 1 to 45 characters; custom_id: 1 to 100")
    if not 1 <= len(rows) <= 5 or any(not 1 <= len(row.get("label", "")) <= 45 for row in rows):
        raise _invalid("components: 1 to 5, each with a label of 1 to 45 characters")
    for field in (row["component"] for row in rows):
        least, most = field.get("min_length", 0), field.get("max_length", 4000)
        if not (0 <= least <= 4000 and 1 <= most <= 4000 and least <= most):
            raise _invalid("min_length and max_length: up to 4000")
        if len(field.get("placeholder", "")) > 100 or not 1 <= len(field["custom_id"]) <= 100:
            raise _invalid("placeholder: up to 100 characters; custom_id: 1 to 100")


def check_thread_name(name: str) -> None:
    if not 1 <= len(name.strip()) <= 100:
        raise _invalid("name: 1 to 100 characters")


def _invalid(what: str) -> ApiError:
    return ApiError(400, 50035, f"Invalid Form Body: {what}")


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
