"""A transcript as lines for people: what was said, done, asked and left open, in order."""

from collections.abc import Mapping
from typing import Final

import attrs

from ...machines.facts import canonical
from ...machines.facts.canonical import CanonicalError
from ...machines.projections import transcript_parts as t
from ...machines.projections.endings import EndClass
from ...machines.projections.recovery import Parking
from ..permission import wanted
from .narrate import brief
from .terminal import Paper, Tone, moment, some_lines, visible

_INDENT: Final = "   | "


@attrs.frozen(kw_only=True)
class Renderer:
    """Writes transcripts on paper.

    Attributes:
        lines_max: How many lines of a long output are shown; 0 for all.
        how: The command that shows the rest.
    """

    paper: Paper
    lines_max: int
    how: str

    def write(self, transcript: t.Transcript) -> None:
        """Write a transcript."""
        for turn in transcript.turns:
            self._turn(turn)
        for message in transcript.messages:
            if message.status in (t.MessageStatus.QUEUED, t.MessageStatus.RETURNED):
                words = f"{message.status.value} {message.intent.value}: {visible(message.text)}"
                self.paper.line(self.paper.fit(words), Tone.DIM)

    def _turn(self, turn: t.Turn) -> None:
        head = f"-- {moment(turn.opened_ts)}  {turn.run}  {turn.state.value}"
        self.paper.line(head, Tone.DIM)
        for part in turn.parts:
            self._part(part)
        self.paper.line(*_end(turn))
        self.paper.line()

    def _part(self, part: t.Part) -> None:
        match part:
            case t.UserPart():
                who = "you (meanwhile)" if part.steering else "you"
                self.paper.line(f"{who}: {visible(part.text)}", Tone.BOLD)
                for one in part.attachments:
                    self.paper.line(f"   with {one.kind.value} {visible(one.name or one.digest)}")
            case t.TextPart():
                self.paper.line(visible(part.text))
            case t.ThinkingPart():
                self._long(part.text, "   ~ ")
            case t.ToolPart():
                self._tool(part)
            case t.ErrorPart():
                words = f"!  {part.severity.value}: {part.failure.value}"
                told = "" if part.message is None else f": {visible(part.message)}"
                self.paper.line(self.paper.fit(words + told), _SEVERE[part.severity])
            case t.FragmentPart():
                self.paper.line(f"   unfinished {part.fragment.lane.value}:", Tone.YELLOW)
                self._long(part.fragment.text)
            case t.NoticePart():
                self.paper.line(f"   {part.text}", Tone.YELLOW)

    def _tool(self, part: t.ToolPart) -> None:
        call = f"{part.step}.{part.position}"
        words = visible(f"-> {call} {part.name}: {part.args.text}")
        self.paper.line(self.paper.fit(words), Tone.BOLD)
        for ask in part.asks:
            self._ask(ask)
        if part.told is not None and part.told.text:
            self._long(_told(part.told))
        elif part.live is not None:
            self._long(part.live.text)
        self.paper.line(self.paper.fit(f"   {call} {_standing(part)}"), _STANDS[part.status])
        if part.parking is not None:
            self.paper.line(f"   {_parked(part.parking)}", Tone.YELLOW)
        for artifact in part.artifacts:
            name = visible(artifact.name)
            self.paper.line(f"   made {name} ({artifact.media_type}, {artifact.bytes} bytes)")

    def _ask(self, ask: t.AskRow) -> None:
        if ask.decision is not None:
            told = "; ".join(visible(answer or "passed") for answer in ask.answers)
            state = f"{ask.decision.value} {told}".rstrip()
        else:
            state = "open" if ask.closed is None else f"closed: {ask.closed.value}"
        self.paper.line(f"?  {ask.purpose.value} {ask.ask}: {state}", Tone.YELLOW)
        for line in wanted(ask.expansion):
            self.paper.line(f"   to {visible(line)}")
        for question in ask.questions:
            self.paper.line(f"   {visible(question.text)}")

    def _long(self, text: str, mark: str = _INDENT) -> None:
        for line in some_lines(text, self.lines_max, self.how):
            self.paper.line(mark + line, Tone.DIM)


def unsettled_lines(turn: t.Turn) -> list[str]:
    """Return one line for each call of a turn that may or may not have happened."""
    return [
        f"   {part.step}.{part.position} {visible(part.name)} {_standing(part)}:"
        f" {_parked(part.parking)}"
        for part in turn.parts
        if isinstance(part, t.ToolPart) and part.parking is not None
    ]


def _parked(parking: Parking) -> str:
    return f"{parking.sentence} {parking.action}"


def _told(told: t.Preview) -> str:
    """Return what a call's result tells: its text as it was, where the preview has it whole."""
    if told.cut:
        return f"{told.text} ({told.cut} more characters)"
    try:
        return brief(canonical.parse(told.text.encode()))
    except CanonicalError:
        return told.text


def _standing(part: t.ToolPart) -> str:
    words = part.status.value.replace("_", " ")
    if part.result is not None:
        words += f": {part.result.value}"
    if part.duration_ms is not None:
        words += f" ({part.duration_ms / 1000:.1f} s)"
    if part.output_bytes is not None:
        words += f", {part.output_bytes} bytes in all"
        words += "" if part.output_blob is None else f" in blob {part.output_blob}"
    if part.verdict is not None:
        words += f"; a person says: {part.verdict.verdict.value}"
    return words


def _end(turn: t.Turn) -> tuple[str, Tone]:
    if turn.terminal is None:
        return f"== {turn.state.value}", Tone.YELLOW
    why = turn.terminal.failure or turn.terminal.source
    words = turn.terminal.status.value + ("" if why is None else f": {why}")
    return f"== {words}", Tone.GREEN if turn.terminal.meaning is EndClass.SUCCESS else Tone.RED


_SEVERE: Final[Mapping[t.Severity, Tone]] = {
    t.Severity.INFO: Tone.DIM,
    t.Severity.WARNING: Tone.YELLOW,
    t.Severity.ERROR: Tone.RED,
}
_STANDS: Final[Mapping[t.ToolStatus, Tone]] = {
    t.ToolStatus.PENDING: Tone.DIM,
    t.ToolStatus.WAITING: Tone.YELLOW,
    t.ToolStatus.RUNNING: Tone.DIM,
    t.ToolStatus.NOT_STARTED: Tone.YELLOW,
    t.ToolStatus.SETTLED: Tone.DIM,
    t.ToolStatus.UNKNOWN: Tone.RED,
    t.ToolStatus.PARKED: Tone.RED,
}
