"""History in the form of one target: plain blocks, degraded only where it says so (PROJ-2).

A message is `{"role": "user"|"assistant"|"tool", "content": [block, ...]}`. Blocks are `text`,
`thinking`, `tool_call`, `tool_result` and, for targets that take them, `image`, which names the
blob that holds its bytes. A step becomes one assistant message (thinking, words, calls), and one
tool message with the results in the order of the calls.
"""

from collections.abc import Sequence
from typing import Final

import attrs

from ..facts.canonical import Json
from ..facts.model import Attachment
from ..facts.vocabulary import AttachmentKind
from .answers import Status
from .items import CallItem, Item, StepItem, ThoughtItem, UserItem
from .losses import Loss, LossReason, degraded, omitted
from .target import Capabilities, ThinkingForm
from .told_result import as_text, tell_arguments, tell_result

Block = dict[str, Json]
_STATES: Final = {
    Status.SETTLED: "result",
    Status.NOT_STARTED: "not started",
    Status.UNKNOWN: "outcome unknown",
}


@attrs.frozen(kw_only=True)
class Message:
    """One message of a request, and the facts behind it."""

    role: str
    blocks: tuple[Block, ...]
    events: tuple[str, ...]

    def body(self) -> dict[str, Json]:
        """Return the plain form, the one that backends consume."""
        return {"role": self.role, "content": list(self.blocks)}


def materialise(
    items: Sequence[Item], target: Capabilities
) -> tuple[tuple[Message, ...], tuple[Loss, ...]]:
    """Return the messages of a history for one target, and what they lack of its items."""
    losses: list[Loss] = []
    images = _images_within(items, target)
    messages: list[Message] = []
    for item in items:
        match item:
            case UserItem():
                messages.append(_user(item, images, losses))
            case StepItem():
                messages.extend(_step(item, target, losses))
    if not target.consecutive_users:
        messages = _merged(messages)
    return tuple(messages), tuple(losses)


# --- users ---


def _images_within(items: Sequence[Item], target: Capabilities) -> frozenset[tuple[str, int]]:
    """Choose the images that the target's budget holds, the newest first (LOG-1)."""
    chosen: set[tuple[str, int]] = set()
    left = target.image_bytes_max if target.images else 0
    for item in reversed(items):
        if isinstance(item, UserItem):
            for place, one in reversed(list(enumerate(item.attachments))):
                if target.images and one.kind is AttachmentKind.IMAGE and one.bytes <= left:
                    left -= one.bytes
                    chosen.add((item.event, place))
    return frozenset(chosen)


def _user(item: UserItem, images: frozenset[tuple[str, int]], losses: list[Loss]) -> Message:
    lines = [item.text] if item.text.strip() else []
    blocks: list[Block] = []
    for place, one in enumerate(item.attachments):
        if (item.event, place) in images:
            blocks.append(_image(one))
        else:
            lines.append(_note(one))
            losses.append(degraded(item.event, LossReason.ATTACHMENT_AS_NOTE))
    if lines:
        # One block: readers of a history tell the messages of a user by their text blocks.
        blocks.append(_text("\n\n".join(lines)))
    return Message(role="user", blocks=tuple(blocks), events=item.events)


def _image(one: Attachment) -> Block:
    return {
        "type": "image",
        "media_type": one.media_type,
        "bytes": one.bytes,
        "digest": one.digest,
        "name": one.name,
    }


def _note(one: Attachment) -> str:
    name = "" if one.name is None else f" {one.name}"
    return f"[attached {one.kind.value}{name}: {one.media_type}, {one.bytes} bytes, not shown here]"


