"""From a backend stream to the blocks of one step; only a stated finish makes facts (LOG-7a)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum

import attrs
import trio

from ..machines.facts.canonical import Json
from ..machines.facts.codes import CrashworthyError
from ..machines.facts.model import Usage
from ..machines.facts.vocabulary import Failure, Finish
from .backends.contract import (
    BackendEvent,
    BackendFailedError,
    BlockEnded,
    CallStated,
    Finished,
    TextPiece,
    ThinkingPiece,
    ThinkingSigned,
    UsageStated,
)


class BlockOf(StrEnum):
    """What a block holds."""

    TEXT = "text"
    THINKING = "thinking"


@attrs.define(kw_only=True)
class Block:
    """One text or thinking block, in the order the model gave it.

    Attributes:
        number: From 1 within the request; names the block's stream.
    """

    number: int
    of: BlockOf
    parts: list[str] = attrs.field(factory=list[str])
    signature: str | None = None

    @property
    def text(self) -> str:
        """Return the words so far."""
        return "".join(self.parts)


@attrs.frozen(kw_only=True)
class StatedCall:
    """A whole call as the model stated it."""

    label: str
    name: str
    args: Json


@attrs.define(kw_only=True)
class Reply:
    """What one request gave: complete only with a finish.

    Attributes:
        finish: What the stream stated; None if it ended or failed without a word.
        failure: The closed kind of the failure, if it failed.
        late: What the backend ran into behind its stated finish, which stands (RUN-2).
        observable: Something of it was shown that a retry would contradict (BACK-1).
    """

    blocks: list[Block] = attrs.field(factory=list[Block])
    calls: list[StatedCall] = attrs.field(factory=list[StatedCall])
    usage: Usage | None = None
    finish: Finish | None = None
    failure: Failure | None = None
    message: str = ""
    retry_after_ms: int | None = None
    late: Exception | None = None

    def fail(self, error: Exception) -> None:
        """Note why the request failed; a finish that was stated before stands (RUN-2)."""
        if self.finish is not None:
            self.late = error
            return
        if isinstance(error, BackendFailedError):
            self.failure, self.message = error.failure, error.message
            self.retry_after_ms = error.retry_after_ms
        else:
            self.failure, self.message = Failure.UNKNOWN, f"{type(error).__name__}: {error}"

    @property
    def observable(self) -> bool:
        """Say whether words or calls were shown."""
        said = any(block.of is BlockOf.TEXT and block.parts for block in self.blocks)
        return said or bool(self.calls)


Watch = Callable[[Block, str], Awaitable[None]]
"""Told each new piece with its block; keeps partials and shows them."""


async def read_reply(
    stream: AsyncIterator[BackendEvent], watch: Watch, idle_s: float | None
) -> Reply:
    """Read a stream to its finish, its end, its failure, or the watchdog's patience.

    Args:
        stream: The backend's events.
        watch: Told each piece.
        idle_s: Seconds without an event after which the request counts as timed out; None waits.

    Raises:
        CrashworthyError: The store failed while a snapshot was kept.
    """
    reply = Reply()
    try:
        await _read(reply, stream, watch, float("inf") if idle_s is None else idle_s)
    except BackendFailedError as error:
        reply.fail(error)
    except CrashworthyError:
        raise  # The store's word about a snapshot is none of the backend's.
    except trio.TooSlowError:
        reply.failure, reply.message = Failure.TIMEOUT, f"nothing came for {idle_s} s"
    except Exception as error:  # noqa: BLE001 - a backend is foreign code; its bug fails its request
        reply.fail(error)
    return reply


async def _read(
    reply: Reply, stream: AsyncIterator[BackendEvent], watch: Watch, idle_s: float
) -> None:
    open_block = list[Block]()
    while reply.finish is None:
        with trio.fail_after(idle_s):
            event = await anext(stream, None)
        if event is None:
            return
        await _take(reply, open_block, event, watch)


async def _take(reply: Reply, open_block: list[Block], event: BackendEvent, watch: Watch) -> None:
    match event:
        case TextPiece() | ThinkingPiece():
            of = BlockOf.TEXT if isinstance(event, TextPiece) else BlockOf.THINKING
            if not open_block or open_block[-1].of is not of:
                open_block[:] = [Block(number=len(reply.blocks) + 1, of=of)]
                reply.blocks.append(open_block[-1])
            open_block[-1].parts.append(event.text)
            await watch(open_block[-1], event.text)
        case ThinkingSigned():
            if open_block and open_block[-1].of is BlockOf.THINKING:
                open_block[-1].signature = event.signature
            else:
                thought = Block(
                    number=len(reply.blocks) + 1, of=BlockOf.THINKING, signature=event.signature
                )
                reply.blocks.append(thought)
            open_block.clear()
        case BlockEnded():
            open_block.clear()
        case CallStated():
            open_block.clear()
            reply.calls.append(StatedCall(label=event.label, name=event.name, args=event.args))
        case UsageStated():
            reply.usage = event.usage
        case Finished():
            reply.finish = event.finish
