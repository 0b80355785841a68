"""The public API of crashworthy; each name loads on first use, so importing it costs nothing.

A turn of an agent, from a script. The root is the directory of the log; whatever kills this process
afterwards, the log says what happened:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import crashworthy
    >>> home = Path(tempfile.mkdtemp())
    >>> (home / "work").mkdir()
    >>> script = crashworthy.parse_script(
    ...     {"turn": [{"step": [{"event": [{"text": "Hello."}, {"finish": "stop"}]}]}]}
    ... )
    >>> settings = crashworthy.Settings(
    ...     root=home / "log",
    ...     workspace=home / "work",
    ...     backend=lambda: crashworthy.ScriptedBackend(script=script),
    ... )
    >>> turn = crashworthy.run_sync("Say hello.", settings)
    >>> turn.text, turn.completed
    ('Hello.', True)

The same inside a trio program, where more than one turn may run, and be watched and stopped:

    >>> import trio
    >>> async def main() -> crashworthy.RunEnded | None:
    ...     async with crashworthy.open_runtime(settings) as runtime:
    ...         session = await runtime.create_session(title="greetings")
    ...         run = await session.send("Say hello again.", key="greeting-2")
    ...         return await run.wait()
    >>> trio.run(main).status
    <RunStatus.COMPLETED: 'completed'>

What was said and done is a function of the facts, at any moment:

    >>> [part.text for part in crashworthy.transcript(turn.facts, live=False).turns[0].parts]
    ['Say hello.', 'Hello.']
    >>> crashworthy.status(turn.facts, live=False, at=4).runs[0].state.value
    'unowned'
"""

import importlib
import os.path as _path
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .actors.attending import ALLOW, DENY, Answer, Attendant
    from .actors.backends.contract import (
        Backend,
        BackendEvent,
        BackendFactory,
        BackendFailedError,
        BlockEnded,
        CallStated,
        Finished,
        ModelRequest,
        TextPiece,
        ThinkingPiece,
        ThinkingSigned,
        ToolOffer,
        UsageStated,
    )
    from .actors.backends.script import Script, parse_script, read_script
    from .actors.backends.scripted import ScriptedBackend
    from .actors.backends.wrapped import WrappedBackend
    from .actors.errors import HostHungError, HostRefusedError
    from .actors.live import Committed, LiveEvent, Notice, Piece, PieceOf
    from .actors.means import Patience
    from .actors.permission import Approvals, Policy
    from .actors.runtime import (
        AttachmentInput,
        PendingAsk,
        RunHandle,
        Runtime,
        Session,
        Settings,
        open_runtime,
    )
    from .actors.sync import TurnResult, run_sync
    from .actors.tools.builtin.catalogue import BUILTIN_TOOLS
    from .actors.tools.context import CallContext, Failed
    from .actors.tools.contract import (
        ArtifactRule,
        Idempotent,
        NeverAutoRetry,
        OutcomeUnknown,
        OutputRule,
        Permission,
        Place,
        ReplaySafe,
        Tool,
    )
    from .actors.tools.decorate import file_tool, path_needs, tool
    from .actors.tools.effects.files import Change
    from .machines.facts.codes import Code, CrashworthyError
    from .machines.facts.model import (
        Attachment,
        Budgets,
        Question,
        RunEnded,
        RuntimeEvent,
        Spine,
        Usage,
    )
    from .machines.facts.vocabulary import (
        AnswerDecision,
        AttachmentKind,
        Failure,
        Finish,
        Kind,
        Purpose,
        RunFailure,
        RunStatus,
    )
    from .machines.projections.history import history
    from .machines.projections.plain import to_json
    from .machines.projections.status import status
    from .machines.projections.target import Capabilities, ThinkingForm
    from .machines.projections.transcript import transcript
    from .machines.projections.usage import usage
    from .store.checkup import Remark, look_over
    from .store.operational import OperationalKind, OperationalReading, OperationalRecord
    from .store.ownership.adoption import adopt
    from .store.verify import verify

__all__ = [
    "ALLOW",
    "BUILTIN_TOOLS",
    "DENY",
    "Answer",
    "AnswerDecision",
    "Approvals",
    "ArtifactRule",
    "Attachment",
    "AttachmentInput",
    "AttachmentKind",
    "Attendant",
    "Backend",
    "BackendEvent",
    "BackendFactory",
    "BackendFailedError",
    "BlockEnded",
    "Budgets",
    "CallContext",
    "CallStated",
    "Capabilities",
    "Change",
    "Code",
    "Committed",
    "CrashworthyError",
    "Failed",
    "Failure",
    "Finish",
    "Finished",
    "HostHungError",
    "HostRefusedError",
    "Idempotent",
    "Kind",
    "LiveEvent",
    "ModelRequest",
    "NeverAutoRetry",
    "Notice",
    "OperationalKind",
    "OperationalReading",
    "OperationalRecord",
    "OutcomeUnknown",
    "OutputRule",
    "Patience",
    "PendingAsk",
    "Permission",
    "Piece",
    "PieceOf",
    "Place",
    "Policy",
    "Purpose",
    "Question",
    "Remark",
    "ReplaySafe",
    "RunEnded",
    "RunFailure",
    "RunHandle",
    "RunStatus",
    "Runtime",
    "RuntimeEvent",
    "Script",
    "ScriptedBackend",
    "Session",
    "Settings",
    "Spine",
    "TextPiece",
    "ThinkingForm",
    "ThinkingPiece",
    "ThinkingSigned",
    "Tool",
    "ToolOffer",
    "TurnResult",
    "Usage",
    "UsageStated",
    "WrappedBackend",
    "__version__",
    "adopt",
    "file_tool",
    "history",
    "look_over",
    "open_runtime",
    "parse_script",
    "path_needs",
    "read_script",
    "run_sync",
    "status",
    "to_json",
    "tool",
    "transcript",
    "usage",
    "verify",
]
__version__ = "0.1.0"  # read by hatchling, which knows no annotation here