def _merged(messages: Sequence[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        if not (merged and message.role == merged[-1].role == "user"):
            merged.append(message)
            continue
        blocks = (*merged[-1].blocks, *message.blocks)
        events = (*merged[-1].events, *message.events)
        merged[-1] = attrs.evolve(message, blocks=blocks, events=events)
    return merged


# --- steps ---


def _text(words: str) -> Block:
    return {"type": "text", "text": words}


def _step(item: StepItem, target: Capabilities, losses: list[Loss]) -> list[Message]:
    """Tell a step; without native tools in words, its results in the only other voice: a user's."""
    native = target.native_tools
    thoughts = _thoughts(item, target, losses)
    calls = [_call(one, losses) if native else _text(_say_call(one, losses)) for one in item.calls]
    said = [_text(one.text) for one in item.texts]
    blocks = (*(_thinking(one, target) for one in thoughts), *said, *calls)
    if not blocks:
        return []
    events = (
        *(one.event for one in thoughts),
        *(one.event for one in item.texts),
        *(one.event for one in item.calls),
    )
    spoken = Message(role="assistant", blocks=blocks, events=events)
    if not item.calls:
        return [spoken]
    results = [
        _result(one, losses) if native else _text(_say_result(one, losses)) for one in item.calls
    ]
    answers = tuple(event for call in item.calls for event in call.answer.events)
    role = "tool" if native else "user"
    return [spoken, Message(role=role, blocks=tuple(results), events=answers)]


def _thoughts(item: StepItem, target: Capabilities, losses: list[Loss]) -> Sequence[ThoughtItem]:
    """Return the thinking of a step that its target takes: with signatures all of it or none."""
    thoughts = item.thoughts
    if not thoughts:
        return ()
    refused = {one.event: _refusal(one, item, target) for one in thoughts}
    if not (item.texts or item.calls):
        # Providers take no message that ends in reasoning, and it answers nothing (BR-03).
        refused = dict.fromkeys(refused, LossReason.THINKING_ALONE)
    elif target.thinking is ThinkingForm.SIGNED and any(refused.values()):
        refused = {event: why or LossReason.THINKING_BROKEN for event, why in refused.items()}
    losses.extend(omitted(event, why) for event, why in refused.items() if why is not None)
    kept = [one for one in thoughts if refused[one.event] is None]
    if target.thinking is ThinkingForm.UNSIGNED:
        unsigned = (one.event for one in kept if one.signature is not None)
        losses.extend(degraded(event, LossReason.SIGNATURE_DROPPED) for event in unsigned)
    return kept


def _refusal(one: ThoughtItem, item: StepItem, target: Capabilities) -> LossReason | None:
    match target.thinking:
        case ThinkingForm.NONE:
            return LossReason.THINKING_UNSUPPORTED
        case ThinkingForm.UNSIGNED:
            return None if one.text else LossReason.EMPTY
        case ThinkingForm.SIGNED:
            if not one.signature:
                return LossReason.THINKING_UNSIGNED
            foreign = target.signer is not None and target.signer != item.signer
            return LossReason.THINKING_FOREIGN if foreign else None


def _thinking(one: ThoughtItem, target: Capabilities) -> Block:
    signed = target.thinking is ThinkingForm.SIGNED
    return {
        "type": "thinking",
        "text": one.text,
        "signature": one.signature if signed else None,
    }


def _call(call: CallItem, losses: list[Loss]) -> Block:
    args, reasons = tell_arguments(call.args)
    losses.extend(degraded(call.event, reason) for reason in reasons)
    return {
        "type": "tool_call",
        "label": call.label,
        "operation": call.operation,
        "name": call.name,
        "args": args,
    }


def _result(call: CallItem, losses: list[Loss]) -> Block:
    return {
        "type": "tool_result",
        "operation": call.operation,
        "label": call.label,
        "name": call.name,
        "result": _told(call, losses),
        "status": call.answer.status.value,
        "is_error": call.answer.is_error,
    }


def _told(call: CallItem, losses: list[Loss]) -> Json:
    told, reasons = tell_result(call.answer.result, call.answer.cut)
    losses.extend(degraded(event, reason) for event in call.answer.events[:1] for reason in reasons)
    return told


def _say_call(call: CallItem, losses: list[Loss]) -> str:
    losses.append(degraded(call.event, LossReason.CALL_AS_TEXT))
    return f"[called {call.name} with {as_text(call.args)}]"


def _say_result(call: CallItem, losses: list[Loss]) -> str:
    told = as_text(_told(call, losses))
    losses.extend(degraded(event, LossReason.RESULT_AS_TEXT) for event in call.answer.events)
    failed = ", an error" if call.answer.is_error else ""
    return f"[{call.name}: {_STATES[call.answer.status]}{failed}]\n{told}"
