"""What became of a question, in words for people; Markdown. Pure."""

from agent.text.markdown import bounded, escape
from gateway.outbound.choices import chosen
from storage.records.questions import WORDS, Question, QuestionState

MARKS = {
    QuestionState.DECIDED: "✅",
    QuestionState.EXPIRED: "⌛",
    QuestionState.WITHDRAWN: "🚫",
}
SHOWN_WORDS = 300
"""Characters of an answer in words that a copy shows."""


def ending(question: Question) -> str:
    """The line below a question that is closed."""
    return f"{MARKS[question.state]} {outcome(question)}"


def outcome(question: Question) -> str:
    match question.state:
        case QuestionState.DECIDED:
            who = escape(question.decided_name or question.decided_by)
            if question.choice == WORDS:
                return f"{who} answered: {escape(bounded(question.words, SHOWN_WORDS))}"
            return f"{who}: {_chosen(question)}"
        case QuestionState.EXPIRED:
            return f"Nobody decided in time: {question.choice}."
        case QuestionState.WITHDRAWN:
            return "Withdrawn."
        case QuestionState.OPEN:
            return "Still open."


def _chosen(question: Question) -> str:
    keys = [choice.key for choice in question.choices]
    if question.choice not in keys:
        return ""
    return chosen([choice.label for choice in question.choices], keys.index(question.choice))
