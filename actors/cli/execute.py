"""Executes one turn at a terminal: shows it, asks, and stops it durably on Ctrl-C."""

import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import attrs
import trio

from ...machines.facts.codes import Code
from ...machines.facts.model import RuntimeEvent
from ...machines.facts.vocabulary import RunStatus
from ...machines.projections.transcript import transcript
from ...store.errors import StorageError
from ..attending import Attendant
from ..runtime import RunHandle, Runtime, Session, Settings, open_runtime
from ..sync import last_words
from .exits import Exit
from .narrate import Narrator
from .owning import tell_workers
from .place import Place, prepare
from .prompts import Prompter, Voice
from .render import unsettled_lines
from .story import JsonStory, Result, Story, TextStory
from .terminal import out, tell

STOPPED_BY_KEY: Final = "user"
STOPPED_BY_SIGNAL: Final = "signal"
_AGAIN_S: Final = 0.5


@attrs.frozen(kw_only=True)
class Job:
    """What one command executes.

    Attributes:
        session: Where; None makes a session, or finds the one of `key`.
        begin: Starts the run, or takes it up.
        again: The words of the command that takes the run up once it was answered.
    """

    settings: Settings
    place: Place
    voice: Voice
    json: bool
    session: str | None
    key: str | None
    begin: Callable[[Session], Awaitable[RunHandle]]
    again: Callable[[str], tuple[str, ...]]


def execute(job: Job) -> int:
    """Execute a job and return the exit status.

    Raises:
        CrashworthyError: The root or the start was refused, or the environment failed.
    """
    prepare(job.place)
    return trio.run(_execute, job)


async def _execute(job: Job) -> int:
    narrator = Narrator(paper=out())
    story: Story = (
        JsonStory(place=job.place) if job.json else TextStory(place=job.place, narrator=narrator)
    )
    prompter = Prompter(voice=job.voice, narrator=narrator, paper=narrator.paper)
    async with open_runtime(job.settings) as runtime:
        tell_workers(runtime.host)
        session = await _session(runtime, job)
        known = session.facts()
        begun: list[RunHandle] = []

        def begin(handle: RunHandle) -> None:
            begun.append(handle)
            story.begin(handle, known)

        attendant = Attendant(
            runtime=runtime,
            answer=prompter.answer,
            show=story.show,
            begun=begin,
            beside=_stop_on_signal,
        )
        end = await attendant.attend(session, lambda: job.begin(session))
        [handle] = begun
        result = Result(
            end=end,
            text=last_words(session.facts(), handle.id),
            pending=tuple(ask for ask in runtime.pending() if ask.run == handle.id),
            again=job.again(handle.id),
            unsettled=_unsettled(session.facts(), handle.id, over=end is not None),
        )
    story.finish(result)
    if end is None:
        return Exit.WAITING
    return Exit.DONE if end.status is RunStatus.COMPLETED else Exit.FAILED


def _unsettled(facts: Sequence[RuntimeEvent], run: str, *, over: bool) -> tuple[str, ...]:
    """Return what `show` says of each call whose outcome a run that is over left unknown."""
    if not over:
        return ()
    view = transcript([fact for fact in facts if fact.spine.run == run], live=False)
    return tuple(line for turn in view.turns for line in unsettled_lines(turn))


async def _session(runtime: Runtime, job: Job) -> Session:
    if job.session is not None:
        return runtime.session(job.session)
    return await runtime.create_session(key=job.key)


async def _stop_on_signal(handle: RunHandle) -> None:
    """Stop the run durably at the first signal; the second ends the process as it is (RUN-7)."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            for each in (signal.SIGINT, signal.SIGTERM):
                signal.signal(each, signal.SIG_DFL)
            tell("\nstopping; once more ends the process at once")
            source = STOPPED_BY_KEY if number == signal.SIGINT else STOPPED_BY_SIGNAL
            await _stop(handle, source)


async def _stop(handle: RunHandle, source: str) -> None:
    """Stop a run; while its log cannot be written, nothing is stopped, and that is said once."""
    told: Code | None = None
    while True:
        try:
            await handle.stop(source)
        except StorageError as error:
            if error.code is not told:
                tell(f"cannot be stopped while its log cannot be written: {error}")
                told = error.code
            await trio.sleep(_AGAIN_S)
        else:
            return
