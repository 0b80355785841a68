"""The JSON form of orders and finishes, for both sides of the channel."""

import importlib
import runpy
import sys
from typing import assert_never, cast

import attrs

from ....machines.facts.canonical import Json
from ....machines.facts.model import FileEvidence, FileIdentity, Loss
from ....machines.facts.vocabulary import FileKind
from ..boundary import boundary_json, parse_boundary
from ..contract import Tool
from ..errors import ToolDefinitionInvalidError
from ..paths import Workspace
from ..runner import Answer, NotRepresentable, Raised, Refused, Returned, Uncertain, WorkOrder
from .frames import FrameInvalidError, int_field, text_field


@attrs.frozen(kw_only=True)
class ReceivedOrder:
    """An order as the worker reads it; the tool is named by where to find it."""

    entry: str
    operation: str
    args: dict[str, Json]
    workspace: Workspace
    key: str | None
    evidence: FileEvidence | None


def order_json(order: WorkOrder) -> dict[str, Json]:
    """Return the message that carries `order`."""
    return {
        "t": "call",
        "entry": order.tool.entry,
        "operation": order.operation,
        "args": order.args,
        "root": order.workspace.root,
        "identity": order.workspace.identity,
        "boundary": boundary_json(order.workspace.boundary),
        "key": order.key,
        "evidence": None if order.evidence is None else _evidence_json(order.evidence),
    }


def read_order(message: dict[str, Json]) -> ReceivedOrder:
    """Return the order in `message`.

    Raises:
        FrameInvalidError: `frame_invalid`, not an order.
        BoundaryInvalidError: `boundary_invalid`.
    """
    args, key, evidence = message.get("args"), message.get("key"), message.get("evidence")
    if message.get("t") != "call" or not isinstance(args, dict):
        raise FrameInvalidError(reason="not a call")
    return ReceivedOrder(
        entry=text_field(message, "entry"),
        operation=text_field(message, "operation"),
        args=args,
        workspace=Workspace(
            root=text_field(message, "root"),
            identity=text_field(message, "identity"),
            boundary=parse_boundary(message.get("boundary")),
        ),
        key=key if isinstance(key, str) else None,
        evidence=_read_evidence(evidence) if isinstance(evidence, dict) else None,
    )


def finish_json(finish: Answer) -> dict[str, Json]:
    """Return the message that carries an answer."""
    match finish:
        case Returned():
            return {
                "how": "returned",
                "value": finish.value,
                "failed": finish.failed,
                "losses": [[loss.path, loss.reason, loss.count] for loss in finish.losses],
            }
        case Refused():
            return {"how": "refused", "facts": finish.facts}
        case Raised():
            return {"how": "raised", "error": finish.error, "message": finish.message}
        case Uncertain():
            return {"how": "uncertain", "reason": finish.reason}
        case NotRepresentable():
            return {"how": "not_representable", "reason": finish.reason}
        case _:
            assert_never(finish)


def read_finish(message: dict[str, Json]) -> Answer:
    """Return the finish in a worker's last message about a call.

    Raises:
        FrameInvalidError: `frame_invalid`, not a finish.
    """
    how, facts = text_field(message, "how"), message.get("facts")
    match how:
        case "returned":
            return Returned(
                value=message.get("value"),
                failed=message.get("failed") is True,
                losses=_read_losses(message.get("losses")),
            )
        case "refused" if isinstance(facts, dict):
            return Refused(facts=facts)
        case "raised":
            return Raised(
                error=text_field(message, "error"), message=text_field(message, "message")
            )
        case "uncertain":
            return Uncertain(reason=text_field(message, "reason"))
        case "not_representable":
            return NotRepresentable(reason=text_field(message, "reason"))
        case _:
            raise FrameInvalidError(reason=f"no such finish: {how[:40]}")


def _read_losses(value: Json) -> tuple[Loss, ...]:
    if not isinstance(value, list):
        raise FrameInvalidError(reason="losses are not a list")
    losses: list[Loss] = []
    for item in value:
        match item:
            case [str(path), str(reason), int(count)]:
                losses.append(Loss(path=path, reason=reason, count=count))
            case _:
                raise FrameInvalidError(reason="not a loss")
    return tuple(losses)


def load_tool(entry: str) -> Tool:
    """Import and return the tool that `entry` names.

    A script's own tools are found by running the file under another name, so that the part below
    its `if __name__ == "__main__"` stays asleep.

    Raises:
        ToolDefinitionInvalidError: `tool_definition_invalid`, there is no tool at that place.
    """
    module, _, name = entry.rpartition(":")
    if module.startswith("/"):
        alias = f"__crashworthy_script__{module}"
        if alias not in sys.modules:
            names = cast("dict[str, object]", runpy.run_path(module, run_name="__crashworthy__"))
            script = type(sys)(alias)
            script.__dict__.update(names)
            sys.modules[alias] = script
        module = alias
    found = cast("object", vars(importlib.import_module(module)).get(name))
    if not isinstance(found, Tool):
        raise ToolDefinitionInvalidError(tool=name, reason=f"{entry} is not a tool")
    return found


def _evidence_json(evidence: FileEvidence) -> dict[str, Json]:
    return {
        "workspace": evidence.workspace,
        "target": evidence.target,
        "before": _identity_json(evidence.before),
        "after": _identity_json(evidence.after),
        "transform": evidence.transform,
        "result": evidence.result,
        "limit_bytes": evidence.limit_bytes,
    }


def _identity_json(identity: FileIdentity) -> dict[str, Json]:
    return {
        "kind": str(identity.kind),
        "digest": identity.digest,
        "bytes": identity.bytes,
        "mode": identity.mode,
    }


def _read_evidence(value: dict[str, Json]) -> FileEvidence:
    return FileEvidence(
        workspace=text_field(value, "workspace"),
        target=text_field(value, "target"),
        before=_read_identity(value.get("before")),
        after=_read_identity(value.get("after")),
        transform=int_field(value, "transform"),
        result=value.get("result"),
        limit_bytes=int_field(value, "limit_bytes"),
    )


def _read_identity(value: Json) -> FileIdentity:
    if not isinstance(value, dict):
        raise FrameInvalidError(reason="not a file identity")
    kind = FileKind(text_field(value, "kind"))
    if kind is FileKind.ABSENT:
        return FileIdentity(kind=kind)
    return FileIdentity(
        kind=kind,
        digest=text_field(value, "digest"),
        bytes=int_field(value, "bytes"),
        mode=int_field(value, "mode"),
    )
