"""What the runtime refuses, in codes that a program can act on."""

from typing import ClassVar

import attrs

from ..machines.facts.codes import Code, CrashworthyError


@attrs.define(eq=False, kw_only=True)
class SessionUnknownError(CrashworthyError):
    """There is no such session in this root."""

    code: ClassVar[Code] = Code.SESSION_UNKNOWN
    session: str


@attrs.define(eq=False, kw_only=True)
class RunUnknownError(CrashworthyError):
    """There is no such run in this root."""

    code: ClassVar[Code] = Code.RUN_UNKNOWN
    run: str


@attrs.define(eq=False, kw_only=True)
class NoSessionError(CrashworthyError):
    """This log has no session yet."""

    code: ClassVar[Code] = Code.NO_SESSION
    root: str


@attrs.define(eq=False, kw_only=True)
class NoOpenRunError(CrashworthyError):
    """No run of this log is open: nothing waits, and there is nothing to stop or to take up."""

    code: ClassVar[Code] = Code.NO_OPEN_RUN
    root: str


@attrs.define(eq=False, kw_only=True)
class AskUnknownError(CrashworthyError):
    """There is no such request to a person in this root."""

    code: ClassVar[Code] = Code.ASK_UNKNOWN
    ask: str


@attrs.define(eq=False, kw_only=True)
class AlreadyDecidedError(CrashworthyError):
    """The request has its one decision; `decision` says which (ASK-1)."""

    code: ClassVar[Code] = Code.ASK_DECIDED
    ask: str
    decision: str


@attrs.define(eq=False, kw_only=True)
class AskClosedError(CrashworthyError):
    """The request was closed without an answer; `reason` says why (ASK-1)."""

    code: ClassVar[Code] = Code.ASK_CLOSED
    ask: str
    reason: str


@attrs.define(eq=False, kw_only=True)
class AnswerMisfitsError(CrashworthyError):
    """The answer is none that this request takes."""

    code: ClassVar[Code] = Code.ANSWER_MISFITS
    ask: str
    wants: str


@attrs.define(eq=False, kw_only=True)
class ProfileDriftError(CrashworthyError):
    """The run was opened with another profile; it stays waiting (CONT-5, ASK-3).

    Attributes:
        field: The first field that differs.
        opened: What the opening says.
        now: What this process has.
    """

    code: ClassVar[Code] = Code.PROFILE_DRIFT
    run: str
    field: str
    opened: str
    now: str


@attrs.define(eq=False, kw_only=True)
class HostRefusedError(CrashworthyError):
    """The host admits nothing now; `state` is where it is (OWN-3).

    Attributes:
        code: The table's own refusal: `host_not_ready`, `host_draining` or `host_closed`.
    """

    code: Code  # type: ignore[misc]  # pyright: ignore[reportIncompatibleVariableOverride] - as UnitRefusedError
    state: str


@attrs.define(eq=False, kw_only=True)
class HostHungError(CrashworthyError):
    """The shutdown did not end: what is left may still act, so the lock is kept (OWN-3).

    End this process; then the next owner finds the calls unknown.

    Attributes:
        left: The operations whose functions still run in this process.
    """

    code: ClassVar[Code] = Code.HOST_HUNG
    left: tuple[str, ...]


@attrs.define(eq=False, kw_only=True)
class NotOfferedError(CrashworthyError):
    """The feature does not exist yet; nothing was changed."""

    code: ClassVar[Code] = Code.NOT_OFFERED
    feature: str
