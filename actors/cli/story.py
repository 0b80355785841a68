"""What a command tells of the run it executes: a story for people, or JSON lines for programs."""

from collections.abc import Sequence
from typing import Final, Protocol

import attrs

from ...machines.facts import canonical
from ...machines.facts.codec import encode_body
from ...machines.facts.model import RunEnded, RuntimeEvent
from ...machines.projections.plain import to_json
from ..live import Committed, LiveEvent, Notice
from ..runtime import PendingAsk, RunHandle
from .narrate import Narrator, how_it_ended, noticed
from .pending import asked_lines, how_to_answer
from .place import Place
from .terminal import print_json, tell

STREAM_HELP: Final = """\
with --json, standard output has one JSON object a line:
  {"type": "run", "session", "run", "created", "root"}   first
  {"type": "fact", "fact": {...}}             a fact, once it is durable
  {"type": "piece", "of", "subject", "text"}  partial: no fact, shown at once
  {"type": "notice", "code", "over", "text"}  waits, for room on the disk say
  {"type": "result", "state", "failure", "source", "text", "pending"}    last
  {"type": "error", "code", "text", "meaning", "advice"}   instead, if refused"""


@attrs.frozen(kw_only=True)
class Result:
    """What a run came to.

    Attributes:
        text: What the model said last.
        again: The words of the command that takes the run up once it was answered.
        unsettled: The calls that may or may not have happened, and what a person can do.
    """

    end: RunEnded | None
    text: str
    unsettled: tuple[str, ...]
    pending: tuple[PendingAsk, ...]
    again: tuple[str, ...]


class Story(Protocol):
    """Tells of one run, from its beginning to what it came to."""

    def begin(self, handle: RunHandle, known: Sequence[RuntimeEvent]) -> None:
        """Say which run it is; the facts in `known` were there before and are not told again."""
        ...

    def show(self, event: LiveEvent) -> None:
        """Tell one event."""
        ...

    def finish(self, result: Result) -> None:
        """Say what it came to."""
        ...


@attrs.define(eq=False, kw_only=True)
class TextStory:
    """The story for people: the run on standard output, what to do next on standard error."""

    place: Place
    narrator: Narrator
    _handle: RunHandle | None = attrs.field(default=None, init=False)
    _known: frozenset[str] = attrs.field(default=frozenset(), init=False)

    def begin(self, handle: RunHandle, known: Sequence[RuntimeEvent]) -> None:
        """Say which run it is, and where its log is."""
        self._handle, self._known = handle, frozenset(fact.id for fact in known)
        self.narrator.know(known)
        tell(f"{handle.id} in {handle.session}, logged in {self.place.root}")
        end = handle.end()
        if not handle.created and end is not None:
            tell(
                f"this run is known by its key, and over ({how_it_ended(end)}): nothing was"
                " executed"
            )

    def show(self, event: LiveEvent) -> None:
        """Tell one event."""
        if not isinstance(event, Committed) or event.event.id not in self._known:
            self.narrator.show(event)

    def finish(self, result: Result) -> None:
        """Say what to do now."""
        assert self._handle is not None
        command, session = self.place.command, self._handle.session
        if result.end is None:
            tell(
                "\nwaits for a person; nothing is lost when this process ends. Answer, then go on:"
            )
            for ask in result.pending:
                for line in asked_lines(ask.action.review, ask.action.questions):
                    tell(f"  {line}")
                tell(f"    {how_to_answer(self.place, ask.ask, ask.action.questions)}")
            tell(f"then:\n    {command(*result.again)}")
        for line in result.unsettled:
            tell(line)
        tell(f"\nlook at it:  {command('show', session)}")
        tell(f"each event:  {command('events', session)}")


@attrs.define(eq=False, kw_only=True)
class JsonStory:
    """The story for programs, on standard output."""

    place: Place
    _known: frozenset[str] = attrs.field(default=frozenset(), init=False)

    def begin(self, handle: RunHandle, known: Sequence[RuntimeEvent]) -> None:
        """Say which run it is."""
        self._known = frozenset(fact.id for fact in known)
        print_json(
            {
                "type": "run",
                "session": handle.session,
                "run": handle.id,
                "created": handle.created,
                "root": str(self.place.root),
            }
        )

    def show(self, event: LiveEvent) -> None:
        """Tell one event."""
        if isinstance(event, Notice):
            text = noticed(event)
            print_json(
                {"type": "notice", "code": event.code.value, "over": event.over, "text": text}
            )
        elif not isinstance(event, Committed):
            print_json(
                {
                    "type": "piece",
                    "of": event.of.value,
                    "subject": event.subject,
                    "text": event.text,
                }
            )
        elif event.event.id not in self._known:
            print_json({"type": "fact", "fact": canonical.parse(encode_body(event.event))})

    def finish(self, result: Result) -> None:
        """Say what it came to."""
        end = result.end
        print_json(
            {
                "type": "result",
                "state": "waiting" if end is None else end.status.value,
                "failure": None if end is None or end.failure is None else end.failure.value,
                "source": None if end is None else end.source,
                "text": result.text,
                "pending": [to_json(ask) for ask in result.pending],
            }
        )
