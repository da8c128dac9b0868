"""What people see of a question: its copies, with text and buttons, and what is left when it is
closed.

First what is asked, then what each button does, then what explains it. A copy shows one page of the
choices: at first those that the asker puts first, the others on demand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import Button
from adapters.events import Press
from gateway.outbound.buttons import new_button, place_of, put_buttons
from gateway.outbound.choices import effects
from gateway.outbound.composer import Composer
from gateway.questions.outcome import ending
from storage.records.buttons import AnswerInWords, ButtonRow, Decide, OnQuestion, ShowChoices
from storage.records.inbox_outbox import OutboxRow, OutboxState
from storage.records.questions import WORDS, Choice, Question
from storage.store import Transaction

OTHERS, MORE, BACK = "Other outcomes…", "More outcomes…", "Back"
PAGE = 20
"""Other choices that a copy shows at once, beside the ways on and back: every platform shows 25
buttons."""
HALF = 24
"""Characters of a label that shares its row."""
PROMPT = (
    "Write your answer as a reply to this message. It goes to whoever asked, as your instruction, "
    "with your name."
)


@dataclass(frozen=True, slots=True)
class _Item:
    """A button, before its platform says how it is shown."""

    label: str
    effect: str
    style: str
    action: OnQuestion

    @property
    def whole(self) -> str:
        return f"{self.label}: {self.effect}" if self.effect else self.label


@dataclass(frozen=True, slots=True)
class _Face:
    """What a copy shows, in Markdown, and its buttons."""

    before: str
    """What takes messages of its own, before the question; "" for nothing."""
    text: str
    buttons: tuple[tuple[Button, OnQuestion], ...]


@dataclass(frozen=True, slots=True)
class Copies:
    composer: Composer

    def post(
        self, tx: Transaction, question: Question, address: str, page: int = 0, note: str = ""
    ) -> None:
        """One more copy of an open question, with buttons of its own. `note`: what stands below it
        as long as it is open, in Markdown."""
        face = self._face(question, address, page, note)
        buttons = [button for button, _ in face.buttons]
        parcels = self.composer.post(address, face.before) if face.before else []
        parcels += self.composer.post(address, face.text, buttons=buttons)
        rows = [tx.outbox.enqueue(parcel) for parcel in parcels]
        for row in rows[:-1]:
            tx.questions.add_post(question.id, address, row.id, prompt=True)
        tx.questions.add_post(question.id, address, rows[-1].id)
        put_buttons(tx, rows[-1], face.buttons)

    def turn(
        self, tx: Transaction, question: Question, button: ButtonRow, press: Press, page: int
    ) -> None:
        """Show other choices on the copy that was pressed; where one message does not hold what
        they do, on one more."""
        face = self._face(question, button.address, page)
        if face.before or not self.composer.fits(button.address, face.text):
            return self.post(tx, question, button.address, page)
        buttons = [one for one, _ in face.buttons]
        (edit,) = self.composer.change(
            button.address,
            face.text,
            row=button.outbox,
            message_id=press.message_id,
            buttons=buttons,
        )
        put_buttons(tx, tx.outbox.enqueue(edit), face.buttons)

    def prompt(self, tx: Transaction, question: Question, button: ButtonRow, press: Press) -> bool:
        """Ask who pressed for words, as a reply; False where they were asked there before."""
        address = place_of(button.address, press).address
        prompts = [p for p in tx.questions.posts(question.id) if p.prompt and p.address == address]
        sent = (tx.outbox.get(post.outbox) for post in prompts)
        if any(
            _asked(row) == press.user.id and row.state is not OutboxState.FAILED for row in sent
        ):
            return False
        head = question.text.partition("\n")[0]
        parcels = self.composer.post(address, f"{head}\n\n{PROMPT}", asks=press.user)
        rows = [tx.outbox.enqueue(parcel) for parcel in parcels]
        tx.questions.add_post(question.id, address, rows[-1].id, prompt=True)
        return True

    def close(self, tx: Transaction, question: Question) -> None:
        """Show on every copy what became of the question; their buttons go."""
        for post in tx.questions.posts(question.id):
            if post.prompt:
                continue  # It shows no buttons, and Telegram changes none that asks for a reply.
            text, end = _closed(question), ending(question)
            for parcel in self.composer.amend(post.address, text, end, row=post.outbox):
                tx.outbox.enqueue(parcel)

    def close_stray(
        self, tx: Transaction, question: Question, button: ButtonRow, press: Press
    ) -> None:
        """A copy that was sent twice (a crash before its sending was recorded) has a message that
        only the press names."""
        if press.message_id not in ("", tx.outbox.get(button.outbox).message_id):
            here, text, end = press.message_id, _closed(question), ending(question)
            edit, *_ = self.composer.amend(button.address, text, end, message_id=here)
            tx.outbox.enqueue(edit)

    def _face(self, question: Question, address: str, page: int = 0, note: str = "") -> _Face:
        items = _items(question, page)
        labels = [item.label for item in items]
        offer = self.composer.offer(address, labels, [item.whole for item in items])
        listing = offer.listing or effects([(each.label, each.effect) for each in items])
        buttons = tuple(
            (new_button(label, each.style, beside=beside, asks=_asks(each)), each.action)
            for each, label, beside in zip(items, offer.labels, _beside(offer.labels), strict=True)
        )
        text = _joined(question.text, listing, question.details, note)
        if listing and not self.composer.fits(address, text):
            return _Face(listing, _joined(question.text, question.details, note), buttons)
        return _Face("", text, buttons)


def _asked(prompt: OutboxRow) -> str:
    """Whose reply a message wants, by their platform's id; "" for nobody's."""
    return str(prompt.payload.get("asks", {}).get("id", ""))


def _closed(question: Question) -> str:
    """What is left of a copy above its ending: nobody is told any more what buttons do."""
    return _joined(question.text, question.details)


def _asks(item: _Item) -> bool:
    return isinstance(item.action, AnswerInWords)


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _items(question: Question, page: int) -> list[_Item]:
    pages = _pages(question.choices)
    shown = [_item(question, choice) for choice in pages[page]]
    if page + 1 < len(pages):
        others = sum(choice.other for choice in question.choices)
        told = f"{others} more, for where something else is the case"
        label, effect = (MORE, "") if page else (OTHERS, told)
        shown.append(_Item(label, effect, "plain", ShowChoices(question.id, page + 1)))
    if page:
        shown.append(_Item(BACK, "", "plain", ShowChoices(question.id, 0)))
    return shown


def _item(question: Question, choice: Choice) -> _Item:
    words = choice.key == WORDS
    action = AnswerInWords(question.id) if words else Decide(question.id, choice.key)
    return _Item(choice.label, choice.effect, choice.style, action)


def _pages(choices: Sequence[Choice]) -> list[list[Choice]]:
    first = [choice for choice in choices if not choice.other]
    others = [choice for choice in choices if choice.other]
    return [first, *(others[at : at + PAGE] for at in range(0, len(others), PAGE))]


def _beside(labels: Sequence[str]) -> list[bool]:
    """Which buttons share the row of the one before: two short ones do."""
    beside: list[bool] = []
    for label, before in zip(labels, ["", *labels], strict=False):
        pair = bool(before) and max(len(label), len(before)) <= HALF
        beside.append(pair and not beside[-1])
    return beside
