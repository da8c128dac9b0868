"""The pieces of an answer in OpenAI's chat protocol, put together to what the same server would
have said in one piece. Pure, and lenient: servers differ in all that is not text."""

import json
import re
from collections.abc import Callable
from typing import Any

from agent.models.thinking import ThinkingSplitter
from storage.json_text import clean
from storage.records.entries import Json

_HEAD = ("id", "created", "model", "system_fingerprint", "service_tier")
_THOUGHTS = ("reasoning_content", "reasoning")
_HALF = re.compile("[\ud800-\udbff]\\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Gathered:
    """Fed with the objects of a stream; tells the text as it comes, and nothing else."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._splitter = ThinkingSplitter(self._told)
        self._tell = tell
        self._head: Json = {}
        self._text: list[str] = []
        self._pieces: list[str] = []
        """What was not told yet."""
        self._thoughts: list[str] = []
        self._calls = _Calls()
        self._more: Json = {}
        self._usage: Any = None
        self.finish = ""
        self.said = False
        """Anything of an answer came."""

    def add(self, chunk: Json) -> None:
        for key in _HEAD:
            if self._head.get(key) is None and chunk.get(key) is not None:
                self._head[key] = chunk[key]
        of_groq = chunk.get("x_groq")
        own = of_groq.get("usage") if isinstance(of_groq, dict) else None
        if (usage := chunk.get("usage") or own) is not None:
            self._usage = usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._choice(choice)

    def _choice(self, choice: Json) -> None:
        self.said = True
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self.finish = finish
        if isinstance(delta := choice.get("delta"), dict):
            self._delta(delta)
        elif isinstance(said := choice.get("message"), dict) and not self._text:
            calls = said.get("tool_calls")  # an answer in one piece
            apart = enumerate(calls) if isinstance(calls, list) else ()
            numbered = [{**call, "index": at} for at, call in apart if isinstance(call, dict)]
            self._delta(said | {"tool_calls": numbered})

    def _delta(self, delta: Json) -> None:
        for key, value in delta.items():
            if value is None or key == "role":
                continue
            if key == "content":
                self._say(value)
            elif key in _THOUGHTS and isinstance(value, str):
                # Some servers send the same thoughts under both names.
                if key == _THOUGHTS[0] or not isinstance(delta.get(_THOUGHTS[0]), str):
                    self._thoughts.append(value)
            elif key == "refusal":
                if not delta.get("content"):
                    self._say(value)  # what people are told in place of an answer
            elif key == "function_call" and isinstance(value, dict):
                self._calls.add({"index": 0, "function": value})  # how calls were written once
            elif key == "tool_calls" and isinstance(value, list):
                for call in value:
                    self._calls.add(call)
            elif key == "thinking_blocks" and isinstance(value, list):
                think(self._more.setdefault(key, []), value)
            elif key == "reasoning_details" and isinstance(value, list):
                join_details(self._more.setdefault(key, []), value)
            elif isinstance(value, list) and isinstance(self._more.get(key, []), list):
                self._more[key] = [*self._more.get(key, []), *value]
            else:
                self._more[key] = value

    def _say(self, content: object) -> None:
        """A text, or parts of which some are."""
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and isinstance(thoughts := part.get("thinking"), list):
                self._think(thoughts)
                continue
            if isinstance(part, dict) and isinstance(summary := part.get("summary"), list):
                self._think(summary)  # Databricks'
                continue
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str) and text:
                self._pieces.append(text)
                self._tell_on(held=bool(_HALF.search(self._pieces[-1])))

    def _think(self, parts: list[Any]) -> None:
        self._thoughts += [
            str(one["text"]) for one in parts if isinstance(one, dict) and "text" in one
        ]

    def _tell_on(self, *, held: bool) -> None:
        """Some servers cut a character in two: the first half waits for the other."""
        if held:
            return
        said = clean(_joined("".join(self._pieces)))
        self._pieces.clear()
        if said:
            self._splitter.feed(said)

    def _told(self, text: str) -> None:
        self._text.append(text)
        self._tell(text)

    @property
    def text(self) -> str:
        """All that was said; nothing comes after this."""
        self._tell_on(held=False)
        self._splitter.end(cut=self.finish == "length")
        return "".join(self._text)

    @property
    def thoughts(self) -> str:
        return "".join(self._thoughts) or self._splitter.thoughts

    def completion(self) -> Json:
        """The answer as it would have come in one piece."""
        message: Json = {"role": "assistant", "content": self.text or None}
        message |= self._more
        if self.thoughts:
            message["reasoning_content"] = self.thoughts
        if calls := self._calls.whole():
            message["tool_calls"] = calls
        finish = self.finish or ("tool_calls" if calls else "stop")
        choice = {"index": 0, "finish_reason": finish, "message": message}
        choices = [choice] if self.said else []
        whole = {**self._head, "object": "chat.completion", "choices": choices}
        return whole if self._usage is None else whole | {"usage": self._usage}


class _Calls:
    """Calls of tools that grow side by side."""

    def __init__(self) -> None:
        self._calls: list[Json] = []
        self._at: dict[object, Json] = {}
        """By the number that the server gives each."""

    def add(self, piece: object) -> None:
        if not isinstance(piece, dict):
            return
        given = piece.get("function")
        function: Json = given if isinstance(given, dict) else {}
        call = self._of(piece, function)
        for key, value in piece.items():
            if key not in ("index", "function", "id", "type") and value not in (None, {}, []):
                call[key] = value
        call["id"] = call["id"] or piece.get("id")
        made = call["function"]
        name = function.get("name")
        if isinstance(name, str) and name != made["name"]:
            made["name"] += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            made["arguments"] += arguments
        elif arguments is not None:
            made["arguments"] += json.dumps(arguments, ensure_ascii=False)

    def _of(self, piece: Json, function: Json) -> Json:
        """The call that a piece belongs to: by its number, unless that was used for another one; by
        its id where it has no number; else the newest."""
        id_, number = piece.get("id"), piece.get("index")
        if isinstance(number, int):
            call = self._at.get(number)
        elif id_:
            call = next((one for one in self._calls if one["id"] == id_), None)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or (function.get("name") and _is_another(call, id_)):
            call = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
            self._calls.append(call)
            if isinstance(number, int):
                self._at[number] = call
        return call

    def whole(self) -> list[Json]:
        return self._calls


def _is_another(call: Json, id_: object) -> bool:
    """Whether a piece with a name begins a call of its own: it has an id of its own, or it has none
    and the call before it is whole."""
    if id_ and call["id"]:
        return bool(id_ != call["id"])
    return not id_ and _is_object(call["function"]["arguments"])


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict) if text.endswith("}") else False
    except (ValueError, RecursionError):
        return False


def _joined(text: str) -> str:
    """The text with each character whole that came in two halves."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def join_details(details: list[Any], pieces: list[Any]) -> None:
    """OpenRouter's account of thinking comes in pieces too: those of one number and kind belong
    together. Text grows; what else there is, a signature for instance, comes once."""
    for piece in pieces:
        last: Any = details[-1] if details else None
        if not (isinstance(piece, dict) and isinstance(last, dict) and _of_one(last, piece)):
            details.append(piece)
            continue
        grown = {
            key: last[key] + piece[key]
            for key in ("text", "summary")
            if isinstance(last.get(key), str) and isinstance(piece.get(key), str)
        }
        details[-1] = {**last, **{k: v for k, v in piece.items() if v is not None}, **grown}


def _of_one(detail: Json, piece: Json) -> bool:
    ids = {detail.get("id"), piece.get("id")} - {None}
    return len(ids) < 2 and all(detail.get(key) == piece.get(key) for key in ("type", "index"))


def think(blocks: list[Any], pieces: list[Any]) -> None:
    """Thinking comes in pieces, and its signature at the end."""
    for piece in pieces:
        last: Any = blocks[-1] if blocks else None
        if _is_thinking(piece) and _is_thinking(last) and not last.get("signature"):
            thought, more = last.get("thinking") or "", piece.get("thinking") or ""
            # litellm sends all of it again beside the signature of Claude.
            again = bool(thought and piece.get("signature") and more.startswith(thought))
            last["thinking"] = more if again else thought + more
            if piece.get("signature"):
                last["signature"] = piece["signature"]
        else:
            blocks.append(dict(piece) if isinstance(piece, dict) else piece)


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "thinking"
