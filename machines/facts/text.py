"""The one rule by which unclean text is seen, refused or repaired (BYTE-3)."""

import re
from enum import StrEnum
from typing import Final

import attrs

from .json_values import TextUncleanError

REPLACEMENT: Final = "\ufffd"
OFFSETS_MAX: Final = 16
"""How many places one loss names; the rest is counted."""

_FLAW: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_PAIR_LENGTH: Final = 2


class TextLossReason(StrEnum):
    """What the repair did; append-only."""

    REPLACED = "text_replaced"  # a lone surrogate or an invalid byte became U+FFFD
    JOINED = "surrogates_joined"  # a high and a low surrogate became the one character they encode


@attrs.frozen(kw_only=True)
class TextLoss:
    """What one repair changed, for one reason.

    Attributes:
        reason: What was done.
        count: How often, in the whole text.
        offsets: The first `OFFSETS_MAX` places, in code points of the repaired text.
    """

    reason: TextLossReason
    count: int
    offsets: tuple[int, ...]


def is_clean(text: str) -> bool:
    """Tell whether `text` has a UTF-8 form; NUL is data and clean."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def repair_text(value: str | bytes) -> tuple[str, tuple[TextLoss, ...]]:
    """Return clean text and what had to be changed for it; clean text comes back unchanged.

    Each byte that belongs to no UTF-8 character, and each lone surrogate, becomes one U+FFFD. A
    high surrogate directly before a low one is text whose halves travelled apart and becomes its
    character. So bytes and their `surrogateescape` form repair alike, and a second repair does
    nothing. Apply it to a whole text, never to its pieces: a cut may fall inside a character.
    """
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    if is_clean(text):
        return text, ()
    places: dict[TextLossReason, list[int]] = {reason: [] for reason in TextLossReason}
    joined_before = 0

    def mend(flaw: re.Match[str]) -> str:
        nonlocal joined_before
        offset = flaw.start() - joined_before
        if len(flaw[0]) == _PAIR_LENGTH:
            joined_before += 1
            places[TextLossReason.JOINED].append(offset)
            return flaw[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        places[TextLossReason.REPLACED].append(offset)
        return REPLACEMENT

    repaired = _FLAW.sub(mend, text)
    losses = tuple(
        TextLoss(reason=reason, count=len(offsets), offsets=tuple(offsets[:OFFSETS_MAX]))
        for reason, offsets in places.items()
        if offsets
    )
    return repaired, losses


def preview(text: str, limit_bytes: int) -> tuple[str, int]:
    """Return the longest start of `text` within `limit_bytes` of UTF-8, and what it cut.

    The cut is counted in code points. The work is bounded by the limit, not by the text.

    Raises:
        TextUncleanError: `unclean_text`, when the start of `text` was not repaired before.
    """
    assert limit_bytes >= 0
    head = text[:limit_bytes]  # A code point takes at least one byte, so this holds the answer.
    try:
        encoded = head.encode()
    except UnicodeEncodeError as error:
        raise TextUncleanError(found=f"lone surrogate at offset {error.start}") from None
    # The input is clean, so all that `ignore` can drop is the character the limit cut through.
    kept = encoded[:limit_bytes].decode("utf-8", "ignore")
    return kept, len(text) - len(kept)
