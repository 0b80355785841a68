"""Messages between host and worker: a length, then one JSON object, within a bound."""

import json
from collections.abc import Iterator
from typing import ClassVar, Final, cast

import attrs

from ....machines.facts.canonical import Json
from ....machines.facts.codes import Code, CrashworthyError

PROTOCOL: Final = 1
ORDER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Host to worker: arguments may hold a whole file."""
REPORT_BYTES_MAX: Final = 1024 * 1024
"""Worker to host: everything large comes in pieces."""
PIECE_BYTES: Final = 64 * 1024
"""How much output one report carries at most."""

_LENGTH_BYTES: Final = 4


@attrs.define(eq=False, kw_only=True)
class FrameInvalidError(CrashworthyError):
    """The other side broke the protocol; it is ended, since nothing it says can be trusted."""

    code: ClassVar[Code] = Code.FRAME_INVALID
    reason: str


def pack(message: dict[str, Json]) -> bytes:
    """Return the frame of `message`."""
    payload = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return len(payload).to_bytes(_LENGTH_BYTES, "big") + payload


@attrs.define(eq=False)
class FrameReader:
    """Turns a stream of bytes into messages, holding at most one incomplete frame."""

    size_bytes_max: int
    _pending: bytearray = attrs.field(factory=bytearray, init=False)

    def feed(self, data: bytes) -> Iterator[dict[str, Json]]:
        """Yield the messages that `data` completes.

        Raises:
            FrameInvalidError: `frame_invalid`, too large or not a JSON object.
        """
        self._pending += data
        while len(self._pending) >= _LENGTH_BYTES:
            size = int.from_bytes(self._pending[:_LENGTH_BYTES], "big")
            if size > self.size_bytes_max:
                raise FrameInvalidError(reason=f"a frame of {size} bytes")
            end = _LENGTH_BYTES + size
            if len(self._pending) < end:
                return
            payload = bytes(self._pending[_LENGTH_BYTES:end])
            del self._pending[:end]
            yield _message(payload)


def _message(payload: bytes) -> dict[str, Json]:
    try:
        # Not the canonical parser: both sides are ours, and output floods pass here.
        message = cast("Json", json.loads(payload))
    except ValueError as error:
        raise FrameInvalidError(reason="not JSON") from error
    if not isinstance(message, dict):
        raise FrameInvalidError(reason="not an object")
    return message


def text_field(message: dict[str, Json], name: str) -> str:
    """Return a text field.

    Raises:
        FrameInvalidError: `frame_invalid`, it is missing or of another kind.
    """
    value = message.get(name)
    if not isinstance(value, str):
        raise FrameInvalidError(reason=f"{name} is not text")
    return value


def int_field(message: dict[str, Json], name: str) -> int:
    """Return a whole-number field.

    Raises:
        FrameInvalidError: `frame_invalid`, it is missing or of another kind.
    """
    value = message.get(name)
    if type(value) is not int:
        raise FrameInvalidError(reason=f"{name} is not a whole number")
    return value
