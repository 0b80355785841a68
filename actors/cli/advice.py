"""What a person can do about a refusal: one sentence a code, for the codes that people meet."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ...machines.facts.codes import Code

ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        Code.ACKNOWLEDGED_FACTS_MISSING: (
            "`verify` says more. Restore a backup of everything but root.json into the root; or"
            " accept the loss with `doctor --accept-loss`, which closes every open run, its calls"
            " unknown."
        ),
        Code.APPROVAL_REFUSED: "Run it with --approve ask, and decide.",
        Code.ASK_CLOSED: "Nothing is left to decide; `show` says how it went on.",
        Code.ASK_DECIDED: (
            "Nothing is left to decide: `resume` goes on with it, `show` says if it was used."
        ),
        Code.ASK_UNKNOWN: "`pending` lists what is asked.",
        Code.HOST_HUNG: (
            "Nothing more is to be done: this process has let go of what could act, by ending."
            " `show` says which calls are unknown."
        ),
        Code.LOCK_REPLACED: "Somebody moved the root, or replaced that file in it; put it back, end"
        " the owner, then retry.",
        Code.NAME_AMBIGUOUS: "Write more of the id, or copy it whole.",
        Code.NEEDS_UPGRADE: "`run` upgrades the log, if it is told no --session.",
        Code.NO_OPEN_RUN: "`show` says how the last one ended; `run` starts the next turn.",
        Code.NO_SESSION: "`run` begins one.",
        Code.NOT_FOUND: "Run something first, or say where the log is: --root, --workspace.",
        Code.ORDINAL_UNKNOWN: "`events` lists the ordinals.",
        Code.PROFILE_DRIFT: "Resume it with the options it was started with, or `abandon` it.",
        Code.ROOT_COPIED: (
            "Use the original, or make this one the root from now on: `doctor --adopt`. Looking"
            " works meanwhile."
        ),
        Code.ROOT_MARKER_INVALID: (
            "Name a state root; a new one is made in a directory that is empty or not there."
        ),
        Code.ROOT_NOT_APART: "Name another place for the log, outside of the workspace: --root.",
        Code.ROOT_OWNED: "Wait until that process ends, or stop it; looking works meanwhile.",
        Code.ROOT_PERMISSIONS: "Take it from everybody else: chmod -R go= on the root.",
        Code.ROOT_REPLACED: (
            "Put the marker file back that was made there, not a copy of it; or say that this is"
            " the root from now on: `doctor --adopt`. Looking works meanwhile."
        ),
        Code.ROOT_UNUSABLE: "Name another directory, or make the one above it.",
        Code.RUN_NOT_WAITING: "`show` says where the run stands; `run` starts the next turn.",
        Code.RUN_SEALED: (
            "The run is over, maybe because the process that worked on it is gone: `show` says how"
            " it ended, `run` starts the next turn."
        ),
        Code.RUN_UNKNOWN: "`sessions` and `show` name the runs.",
        Code.SCRIPT_MALFORMED: "`run --help` shows the form.",
        Code.SESSION_BUSY: "Its open run comes first: `pending`, `answer`, `resume`, or `stop`.",
        Code.SESSION_UNKNOWN: "`sessions` lists them.",
        Code.START_CONFLICT: "Take another key, or say what was said with this one.",
        Code.STORAGE_FULL: "Make room, and type it again: nothing half-done was kept.",
        Code.TEXT_UNCLEAN: "Give it as UTF-8.",
        Code.WORKSPACE_UNUSABLE: "Name a directory that exists and that you may write.",
    }
)
"""By the value of the code, as errors print it."""
