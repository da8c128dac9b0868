"""clarify: the agent asks who it works for, and goes on with what they choose or write."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.text.markdown import bounded
from agent.text.plain import plain
from agent.text.untrusted import quote, visible
from agent.tools.base import (
    NOTHING_DONE,
    Ask,
    Call,
    Done,
    Effects,
    Outcome,
    Setting,
    Tool,
    Traits,
    validate,
)
from storage.records.questions import WORDS, Choice, Question, QuestionState

KIND = "clarify"
"""Of its questions."""
MOST_CHOICES = 20
MOST_AT_ONCE = 3
"""Questions that are asked before one is answered."""
QUESTION_LIMIT = 1_500
"""Characters: question and choices fit into one message."""
LABEL_LIMIT = 100
IN_WORDS = Choice(WORDS, "Answer in words")
TOLD = (
    "The question is asked. The answer comes later as the result of this call; do not ask again "
    "meanwhile."
)


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str = Field(max_length=QUESTION_LIMIT, description="What you need to know.")
    choices: tuple[Annotated[str, Field(max_length=10 * LABEL_LIMIT)], ...] = Field(
        default=(),
        max_length=MOST_CHOICES,
        description="Short answers to choose from, each a button. An answer in words is always "
        "possible besides.",
    )


class ClarifyTool:
    name = "clarify"
    description = (
        "Ask the person you work for something only they can say: which of several they mean, what "
        "they prefer. You get their choice or their words, maybe much later."
    )
    parameters = Arguments.model_json_schema()
    # People see it. The question is stored with the record that the call waits: run again, it only
    # reads.
    traits = Traits(Effects.CHANGES, repeatable=True)

    def __init__(self) -> None:
        self._asked = 0
        """In this turn, which goes on with an answer as another."""

    async def run(self, call: Call) -> Outcome:
        if call.asked is not None:
            return Done(answered(call.asked))
        arguments = validate(Arguments, call.arguments)
        question = visible(arguments.question).strip()
        if not question:
            raise ToolError(f"question: there are no words in it; {NOTHING_DONE}")
        choices = _choices(arguments.choices)
        if self._asked == MOST_AT_ONCE:
            raise ToolError(
                f"{MOST_AT_ONCE} questions are the most at once; {NOTHING_DONE}. Ask on when they "
                "are answered"
            )
        self._asked += 1
        return Ask(f"❓ {question}", choices, TOLD, kind=KIND)


def _choices(labels: tuple[str, ...]) -> tuple[Choice, ...]:
    """A choice for each label, on one line and without markup, which a button would show as it is;
    what stands twice is one choice."""
    shown = dict.fromkeys(bounded(plain(visible(label)), LABEL_LIMIT) for label in labels)
    if "" in shown:
        raise ToolError(f"choices: one of them has nothing to show; {NOTHING_DONE}")
    numbered = (Choice(str(number), label) for number, label in enumerate(shown, 1))
    return (*numbered, IN_WORDS)


def answered(question: Question) -> str:
    """What the model is told of a question that is closed."""
    who = quote(question.decided_name or question.decided_by)
    if question.decided_name and question.decided_by:
        who = f"{who} ({question.decided_by})"
    match question.state:
        case QuestionState.DECIDED if question.choice == WORDS:
            return f"{who} answered in words:\n{question.words}"
        case QuestionState.DECIDED:
            labels = {choice.key: choice.label for choice in question.choices}
            return f"{who} chose: {labels.get(question.choice or '', '')}"
        case QuestionState.EXPIRED:
            return (
                "Nobody answered in time. Go on without the answer where that is safe, and say "
                "what you took for granted; else say what you would need to know."
            )
        case QuestionState.WITHDRAWN | QuestionState.OPEN:
            return "The question was taken back; nobody answered."


def clarify_kit(setting: Setting) -> tuple[Tool, ...]:
    """Only who people talk to may ask them."""
    return () if setting.child else (ClarifyTool(),)
