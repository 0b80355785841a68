"""Tells a person what a run does while it does it: words as they come, calls as they end."""

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code
from ...machines.facts.model import (
    AskAnswered,
    AskClosed,
    AskOpened,
    CallPlaced,
    ErrorNoted,
    ErrorText,
    FunctionCall,
    FunctionResponse,
    Outcome,
    RequestDispatched,
    RunEnded,
    RuntimeEvent,
    StopRequested,
    Text,
)
from ...machines.facts.vocabulary import AnswerDecision, Kind, OutcomeResult, OutcomeState
from ...machines.projections.endings import ending_of
from ..live import Committed, LiveEvent, Notice, Piece, PieceOf
from ..permission import shown, wanted
from .terminal import Paper, Tone, some_lines, tell, visible

_RESULT_LINES: Final = 6


@attrs.define(eq=False, kw_only=True)
class Narrator:
    """Writes the story of one run on paper.

    Calls of one step run side by side, and what they say is mixed: each line about a call begins
    with its step and its position in it, as in `-> 2.1 read: ...`.

    Attributes:
        held: While a person is asked, what happens beside is kept back and told afterwards.
    """

    paper: Paper
    held: bool = False
    _kept: list[LiveEvent] = attrs.field(factory=list[LiveEvent], init=False)
    _stream: str | None = attrs.field(default=None, init=False)
    _told: dict[str, int] = attrs.field(factory=dict[str, int], init=False)
    _line_open: bool = attrs.field(default=False, init=False)
    _calls: dict[str, str] = attrs.field(factory=dict[str, str], init=False)

    def know(self, facts: Iterable[RuntimeEvent]) -> None:
        """Take the calls of facts that were there before, to name them when they go on."""
        for fact in facts:
            self._name_call(fact)

    def show(self, event: LiveEvent) -> None:
        """Tell one event, now or once nobody is asked any more."""
        if self.held:
            self._kept.append(event)
        elif isinstance(event, Committed):
            self._fact(event.event)
        elif isinstance(event, Notice):
            self._break()
            tell(noticed(event))
        else:
            self._piece(event)

    def hold(self) -> None:
        """Keep back what happens from now on."""
        self._break()
        self.held = True

    def release(self) -> None:
        """Tell what was kept back, and go on."""
        self.held = False
        kept, self._kept = self._kept, []
        for event in kept:
            self.show(event)

    # --- pieces ---

    def _piece(self, piece: Piece) -> None:
        if piece.subject != self._stream:
            self._break()
            self._stream = piece.subject
        self._told[piece.subject] = self._told.get(piece.subject, 0) + len(piece.text)
        text = visible(piece.text)
        if piece.of is PieceOf.TEXT:
            self.paper.piece(text)
            self._line_open = not text.endswith("\n") if text else self._line_open
            return
        mark = f"   {self.call_of(piece.subject)}| " if piece.of is PieceOf.TOOL else "   ~ "
        for line in text.splitlines(keepends=True):
            start = "" if self._line_open else mark
            self.paper.piece(self.paper.toned(start + line.rstrip("\n"), Tone.DIM))
            self._line_open = not line.endswith("\n")
            if not self._line_open:
                self.paper.piece("\n")

    def _break(self) -> None:
        if self._line_open:
            self.paper.piece("\n")
        self._line_open, self._stream = False, None

    # --- facts ---

    def _fact(self, event: RuntimeEvent) -> None:
        told = event.refs.operation if event.kind is Kind.OUTCOME else event.refs.stream
        self._name_call(event)
        call = self.call_of(event.refs.operation or event.refs.ask)
        if event.kind in _SILENT:
            return
        self._break()
        match event.actions, event.content:
            case _, Text(text=text) if event.kind is Kind.MODEL_TEXT:
                # Shown again where pieces of it were lost to a terminal that fell behind.
                if told is None or self._told.get(told) != len(text):
                    self.paper.line(visible(text))
            case _, FunctionCall(name=name, args=args):
                words = visible(f"{name}: {shown(args if isinstance(args, dict) else {})}")
                self.paper.line(self.paper.fit(f"-> {call}{words}"), Tone.BOLD)
            case Outcome() as outcome, FunctionResponse() as response:
                self._outcome(outcome, response, call, streamed=told in self._told)
            case _:
                self._control(event, call)

    def _name_call(self, event: RuntimeEvent) -> None:
        if isinstance(event.actions, CallPlaced) and event.refs.operation is not None:
            placed = event.actions
            self._calls[event.refs.operation] = f"{placed.step}.{placed.position} "
        elif isinstance(event.actions, AskOpened) and event.refs.ask is not None:
            self._calls[event.refs.ask] = self.call_of(event.refs.operation)

    def call_of(self, about: str | None) -> str:
        """Return the name of the call that an id is about, and a space; nothing where it is none.

        Args:
            about: The id of an operation, or of a request to a person about one.
        """
        return "" if about is None else self._calls.get(about, "")

    def _outcome(
        self, outcome: Outcome, response: FunctionResponse, call: str, *, streamed: bool
    ) -> None:
        if not streamed:
            for line in some_lines(brief(response.result), _RESULT_LINES, "crashworthy show"):
                self.paper.line(self.paper.fit(f"   {call}| {line}"), Tone.DIM)
        took = "" if outcome.duration_ms is None else f" ({outcome.duration_ms / 1000:.1f} s)"
        good = outcome.result in (OutcomeResult.OK, OutcomeResult.RECONCILED)
        state = "not started, " if outcome.state is OutcomeState.NOT_STARTED else ""
        why = "" if good else reason_of(response.result)
        words = f"   {call}{visible(response.name)} {state}{outcome.result.value}{why}{took}"
        self.paper.line(self.paper.fit(words), Tone.GREEN if good else Tone.YELLOW)

    def _control(self, event: RuntimeEvent, call: str) -> None:
        say = self.paper.line
        match event.actions:
            case RequestDispatched(attempt=attempt) if attempt > 1:
                say(f"   asking the model again (attempt {attempt})", Tone.DIM)
            case ErrorNoted(failure=failure):
                words = event.content.message if isinstance(event.content, ErrorText) else ""
                say(self.paper.fit(f"!  {failure.value}: {visible(words)}"), Tone.RED)
            case AskOpened() as asked:
                say(f"?  {call}{asked.purpose.value} asked for {visible(asked.tool)}", Tone.YELLOW)
                for line in wanted(asked.expansion):
                    say(f"   {call}to {visible(line)}", Tone.YELLOW)
            case AskAnswered(decision=decision):
                say(f"   {call}{_DECIDED[decision]}", Tone.DIM)
            case AskClosed(reason=reason):
                say(f"   {call}the request was closed: {reason.value}", Tone.DIM)
            case StopRequested(source=source):
                say(f"   stop requested by {visible(source)}", Tone.YELLOW)
            case RunEnded() as end:
                self._end(end)
            case _ if event.kind is Kind.STEERING_TEXT and isinstance(event.content, Text):
                say(f"you: {visible(event.content.text)}", Tone.BOLD)
            case _ if event.kind is Kind.RUN_REATTACHED:
                say("   the run goes on", Tone.DIM)
            case _:
                return

    def _end(self, end: RunEnded) -> None:
        notice = ending_of(end).notice
        words = how_it_ended(end)
        if notice is not None:
            words = f"{words}. {notice}"
        done = end.failure is None and end.source is None
        self.paper.line(f"== {words}", Tone.GREEN if done else Tone.RED)


