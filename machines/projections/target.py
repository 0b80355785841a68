"""What a model can carry: the capabilities that history is materialised for (PROJ-2)."""

from enum import StrEnum

import attrs


class ThinkingForm(StrEnum):
    """In which form a target takes a model's own earlier reasoning."""

    NONE = "none"
    SIGNED = "signed"  # each block with its whole signature, or no block of the step
    UNSIGNED = "unsigned"  # words only


@attrs.frozen(kw_only=True)
class Capabilities:
    """What a target carries natively; the rest degrades, and the loss report says so.

    Attributes:
        native_tools: It takes calls and results; without, both become text.
        signer: The backend whose signatures it takes; None takes those of any.
        images: It takes images among a user's words.
        image_bytes_max: How many bytes of images one history may ask it to read, newest first.
        consecutive_users: It takes user messages that follow each other; without, they are merged.
    """

    native_tools: bool = True
    thinking: ThinkingForm = ThinkingForm.NONE
    signer: str | None = None
    images: bool = False
    image_bytes_max: int = 16 * 1024 * 1024
    consecutive_users: bool = True
