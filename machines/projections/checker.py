"""The strict history checker: one function that every history passes before it is sent (PROJ-2).

It judges messages alone, in the form that `materialise` states, and knows nothing of facts: what it
refuses, a provider would refuse or misread. It finds and never repairs.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts import canonical
from ..facts.canonical import CanonicalError, Json
from .answers import Status
from .target import Capabilities, ThinkingForm


class Fault(StrEnum):
    """What is wrong with a history; append-only."""

    NOT_STRICT_JSON = "not_strict_json"  # no canonical bytes: unclean text, kinds, numbers, depth
    MESSAGE_MALFORMED = "message_malformed"  # not exactly a known role and a list of blocks
    MESSAGE_EMPTY = "message_empty"
    BLOCK_MALFORMED = "block_malformed"  # a type, key or value that no block has
    BLOCK_MISPLACED = "block_misplaced"  # not in a message of this role, or after calls
    TEXT_EMPTY = "text_empty"
    PARTIAL = "partial"  # a streaming piece, which is never history (LOG-5)
    ARGUMENTS_NOT_OBJECT = "arguments_not_object"
    CALL_REPEATED = "call_repeated"  # the operation was called before
    CALL_UNANSWERED = "call_unanswered"  # no result directly after the call's message
    CALL_ANSWERED_TWICE = "call_answered_twice"
    RESULT_ORPHAN = "result_orphan"  # it answers no call of the message directly before
    RESULT_OUT_OF_ORDER = "result_out_of_order"
    RESULT_MISNAMED = "result_misnamed"  # another label or tool than its call
    RESULT_EMPTY = "result_empty"
    THINKING_REFUSED = "thinking_refused"  # the target takes no thinking
    THINKING_UNSIGNED = "thinking_unsigned"  # sent as signed without a signature
    THINKING_SIGNED = "thinking_signed"  # a signature where the target has no place for it
    THINKING_EMPTY = "thinking_empty"
    THINKING_LAST = "thinking_last"  # nothing follows it in its message
    TOOLS_REFUSED = "tools_refused"  # the target has no native tools
    IMAGE_REFUSED = "image_refused"
    USERS_CONSECUTIVE = "users_consecutive"  # the target takes no two user messages in a row


@attrs.frozen(kw_only=True)
class Finding:
    """One fault and its place; `block` is None where the message itself is at fault."""

    fault: Fault
    message: int
    block: int | None = None


_KEYS: Final = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "text", "signature"}),
    "tool_call": frozenset({"type", "label", "operation", "name", "args"}),
    "tool_result": frozenset(
        {"type", "operation", "label", "name", "result", "status", "is_error"}
    ),
    "image": frozenset({"type", "media_type", "bytes", "digest", "name"}),
}
_TEXTS: Final = ("text", "label", "operation", "name", "media_type", "digest")
_PLACES: Final = {
    "user": frozenset({"text", "image"}),
    "assistant": frozenset({"text", "thinking", "tool_call"}),
    "tool": frozenset({"tool_result"}),
}

Block: TypeAlias = dict[str, Json]
Read: TypeAlias = tuple[str, list[Block]]


def check_history(messages: Sequence[Json], target: Capabilities) -> tuple[Finding, ...]:
    """Return everything that is wrong with the messages of a request; nothing, when it is sound.

    Every call is answered exactly once, directly after its message and in the order of the calls;
    no result without its call, no empty message or text, no partial; arguments are objects;
    thinking stands only in the form that the target takes; all of it is strict UTF-8 JSON (G2).
    """
    findings: list[Finding] = []
    called: set[str] = set()
    open_calls: list[Block] = []
    role_before = ""
    for place, message in enumerate(messages):
        findings.extend(_strict(place, message))
        read = _read(message)
        if read is None:
            findings.append(Finding(fault=Fault.MESSAGE_MALFORMED, message=place))
            role_before = ""
            findings.extend(_pair(place, (), open_calls))
            open_calls = []
            continue
        role, blocks = read
        findings.extend(_judge_message(place, role, role_before, blocks, target))
        for spot, block in enumerate(blocks):
            findings.extend(
                Finding(fault=fault, message=place, block=spot)
                for fault in _judge_block(role, block, target)
            )
        findings.extend(_pair(place, blocks, open_calls))
        open_calls = [block for block in blocks if block.get("type") == "tool_call"]
        findings.extend(_refuse_repeats(place, blocks, called))
        role_before = role
    if open_calls:
        findings.append(Finding(fault=Fault.CALL_UNANSWERED, message=len(messages) - 1))
    return tuple(findings)


def _strict(place: int, message: Json) -> list[Finding]:
    try:
        canonical.check([message])
    except CanonicalError:
        return [Finding(fault=Fault.NOT_STRICT_JSON, message=place)]
    return []


def _read(message: Json) -> Read | None:
    if not isinstance(message, dict) or message.keys() != {"role", "content"}:
        return None
    role, content = message["role"], message["content"]
    if not isinstance(role, str) or role not in _PLACES or not isinstance(content, list):
        return None
    blocks = [block for block in content if isinstance(block, dict)]
    return (role, blocks) if len(blocks) == len(content) else None


def _judge_message(
    place: int, role: str, before: str, blocks: Sequence[Block], target: Capabilities
) -> list[Finding]:
    faults: list[Fault] = []
    if not blocks:
        faults.append(Fault.MESSAGE_EMPTY)
    elif blocks[-1].get("type") == "thinking":
        faults.append(Fault.THINKING_LAST)
    if role == before == "user" and not target.consecutive_users:
        faults.append(Fault.USERS_CONSECUTIVE)
    return [Finding(fault=fault, message=place) for fault in faults]


def _judge_block(role: str, block: Block, target: Capabilities) -> list[Fault]:
    kind = block.get("type")
    keys = _KEYS.get(kind) if isinstance(kind, str) else None
    if "partial" in block:
        return [Fault.PARTIAL]
    if keys is None or block.keys() != keys:
        return [Fault.BLOCK_MALFORMED]
    texts = [block[key] for key in _TEXTS if key in keys and (kind, key) != ("image", "name")]
    if not all(isinstance(text, str) for text in texts):
        return [Fault.BLOCK_MALFORMED]
    if not isinstance(block.get("bytes", 0), int):
        return [Fault.BLOCK_MALFORMED]
    misplaced = [] if kind in _PLACES[role] else [Fault.BLOCK_MISPLACED]
    match kind:
        case "text":
            return misplaced + _judge_text(block)
        case "thinking":
            return misplaced + _judge_thinking(block, target)
        case "tool_call":
            return misplaced + _judge_call(block, target)
        case "tool_result":
            return misplaced + _judge_result(block, target)
        case _:
            return misplaced if target.images else [*misplaced, Fault.IMAGE_REFUSED]


def _judge_text(block: Block) -> list[Fault]:
    return [] if str(block["text"]).strip() else [Fault.TEXT_EMPTY]


def _judge_thinking(block: Block, target: Capabilities) -> list[Fault]:
    text, signature = block["text"], block["signature"]
    if signature is not None and not isinstance(signature, str):
        return [Fault.BLOCK_MALFORMED]
    if not text and not signature:
        return [Fault.THINKING_EMPTY]
    match target.thinking:
        case ThinkingForm.NONE:
            return [Fault.THINKING_REFUSED]
        case ThinkingForm.SIGNED:
            return [] if signature else [Fault.THINKING_UNSIGNED]
        case ThinkingForm.UNSIGNED:
            return [Fault.THINKING_SIGNED] if signature else []


def _judge_call(block: Block, target: Capabilities) -> list[Fault]:
    faults = [] if target.native_tools else [Fault.TOOLS_REFUSED]
    return faults if isinstance(block["args"], dict) else [*faults, Fault.ARGUMENTS_NOT_OBJECT]


def _judge_result(block: Block, target: Capabilities) -> list[Fault]:
    faults = [] if target.native_tools else [Fault.TOOLS_REFUSED]
    known = block["status"] in [status.value for status in Status]
    if not known or not isinstance(block["is_error"], bool):
        faults.append(Fault.BLOCK_MALFORMED)
    return [*faults, Fault.RESULT_EMPTY] if block["result"] == "" else faults


def _pair(place: int, blocks: Sequence[Block], calls: Sequence[Block]) -> list[Finding]:
    """Judge the results of a message against the calls of the one before it."""
    results = [(spot, one) for spot, one in enumerate(blocks) if one.get("type") == "tool_result"]
    findings: list[Finding] = []
    wanted = [call.get("operation") for call in calls]
    given: list[Json] = []
    for spot, result in results:
        name = result.get("operation")
        if name not in wanted:
            findings.append(Finding(fault=Fault.RESULT_ORPHAN, message=place, block=spot))
            continue
        if name in given:
            findings.append(Finding(fault=Fault.CALL_ANSWERED_TWICE, message=place, block=spot))
            continue
        given.append(name)
        call = calls[wanted.index(name)]
        if (call.get("label"), call.get("name")) != (result.get("label"), result.get("name")):
            findings.append(Finding(fault=Fault.RESULT_MISNAMED, message=place, block=spot))
    if given != [name for name in wanted if name in given]:
        findings.append(Finding(fault=Fault.RESULT_OUT_OF_ORDER, message=place))
    if len(given) < len(wanted):
        findings.append(Finding(fault=Fault.CALL_UNANSWERED, message=place))
    return findings


def _refuse_repeats(place: int, blocks: Sequence[Block], called: set[str]) -> list[Finding]:
    findings: list[Finding] = []
    after_call = False
    for spot, block in enumerate(blocks):
        if block.get("type") != "tool_call":
            if after_call:
                findings.append(Finding(fault=Fault.BLOCK_MISPLACED, message=place, block=spot))
            continue
        after_call = True
        name = str(block.get("operation"))
        if name in called:
            findings.append(Finding(fault=Fault.CALL_REPEATED, message=place, block=spot))
        called.add(name)
    return findings
