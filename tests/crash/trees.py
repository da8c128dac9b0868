"""Session trees as they stand in the gateway's SQLite file, read past its own code."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.scene import ANN
from tests.stand_ins.telegram_checks import Json


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    session: int
    parent: int | None
    number: int
    depth: int
    kind: str
    body: Json

    @property
    def says(self) -> str:
        return str(self.body.get("content") or self.body.get("summary") or "")


@dataclass(frozen=True, slots=True)
class Tree:
    session: int
    leaf: int | None
    nodes: dict[int, Node]
    """The session's own entries and, in a fork, the path it begins with; by id, oldest first."""
    moves: list[tuple[str, int | None, int | None]]
    """(why, from, to) of every recorded move of the leaf."""

    @property
    def own(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.session == self.session]

    def path(self) -> list[Node]:
        """To the leaf, upper first."""
        found, at = [], self.leaf
        while at is not None:
            found.append(self.nodes[at])
            at = found[-1].parent
        return found[::-1]

    def said(self) -> list[str]:
        """The texts on the path to the leaf: messages, summaries."""
        return [node.says for node in self.path() if node.says]

    def of(self, kind: str) -> list[Node]:
        return [node for node in self.own if node.kind == kind]

    def saying(self, text: str) -> list[Node]:
        """The entries, wherever they are, that say exactly this."""
        return [node for node in self.own if node.says == text]

    def moved(self, why: str) -> int:
        """How often the leaf was moved by such a command."""
        return sum(move[0] == why for move in self.moves)

    def check(self) -> None:
        """It is a tree whose entries are counted without a gap, and the leaf is one of them."""
        assert self.leaf is None or self.leaf in self.nodes
        first = self.own[0].number if self.own else 1
        assert [node.number for node in self.own] == list(range(first, first + len(self.own)))
        for node in self.nodes.values():
            above = self.nodes[node.parent] if node.parent is not None else None
            assert node.depth == (above.depth + 1 if above is not None else 0)
            assert above is None or (above.id < node.id and above.number < node.number)


class Trees:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "bough.db"

    def of(self, chat: int = ANN) -> Tree:
        """The session that a chat is in, checked."""
        (session,) = self._one("SELECT session FROM conversations WHERE address = ?", at(chat))
        return self.tree(session)

    def tree(self, session: int) -> Tree:
        leaf, start = self._one("SELECT leaf, parent_entry FROM sessions WHERE id = ?", session)
        nodes = self._nodes("session = ?", session)
        while start is not None:
            (above,) = self._nodes("id = ?", start)
            nodes.append(above)
            start = above.parent
        moves = self._rows(
            "SELECT why, from_entry, to_entry FROM leaf_moves WHERE session = ? ORDER BY id",
            session,
        )
        by_id = {node.id: node for node in sorted(nodes, key=lambda node: node.id)}
        tree = Tree(session, leaf, by_id, moves)
        tree.check()
        return tree

    def sessions(self) -> int:
        """How many there are."""
        (count,) = self._one("SELECT count(*) FROM sessions")
        return int(count)

    def audited(self, what: str) -> int:
        (count,) = self._one("SELECT count(*) FROM audit WHERE what = ?", what)
        return int(count)

    def shown(self, message: Json) -> Node | None:
        """The entry that a message is linked to."""
        where = at(message["chat"]["id"]), str(message["message_id"])
        found = self._rows(
            "SELECT entry FROM message_links WHERE address = ? AND message_id = ?", *where
        )
        return self._nodes("id = ?", found[0][0])[0] if found else None

    def recorded(self, chat: int = ANN) -> int:
        """How many messages to a chat are on record as sent."""
        (count,) = self._one(
            "SELECT count(*) FROM outbox WHERE kind = 'post' AND state = 'sent' AND address = ?",
            at(chat),
        )
        return int(count)

    def command(self, token: str) -> tuple[str, int | None] | None:
        """What a button stands for: the command, and the entry where it leads back to. None where
        it is used up."""
        found = self._rows("SELECT body, used FROM buttons WHERE token = ?", token)
        if not found or found[0][1]:
            return None
        does = json.loads(found[0][0])
        if "command" in does:
            return does["command"], None
        name, payload = does["name"], does["payload"]
        if name == "sibling":
            name += f" #{self._nodes('id = ?', payload['entry'])[0].number}"
        return name, payload.get("leaf")

    def _nodes(self, condition: str, *values: Any) -> list[Node]:
        rows = self._rows(
            "SELECT id, session, parent, number, depth, kind, body FROM entries "
            f"WHERE {condition} ORDER BY id",
            *values,
        )
        return [
            Node(id_, session, parent, number, depth, kind, json.loads(body))
            for id_, session, parent, number, depth, kind, body in rows
        ]

    def _one(self, query: str, *values: Any) -> Any:
        (found,) = self._rows(query, *values)
        return found

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            return connection.execute(query, values).fetchall()


def at(chat: int) -> str:
    return f"telegram:{chat}"
