"""The adapter as a whole: a conversation with one client, from its first request to its last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import RawIOBase
from typing import TYPE_CHECKING, Any, BinaryIO

from jvmti.adapter.initialization import Initialization
from jvmti.adapter.protocol.conversation import Conversation
from jvmti.adapter.protocol.framing import Framing
from jvmti.adapter.protocol.requests import Answer, answers_of
from jvmti.deferred import without_collections

if TYPE_CHECKING:
    from jvmti.adapter.subjects import Subjects


def serve(reader: RawIOBase | BinaryIO, writer: BinaryIO, *, token: str | None = None) -> None:
    """Debug a program for a client, until the client goes.

    However it goes, stopped threads run on, and a program that was launched for it ends.

    Args:
        reader: where requests come from, without a buffer.
        writer: where responses and events go to.
        token: what ``launch`` and ``attach`` must have as their ``token``.
    """
    conversation = Conversation(Framing(reader, writer))
    answers = Answers(conversation, token)
    try:
        conversation.run(answers)
    finally:
        answers.leave()


class Answers(Mapping[str, Answer]):
    """The answers to requests: to ``initialize`` at once, to the others once they are imported.

    Args:
        conversation: with the client.
        token: what ``launch`` and ``attach`` must have as their ``token``.
    """

    def __init__(self, conversation: Conversation, token: str | None) -> None:
        self._conversation = conversation
        self._token = token
        self._initialization = Initialization(conversation, self._others)
        self._first = answers_of([self._initialization])
        self._subjects: Subjects | None = None

    def _others(self) -> Subjects:
        if self._subjects is None:
            # Imported here: the client has its first answer meanwhile.
            with without_collections():
                from jvmti.adapter.subjects import Subjects

                self._subjects = Subjects(self._conversation, self._initialization, self._token)
        return self._subjects

    def __getitem__(self, command: str) -> Answer:
        found = self._first.get(command)
        return self._others().answers[command] if found is None else found

    def get(self, command: str, default: Any = None) -> Any:
        """The answer to a request: one of all, once they are there."""
        subjects = self._subjects
        return super().get(command) if subjects is None else subjects.answers.get(command, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._others().answers)

    def __len__(self) -> int:
        return len(self._others().answers)

    def leave(self) -> None:
        """Leave the program, if there is one."""
        if self._subjects is not None:
            self._subjects.leave()


__all__ = ["serve"]
