"""One blocking call for scripts: open a runtime, take one turn, let go of everything (RUN-1)."""

from collections.abc import Callable, Sequence

import attrs
import trio

from ..machines.facts.model import RunEnded, RuntimeEvent, Text
from ..machines.facts.vocabulary import Kind, RunStatus
from .attending import Answer, Attendant, send
from .live import LiveEvent
from .runtime import PendingAsk, RunHandle, Settings, open_runtime


@attrs.frozen(kw_only=True)
class TurnResult:
    """What one turn came to.

    Attributes:
        session: Give it to the next call to go on in the same conversation.
        text: What the model said last; empty if it said nothing.
        end: How the run ended; None while it waits for a person.
        pending: The requests that it waits for.
        facts: Everything that happened in the session, in commit order.
        created: Whether this call opened the run; False when its key was known.
    """

    session: str
    run: str
    text: str
    end: RunEnded | None
    pending: tuple[PendingAsk, ...]
    facts: tuple[RuntimeEvent, ...]
    created: bool

    @property
    def completed(self) -> bool:
        """Say whether the run came to its stated finish (RUN-3)."""
        return self.end is not None and self.end.status is RunStatus.COMPLETED


def run_sync(
    text: str,
    settings: Settings,
    *,
    session: str | None = None,
    key: str | None = None,
    answer: Callable[[PendingAsk], Answer | None] | None = None,
    show: Callable[[LiveEvent], None] | None = None,
) -> TurnResult:
    """Take one turn and return what it came to.

        >>> import tempfile
        >>> from pathlib import Path
        >>> import crashworthy
        >>> home = Path(tempfile.mkdtemp())
        >>> (home / "work").mkdir()
        >>> asks = {"call": "shell", "args": {"command": "echo hello > greeting.txt"}}
        >>> script = crashworthy.parse_script({"turn": [{"step": [
        ...     {"event": [asks, {"finish": "tool_calls"}]},
        ...     {"event": [{"text": "Written."}, {"finish": "stop"}]},
        ... ]}]})
        >>> settings = crashworthy.Settings(
        ...     root=home / "log", workspace=home / "work",
        ...     backend=lambda: crashworthy.ScriptedBackend(script=script),
        ... )

    Without an answer the run waits, whatever becomes of this process:

        >>> turn = crashworthy.run_sync("Write a greeting.", settings, key="greeting")
        >>> turn.end, [ask.action.review for ask in turn.pending]
        (None, ["shell: command = 'echo hello > greeting.txt'"])

    The same key finds it again, and with an answer it goes on:

        >>> allow = lambda ask: crashworthy.ALLOW
        >>> crashworthy.run_sync("Write a greeting.", settings, key="greeting", answer=allow).text
        'Written.'
        >>> (home / "work/greeting.txt").read_text().strip()
        'hello'

    Args:
        text: The user's words.
        settings: How the runtime behaves.
        session: The conversation to go on with; None begins one.
        key: The same key and text find the same session and run for ever (RUN-5).
        answer: Is asked what a person is asked; None, or no function, leaves it open.
        show: Is shown facts once they are durable, and pieces marked partial (STORE-2).

    Raises:
        RootOwnedError: `root_owned`, another process owns the root.
        SessionUnknownError: `session_unknown`.
        StartConflictError: `start_conflict`, the key came with other words before.
        UnitRefusedError: `session_busy`, another turn is open.
    """
    return trio.run(_turn, text, settings, session, key, answer, show)


async def _turn(
    text: str,
    settings: Settings,
    known: str | None,
    key: str | None,
    answer: Callable[[PendingAsk], Answer | None] | None,
    show: Callable[[LiveEvent], None] | None,
) -> TurnResult:
    async def ask(asked: PendingAsk) -> Answer | None:
        await trio.lowlevel.checkpoint()
        return None if answer is None else answer(asked)

    begun: list[RunHandle] = []
    async with open_runtime(settings) as runtime:
        if known is None:
            session = await runtime.create_session(key=key)
        else:
            session = runtime.session(known)

        async def begin() -> RunHandle:
            return await send(session, text, key=key, answers=answer is not None)

        attendant = Attendant(runtime=runtime, answer=ask, show=show or _unseen, begun=begun.append)
        end = await attendant.attend(session, begin)
        [handle] = begun
        facts = tuple(session.facts())
        return TurnResult(
            session=session.id,
            run=handle.id,
            text=last_words(facts, handle.id),
            end=end,
            pending=tuple(ask for ask in runtime.pending() if ask.run == handle.id),
            facts=facts,
            created=handle.created,
        )


def _unseen(_event: LiveEvent) -> None:
    """Show nobody."""


def last_words(facts: Sequence[RuntimeEvent], run: str) -> str:
    """Return what the model said last in a run, or nothing."""
    for fact in reversed(facts):
        if fact.spine.run == run and fact.kind is Kind.MODEL_TEXT:
            assert isinstance(fact.content, Text)
            return fact.content.text
    return ""
