"""Waiting for a person: a run sleeps on its open requests and is woken by facts (ASK-1, ASK-3)."""

import attrs
import trio


def _events() -> dict[str, trio.Event]:
    return {}


@attrs.define(eq=False, kw_only=True)
class Waiting:
    """Who sleeps on which request; only facts decide, this wakes whoever should look again."""

    _events: dict[str, trio.Event] = attrs.field(factory=_events)

    def decided(self, ask: str) -> None:
        """Wake whoever waits for this request: a fact about it is durable."""
        event = self._events.pop(ask, None)
        if event is not None:
            event.set()

    async def wait(self, ask: str, seconds: float) -> bool:
        """Sleep until the request is decided.

        Args:
            ask: The request.
            seconds: How long until its deadline; infinite without one.

        Returns:
            Whether it was decided; False when the deadline came first.
        """
        event = self._events.setdefault(ask, trio.Event())
        with trio.move_on_after(max(0.0, seconds)):
            await event.wait()
            return True
        return False
