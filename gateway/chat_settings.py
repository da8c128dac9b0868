"""What holds in a conversation: what its people chose, then what the configuration says."""

from dataclasses import dataclass
from typing import Literal

from gateway.config import Answer, Busy, ChatConfig, Config

Summaries = Literal["off", "ask", "auto"]


@dataclass(frozen=True, slots=True)
class ChatSettings:
    config: Config

    def busy_at(self, address: str) -> Busy:
        """What talk does during a turn."""
        own = (chat.busy for chat in self._chats(address) if chat.busy is not None)
        return next(own, self.config.session.busy)

    def stream_at(self, address: str) -> bool:
        """Whether answers are shown while they are written."""
        own = (chat.stream for chat in self._chats(address) if chat.stream is not None)
        return next(own, self.config.session.stream)

    def answer_at(self, address: str) -> Answer:
        """What of a group's talk is answered."""
        own = (chat.answer for chat in self._chats(address) if chat.answer is not None)
        return next(own, "mention")

    def summaries_at(self, address: str) -> Summaries:
        """Whether a branch that is left is summarised."""
        return self.config.session.branch_summaries

    def thoughts_at(self, address: str) -> bool:
        """Whether the calls of `think` are shown."""
        return self.config.session.show_thoughts

    def _chats(self, address: str) -> list[ChatConfig]:
        return list(self.config.chats_at(address))
