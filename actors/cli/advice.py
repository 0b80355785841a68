"""What a person can do about a refusal: one sentence a code, for the codes that people meet."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ...machines.facts.codes import Code

ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        Code.ACKNOWLEDGED_FACTS_MISSING: "Look at it with `verify`; restore a backup if you can.",
        Code.APPROVAL_REFUSED: "Run it with --approve ask, and decide.",
        Code.ASK_DECIDED: "Nothing is left to decide; `resume` uses the decision.",
        Code.ASK_UNKNOWN: "`pending` lists what is asked.",
        Code.NAME_AMBIGUOUS: "Write more of it, or copy it whole.",
        Code.NEEDS_UPGRADE: "The next command that runs or answers upgrades the log.",
        Code.NOT_FOUND: "Run something first, or say where the log is: --root, --workspace.",
        Code.ORDINAL_UNKNOWN: "`events` lists the ordinals.",
        Code.PROFILE_DRIFT: "Resume it with the options it was started with, or `abandon` it.",
        Code.ROOT_COPIED: "If this is the original, put it back where it was made.",
        Code.ROOT_OWNED: "Wait until that process ends, or stop it; looking works meanwhile.",
        Code.ROOT_PERMISSIONS: "Take it from everybody else: chmod -R go= on the root.",
        Code.RUN_NOT_WAITING: "`show` says where the run stands; `run` starts the next turn.",
        Code.RUN_UNKNOWN: "`sessions` and `show` name the runs.",
        Code.SESSION_BUSY: "Its open run comes first: `pending`, `answer`, `resume`, or `stop`.",
        Code.SESSION_UNKNOWN: "`sessions` lists them.",
        Code.START_CONFLICT: "Take another key, or say what was said with this one.",
        Code.STORAGE_FULL: "Make room, and type it again: nothing half-done was kept.",
        Code.TEXT_UNCLEAN: "Give it as UTF-8.",
        Code.WORKSPACE_UNUSABLE: "Name a directory that exists and that you may write.",
    }
)
"""By the value of the code, as errors print it."""