_SILENT: Final = frozenset((Kind.RUN_OPENED, Kind.USER_TEXT, Kind.DISPATCHED))
_DECIDED: Final[Mapping[AnswerDecision, str]] = {
    AnswerDecision.ALLOW: "allowed",
    AnswerDecision.DENY: "denied",
    AnswerDecision.ANSWER: "answered",
}
_WAITS: Final[Mapping[Code, str]] = {
    Code.STORAGE_FULL: "waiting for room on the disk",
    Code.STORAGE_BUSY: "waiting for another program to let go of the log",
    Code.STORAGE_READ_ONLY: "waiting until the log can be written again",
}


def how_it_ended(end: RunEnded) -> str:
    """Return the status of an end, and why where it was none to hope for."""
    reason = end.failure.value if end.failure is not None else end.source
    return end.status.value if reason is None else f"{end.status.value}: {reason}"


def noticed(notice: Notice) -> str:
    """Return what keeps a run waiting, or that it waits no longer, in words for people."""
    words = _WAITS.get(notice.code, "waiting for the disk, which fails")
    if notice.over:
        return f"   no longer {words}: stored, and going on"
    return (
        f"!  {words} [{notice.code}]: what happened last is kept in memory and stored as soon as"
        " it can be; if this process ends before, its outcome is unknown"
    )


def brief(result: Json) -> str:
    """Return the telling part of a tool's result as text: its one text if it has one."""
    if isinstance(result, str):
        return result
    if not isinstance(result, dict):
        return shown({"result": result})
    for name in ("output", "text"):
        text = result.get(name)
        if isinstance(text, str):
            return text
    return shown(result)


def reason_of(result: Json) -> str:
    """Return what a failed result says first: its code, or its exit code."""
    if not isinstance(result, dict):
        return ""
    for name in ("code", "exit_code", "signal"):
        if result.get(name) is not None:
            told = result[name]
            return f": {told}" if name == "code" else f": {name} {told}"
    return ""