_link = _path.join(_path.dirname(__file__), "machines")
if _path.islink(_link) or not _path.isdir(_link):
    # A working tree, not an installed package: load the visible folders themselves, so that
    # tracebacks, breakpoints and coverage name machines/..., not the link (HOUSE-1).
    __path__.insert(0, _path.dirname(_path.dirname(_path.dirname(__file__))))

# Where each public name lives, below this package. Eager imports would pull trio into every proof
# and every worker that only needs the core (HOUSE-4).
_HOMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ALLOW": "actors.attending",
        "Answer": "actors.attending",
        "AnswerDecision": "machines.facts.vocabulary",
        "Approvals": "actors.permission",
        "ArtifactRule": "actors.tools.contract",
        "Attachment": "machines.facts.model",
        "AttachmentInput": "actors.runtime",
        "AttachmentKind": "machines.facts.vocabulary",
        "Attendant": "actors.attending",
        "BUILTIN_TOOLS": "actors.tools.builtin.catalogue",
        "Backend": "actors.backends.contract",
        "BackendEvent": "actors.backends.contract",
        "BackendFactory": "actors.backends.contract",
        "BackendFailedError": "actors.backends.contract",
        "BlockEnded": "actors.backends.contract",
        "Budgets": "machines.facts.model",
        "CallContext": "actors.tools.context",
        "CallStated": "actors.backends.contract",
        "Capabilities": "machines.projections.target",
        "Change": "actors.tools.effects.files",
        "Code": "machines.facts.codes",
        "Committed": "actors.live",
        "CrashworthyError": "machines.facts.codes",
        "DENY": "actors.attending",
        "Failed": "actors.tools.context",
        "Failure": "machines.facts.vocabulary",
        "Finish": "machines.facts.vocabulary",
        "Finished": "actors.backends.contract",
        "HostHungError": "actors.errors",
        "HostRefusedError": "actors.errors",
        "Idempotent": "actors.tools.contract",
        "Kind": "machines.facts.vocabulary",
        "LiveEvent": "actors.live",
        "ModelRequest": "actors.backends.contract",
        "NeverAutoRetry": "actors.tools.contract",
        "Notice": "actors.live",
        "OperationalKind": "store.operational",
        "OperationalReading": "store.operational",
        "OperationalRecord": "store.operational",
        "OutcomeUnknown": "actors.tools.contract",
        "OutputRule": "actors.tools.contract",
        "Patience": "actors.means",
        "PendingAsk": "actors.runtime",
        "Permission": "actors.tools.contract",
        "Piece": "actors.live",
        "PieceOf": "actors.live",
        "Place": "actors.tools.contract",
        "Policy": "actors.permission",
        "Purpose": "machines.facts.vocabulary",
        "Question": "machines.facts.model",
        "Remark": "store.checkup",
        "ReplaySafe": "actors.tools.contract",
        "RunEnded": "machines.facts.model",
        "RunFailure": "machines.facts.vocabulary",
        "RunHandle": "actors.runtime",
        "RunStatus": "machines.facts.vocabulary",
        "Runtime": "actors.runtime",
        "RuntimeEvent": "machines.facts.model",
        "Script": "actors.backends.script",
        "ScriptedBackend": "actors.backends.scripted",
        "Session": "actors.runtime",
        "Settings": "actors.runtime",
        "Spine": "machines.facts.model",
        "TextPiece": "actors.backends.contract",
        "ThinkingForm": "machines.projections.target",
        "ThinkingPiece": "actors.backends.contract",
        "ThinkingSigned": "actors.backends.contract",
        "Tool": "actors.tools.contract",
        "ToolOffer": "actors.backends.contract",
        "TurnResult": "actors.sync",
        "Usage": "machines.facts.model",
        "UsageStated": "actors.backends.contract",
        "WrappedBackend": "actors.backends.wrapped",
        "adopt": "store.ownership.adoption",
        "file_tool": "actors.tools.decorate",
        "history": "machines.projections.history",
        "look_over": "store.checkup",
        "open_runtime": "actors.runtime",
        "parse_script": "actors.backends.script",
        "path_needs": "actors.tools.decorate",
        "read_script": "actors.backends.script",
        "run_sync": "actors.sync",
        "status": "machines.projections.status",
        "to_json": "machines.projections.plain",
        "tool": "actors.tools.decorate",
        "transcript": "machines.projections.transcript",
        "usage": "machines.projections.usage",
        "verify": "store.verify",
    }
)


def __getattr__(name: str) -> object:
    """Return the public `name`, importing its module on first use (HOUSE-4).

    Raises:
        AttributeError: `name` is not public.
    """
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=None)
    return vars(importlib.import_module(f"{__name__}.{home}"))[name]


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
