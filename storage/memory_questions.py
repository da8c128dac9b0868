"""Questions and delegations in memory."""

from dataclasses import replace

from storage.json_text import copied
from storage.memory_boxes import BoxTables
from storage.memory_rows import Table, Undo
from storage.memory_tree import TreeTables
from storage.records.questions import (
    Question,
    QuestionDraft,
    QuestionPost,
    QuestionState,
)


class QuestionTables:
    def __init__(self, journal: list[Undo]) -> None:
        self.questions: Table[int, Question] = Table(journal, "question")
        self.posts: Table[int, QuestionPost] = Table(journal, "question post")


class MemoryQuestions:
    def __init__(
        self, tables: QuestionTables, tree: TreeTables, boxes: BoxTables, now: float
    ) -> None:
        self._tables = tables
        self._tree = tree
        self._boxes = boxes
        self._now = now

    def create(self, draft: QuestionDraft) -> Question:
        questions = self._tables.questions
        self._tree.sessions.expect(draft.session)
        question = Question(
            id=questions.next_id,
            kind=draft.kind,
            text=draft.text,
            choices=draft.choices,
            session=draft.session,
            address=draft.address,
            subject=copied(draft.subject),
            expires=draft.expires,
            created=self._now,
            state=QuestionState.OPEN,
            level=0,
            choice=None,
            decided_by="",
            decided_name="",
            decided_at=None,
        )
        questions[question.id] = question
        return _copy(question)

    def get(self, question: int) -> Question:
        return _copy(self._tables.questions[question])

    def open(self, session: int | None = None) -> list[Question]:
        return [
            _copy(question)
            for question in self._tables.questions.values()
            if question.state is QuestionState.OPEN and session in (None, question.session)
        ]

    def close(
        self,
        question: int,
        state: QuestionState,
        *,
        choice: str | None = None,
        by: str = "",
        name: str = "",
    ) -> bool:
        if state is QuestionState.OPEN:
            raise ValueError("a question cannot be closed into being open")
        found = self._tables.questions[question]
        if found.state is not QuestionState.OPEN:
            return False
        self._tables.questions[question] = replace(
            found,
            state=state,
            choice=choice,
            decided_by=by,
            decided_name=name,
            decided_at=self._now,
        )
        return True

    def reach_level(self, question: int, level: int) -> bool:
        found = self._tables.questions[question]
        if found.level != level - 1:
            return False
        self._tables.questions[question] = replace(found, level=level)
        return True

    def add_post(self, question: int, address: str, outbox: int) -> QuestionPost:
        self._tables.questions.expect(question)
        self._boxes.outbox.expect(outbox)
        post = QuestionPost(self._tables.posts.next_id, question, address, outbox)
        self._tables.posts[post.id] = post
        return post

    def posts(self, question: int) -> list[QuestionPost]:
        return [post for post in self._tables.posts.values() if post.question == question]


def _copy(question: Question) -> Question:
    return replace(question, subject=copied(question.subject))
