"""Questions and their copies in SQL."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, and_, bindparam, case, func, insert, or_, select, update

from storage.errors import NotFound
from storage.records.figures.happened import Happened
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
    .returning(questions.c.kind)
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
        self.happened: list[Happened] = []
        self.changed = False
        """Something may be due at another time than before."""

    def create(self, draft: QuestionDraft) -> Question:
        self.changed = True
        values = _QUESTIONS.row(
            draft,
            created=self._now,
            state=QuestionState.OPEN,
            level=0,
            decided_by="",
            decided_name="",
            words="",
        )
        asked = self.get(insert_row(self._connection, _CREATE, values))
        self.happened.append(Happened("question", "asked", asked.kind))
        return asked

    def get(self, question: int) -> Question:
        row = self._connection.execute(_QUESTION, {"question": question}).one_or_none()
        if row is None:
            raise NotFound(f"there is no question {question}")
        return _QUESTIONS.one(row)

    def open(self, session: int | None = None) -> list[Question]:
        if session is None:
            return _QUESTIONS.all(self._connection.execute(_OPEN))
        return _QUESTIONS.all(_OPEN_OF.rows(self._connection, {"session": session}))

    def timed(self, now: float, begun: Sequence[float]) -> list[Question]:
        climb = (
            and_(questions.c.level == level, questions.c.created <= created)
            for level, created in enumerate(begun)
        )
        due = or_(questions.c.expires <= now, *climb)
        return _QUESTIONS.all(self._connection.execute(_OPEN.where(due)))

    def next_timed(self, now: float, delays: Sequence[float]) -> float | None:
        first = func.min(case((questions.c.expires > now, questions.c.expires)))
        climbing = [
            func.min(
                case(
                    (
                        and_(questions.c.level == level, questions.c.created > now - delay),
                        questions.c.created,
                    )
                )
            )
            for level, delay in enumerate(delays)
        ]
        query = select(first, *climbing).where(questions.c.state == QuestionState.OPEN.value)
        expires, *created = self._connection.execute(query).one()
        times = [at + delay for at, delay in zip(created, delays, strict=True) if at is not None]
        return min(times if expires is None else [expires, *times], default=None)

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
        kinds = self._connection.execute(_CLOSE, values).scalars().all()
        self.happened += [Happened("question", state.value, kind) for kind in kinds]
        return self._changed(question, len(kinds))

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
        self.changed = True
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
