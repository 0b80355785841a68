"""Asks the person at the terminal; whoever is not there leaves the request open (ASK-1)."""

import os
import sys
from enum import StrEnum
from typing import Final

import attrs
import trio

from ...machines.facts.model import Question
from ...machines.facts.vocabulary import AnswerDecision, Purpose
from ..attending import ALLOW, DENY, Answer
from ..runtime import PendingAsk
from .narrate import Narrator
from .pending import option_number
from .terminal import Paper, Tone, visible

_READ_BYTES: Final = 4096
_REVIEW_INDENT: Final = "   "


class Voice(StrEnum):
    """Who answers for the person."""

    TERMINAL = "terminal"  # the person, who sits at this terminal
    YES = "yes"  # every approval is given, because the command line says so
    NOBODY = "nobody"  # requests stay open


@attrs.define(eq=False, kw_only=True)
class Prompter:
    """Answers what a run asks, in one of three voices (attending.Answerer).

    Attributes:
        narrator: Keeps still while a question stands on the screen.
    """

    voice: Voice
    narrator: Narrator
    paper: Paper
    _typed: bytes = attrs.field(default=b"", init=False)

    async def answer(self, ask: PendingAsk) -> Answer | None:
        """Return the person's answer to one request; None leaves it open."""
        await trio.lowlevel.checkpoint()
        question = ask.action.purpose is Purpose.QUESTION
        if self.voice is Voice.YES:
            return None if question else ALLOW
        if self.voice is Voice.NOBODY:
            return None
        self.narrator.hold()
        try:
            return await (self._questions(ask) if question else self._approval(ask))
        finally:
            self.narrator.release()

    async def _approval(self, ask: PendingAsk) -> Answer | None:
        call = self.narrator.call_of(ask.ask)
        for line in review_lines(ask):
            self.paper.line(f"{_REVIEW_INDENT}{call}{line}")
        while True:
            self.paper.piece("   [y] allow this once   [n] deny   [l] leave it open > ")
            typed = await self._line()
            match None if typed is None else typed.strip().lower():
                case "y" | "yes":
                    return ALLOW
                case "n" | "no":
                    return DENY
                case "l" | "later" | None:
                    return None
                case _:
                    continue

    async def _questions(self, ask: PendingAsk) -> Answer | None:
        answers: list[str | None] = []
        for question in ask.action.questions:
            given = await self._question(question)
            if given is None:
                return None
            answers.append(given or None)
        return Answer(decision=AnswerDecision.ANSWER, answers=tuple(answers))

    async def _question(self, question: Question) -> str | None:
        """Return the answer, empty for a question that is passed over; None at end of input."""
        self.paper.line(f"?  {visible(question.text)}", Tone.YELLOW)
        for number, option in enumerate(question.options, 1):
            self.paper.line(f"   [{number}] {visible(option)}")
        while True:
            self.paper.piece("   (Enter passes) > ")
            typed = await self._line()
            if typed is None:
                return None
            typed = typed.strip()
            chosen = option_number(typed, question)
            if chosen is not None:
                return question.options[chosen]
            if not typed or not question.options or typed in question.options:
                return typed

    async def _line(self) -> str | None:
        """Return the next line of standard input; None at its end.

        Not `input()`: a thread that waits for a person could not be called off by Ctrl-C.
        """
        while b"\n" not in self._typed:
            await trio.lowlevel.wait_readable(0)
            more = os.read(0, _READ_BYTES)
            if not more:
                self.paper.line()
                return None
            self._typed += more
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace")


def review_lines(ask: PendingAsk) -> list[str]:
    """Return what a person has to see before they allow it: the action, whole and spelled out."""
    lines = visible(ask.action.review).split("\n")
    if ask.action.purpose is Purpose.BOUNDARY:
        lines.append("once allowed, this session may do so from now on")
    return lines


def voice_of(*, yes: bool, no_input: bool) -> Voice:
    """Return who answers: the options' word first, else whether there is a person."""
    if yes:
        return Voice.YES
    return Voice.TERMINAL if not no_input and sys.stdin.isatty() else Voice.NOBODY
