"""The bytes of a model request: an ordered list of content-addressed parts (LOG-7)."""

from collections.abc import Sequence

import attrs

from ..machines.facts.canonical import Json, encode
from ..machines.facts.digests import Domain, digest
from .backends.contract import ToolOffer
from .means import Keep


@attrs.frozen(kw_only=True)
class Wire:
    """A request body: the digest over the assembled bytes, and the blobs of its parts in order."""

    digest: str
    parts: tuple[str, ...]


@attrs.define(eq=False, kw_only=True)
class WireBook:
    """Keeps the parts of a run's requests; a part that was kept once is not written again.

    What a request adds to the disk is its new messages only, however long the history is.
    """

    keep: Keep
    _kept: dict[bytes, str] = attrs.field(factory=dict[bytes, str])

    async def write(
        self,
        system: Sequence[tuple[str, str]],
        offers: Sequence[ToolOffer],
        messages: Sequence[Json],
    ) -> Wire:
        """Make every part durable and return the request's identity.

        Args:
            system: The system prompt's parts, by name.
            offers: The tools as the model is told of them.
            messages: The checked history.
        """
        parts = [encode({"prompt": name, "text": text}) for name, text in system]
        parts += [
            encode({"tool": offer.name, "description": offer.description, "schema": offer.schema})
            for offer in offers
        ]
        parts += [encode({"message": message}) for message in messages]
        names: list[str] = []
        for part in parts:
            known = self._kept.get(part)
            if known is None:
                known = self._kept[part] = await self.keep(part)
            names.append(known)
        return Wire(digest=digest(Domain.WIRE, *parts), parts=tuple(names))
