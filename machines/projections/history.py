"""What a model is shown of a session: a strict history, with every loss named (PROJ-2)."""

from collections.abc import Sequence

import attrs

from ..facts.canonical import Json
from ..facts.model import RuntimeEvent
from .bound import up_to
from .checker import check_history
from .items import Item, tell
from .losses import Loss
from .materialise import Message, materialise
from .reading import read
from .target import Capabilities


@attrs.frozen(kw_only=True)
class History:
    """A history that passed the strict checker.

    Attributes:
        items: The same in no provider's words; a call and its answer are one value.
        losses: One entry for each fact and way in which it is not in `messages` as it is. A fact
            is in some message's `events`, or its entry says that it is omitted.
    """

    items: tuple[Item, ...]
    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]

    def bodies(self) -> list[Json]:
        """Return the messages in their plain form, the one that backends consume."""
        return [message.body() for message in self.messages]


def history(
    facts: Sequence[RuntimeEvent], target: Capabilities, *, at: int | None = None
) -> History:
    """Return the history that facts tell, in the form of one target. Pure and total.

    Args:
        facts: Those of one session in commit order, its control ledger among them so that verdicts
            count; or those of one run.
        target: What the model can carry.
        at: How many of the facts count; all of them by default (PROJ-1).
    """
    told = tell(read(up_to(facts, at)))
    messages, weakened = materialise(told.items, target)
    shown = History(items=told.items, messages=messages, losses=(*told.losses, *weakened))
    findings = check_history(shown.bodies(), target)
    assert not findings, findings
    return shown
