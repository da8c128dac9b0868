"""Questions and their copies in SQL."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.errors import NotFound
from storage.records.questions import (
    BEGUN,
    Question,
    QuestionDraft,
    QuestionPost,
    QuestionState,
)
from storage.sql.prepared import Prepared
from storage.sql.rows import Shape, insert_row
from storage.sql.schema import outbox, question_posts, questions

_QUESTIONS = Shape(Question, questions)
_COPIES = Shape(QuestionPost, question_posts)
_CREATE = insert(questions)
_QUESTION = select(*_QUESTIONS.columns).where(questions.c.id == bindparam("question"))
_OPEN = (
    select(*_QUESTIONS.columns)
    .where(questions.c.state == QuestionState.OPEN.value)
    .order_by(questions.c.id)
)
_OPEN_OF = Prepared(_OPEN.where(questions.c.session == bindparam("session")))
_CLOSE = (
    update(questions)
    .where(questions.c.id == bindparam("question"), questions.c.state == QuestionState.OPEN.value)
    .values(
        state=bindparam("to"),
        choice=bindparam("key"),
        decided_by=bindparam("by"),
        decided_name=bindparam("called"),
        decided_at=bindparam("now"),
        words=bindparam("said"),
    )
)
_BEGIN = (
    update(questions)
    .where(questions.c.id == bindparam("question"), questions.c.subject == bindparam("before"))
    .values(subject=bindparam("after"))
)
_REACH_LEVEL = (
    update(questions)
    .where(questions.c.id == bindparam("question"), questions.c.level == bindparam("below"))
    .values(level=bindparam("to"))
)
_ADD_POST = insert(question_posts)
_POSTS = (
    select(*_COPIES.columns)
    .where(question_posts.c.question == bindparam("question"))
    .order_by(question_posts.c.id)
)
_POSTED = (
    select(question_posts.c.question)
    .join(outbox, outbox.c.id == question_posts.c.outbox)
    .where(
        question_posts.c.address.in_(bindparam("addresses", expanding=True)),
        outbox.c.message_id == bindparam("message"),
    )
    .order_by(question_posts.c.id.desc())
)


class SqlQuestions:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def create(self, draft: QuestionDraft) -> Question:
        values = _QUESTIONS.row(
            draft,
            created=self._now,
            state=QuestionState.OPEN,
            level=0,
            decided_by="",
            decided_name="",
            words="",
        )
        return self.get(insert_row(self._connection, _CREATE, values))

    def get(self, question: int) -> Question:
        row = self._connection.execute(_QUESTION, {"question": question}).one_or_none()
        if row is None:
            raise NotFound(f"there is no question {question}")
        return _QUESTIONS.one(row)

    def open(self, session: int | None = None) -> list[Question]:
        if session is None:
            return _QUESTIONS.all(self._connection.execute(_OPEN))
        return _QUESTIONS.all(_OPEN_OF.rows(self._connection, {"session": session}))

    def close(
        self,
        question: int,
        state: QuestionState,
        *,
        choice: str | None = None,
        by: str = "",
        name: str = "",
        words: str = "",
    ) -> bool:
        if state is QuestionState.OPEN:
            raise ValueError("a question cannot be closed into being open")
        values = {
            "question": question,
            "to": state.value,
            "key": choice,
            "by": by,
            "called": name,
            "said": words,
            "now": self._now,
        }
        return self._changed(question, self._connection.execute(_CLOSE, values).rowcount)

    def begin(self, question: int) -> bool:
        asked = self.get(question)
        if asked.subject.get(BEGUN):
            return False
        before, after = (
            _QUESTIONS.row(each)["subject"]
            for each in (asked, replace(asked, subject=asked.subject | {BEGUN: True}))
        )
        values = {"question": question, "before": before, "after": after}
        return self._connection.execute(_BEGIN, values).rowcount == 1

    def reach_level(self, question: int, level: int) -> bool:
        values = {"question": question, "below": level - 1, "to": level}
        return self._changed(question, self._connection.execute(_REACH_LEVEL, values).rowcount)

    def add_post(
        self, question: int, address: str, outbox: int, *, prompt: bool = False
    ) -> QuestionPost:
        values = {"question": question, "address": address, "outbox": outbox, "prompt": prompt}
        post = insert_row(self._connection, _ADD_POST, values)
        return QuestionPost(post, question, address, outbox, prompt)

    def posts(self, question: int) -> list[QuestionPost]:
        return _COPIES.all(self._connection.execute(_POSTS, {"question": question}))

    def posted(self, addresses: Sequence[str], message_id: str) -> int | None:
        values = {"addresses": list(addresses), "message": message_id}
        found: int | None = self._connection.execute(_POSTED, values).scalar()
        return found

    def _changed(self, question: int, rows: int) -> bool:
        if rows == 0:
            self.get(question)  # NotFound, where that is the reason
        return rows == 1
