import pytest

from agent.errors import ToolError
from agent.tools.base import Ask, Call, Done, Setting
from agent.tools.clarify import LABEL_LIMIT, MOST_AT_ONCE, ClarifyTool, answered, clarify_kit
from storage.records.entries import Json
from storage.records.questions import WORDS, Choice, Question, QuestionState


def call(arguments: Json, asked: Question | None = None) -> Call:
    return Call("c1", arguments, 1, 7, "telegram:1", "telegram:1", asked)


def closed(state: QuestionState, choice: str | None = None, words: str = "") -> Question:
    return Question(
        id=1,
        kind="clarify",
        text="?",
        choices=(Choice("1", "Blue"), Choice(WORDS, "Answer in words")),
        session=1,
        address="telegram:1",
        subject={},
        expires=None,
        created=0.0,
        state=state,
        level=0,
        choice=choice,
        decided_by="telegram:1" if choice else "",
        decided_name="Ada" if choice else "",
        decided_at=None,
        words=words,
    )


async def ask(**arguments: object) -> Ask:
    outcome = await ClarifyTool().run(call(arguments))
    assert isinstance(outcome, Ask)
    return outcome


async def test_each_choice_is_a_button_and_words_are_always_taken() -> None:
    made = await ask(question="Which?", choices=["Red", "Blue\n", "Red"])
    assert [(c.key, c.label) for c in made.choices] == [
        ("1", "Red"),
        ("2", "Blue"),
        (WORDS, "Answer in words"),
    ]
    assert made.kind == "clarify"
    assert made.text == "❓ Which?"
    assert [c.key for c in (await ask(question="Why?")).choices] == [WORDS]


async def test_labels_are_on_one_line_and_bounded() -> None:
    made = await ask(question="?", choices=["a\u202eb\nc", "x" * 500])
    assert made.choices[0].label == "ab c"
    assert len(made.choices[1].label) == LABEL_LIMIT


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": "  "},
        {"question": "x" * 2_000},
        {"question": "?", "choices": ["a", "\u200b"]},
        {"question": "?", "choices": [str(n) for n in range(21)]},
        {"question": "?", "choices": ["x" * 100_000]},
        {"question": "?", "choices": "yes"},
        {"choices": ["a"]},
    ],
)
async def test_a_broken_call_asks_nobody(arguments: Json) -> None:
    with pytest.raises(ToolError):
        await ClarifyTool().run(call(arguments))


async def test_a_turn_asks_only_so_many_questions_at_once() -> None:
    tool = ClarifyTool()
    for _ in range(MOST_AT_ONCE):
        assert isinstance(await tool.run(call({"question": "?"})), Ask)
    with pytest.raises(ToolError, match="at once"):
        await tool.run(call({"question": "?"}))


async def test_the_answer_says_who_chose_what() -> None:
    outcome = await ClarifyTool().run(call({}, closed(QuestionState.DECIDED, "1")))
    assert outcome == Done("'Ada' (telegram:1) chose: Blue")


def test_words_are_told_as_they_are() -> None:
    told = answered(closed(QuestionState.DECIDED, WORDS, "the sea,\nblue"))
    assert told == "'Ada' (telegram:1) answered in words:\nthe sea,\nblue"


def test_silence_is_no_answer() -> None:
    assert answered(closed(QuestionState.EXPIRED, "no answer")).startswith("Nobody answered")
    assert "nobody answered" in answered(closed(QuestionState.WITHDRAWN))


def test_children_ask_nobody() -> None:
    assert clarify_kit(Setting(1, "telegram:1", child=True, window=None)) == ()
    assert len(clarify_kit(Setting(1, "telegram:1", child=False, window=None))) == 1
