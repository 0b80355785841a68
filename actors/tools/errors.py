"""The refusals and failures of the tool plane, each with its code and its facts in fields."""

from errno import errorcode
from typing import ClassVar, cast

import attrs

from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code, CrashworthyError


@attrs.define(eq=False, kw_only=True)
class ToolDefinitionInvalidError(CrashworthyError):
    """A function cannot become a tool; its author must change what `reason` says."""

    code: ClassVar[Code] = Code.TOOL_DEFINITION_INVALID
    tool: str
    reason: str


@attrs.define(eq=False, kw_only=True)
class ToolNameTakenError(CrashworthyError):
    """Two tools of one registry share a name; rename one."""

    code: ClassVar[Code] = Code.TOOL_NAME_TAKEN
    tool: str


@attrs.define(eq=False, kw_only=True)
class OutcomeUncertainError(CrashworthyError):
    """The tool cannot say whether its effect happened: the outcome stays unknown (OP-2).

    Tools raise it, for instance when a remote side stopped answering half-way.
    """

    code: ClassVar[Code] = Code.OUTCOME_UNCERTAIN
    reason: str


@attrs.define(eq=False, kw_only=True)
class ToolRefusedError(CrashworthyError):
    """The base of what a tool refuses in terms the model can act on (OP-2)."""

    def facts(self) -> dict[str, Json]:
        """Return the refusal as the structured data that the model reads."""
        told: dict[str, Json] = {"code": str(self.code)}
        for field in attrs.fields(type(self)):
            value: object = getattr(self, field.name)
            told[field.name] = (
                list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else _plain(value)
            )
        return told


def _plain(value: object) -> Json:
    """Return a field's value as JSON: refusals carry text, numbers and lists of text only."""
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)


@attrs.define(eq=False, kw_only=True)
class ToolUnknownError(ToolRefusedError):
    """A call names no tool of this run; `existing` are the names it may use."""

    code: ClassVar[Code] = Code.TOOL_UNKNOWN
    tool: str
    existing: tuple[str, ...]


@attrs.define(eq=False, kw_only=True)
class ArgumentsInvalidError(ToolRefusedError):
    """Arguments outside the tool's schema; `fields` names them and never quotes a value."""

    code: ClassVar[Code] = Code.ARGUMENTS_INVALID
    tool: str
    fields: tuple[str, ...]


@attrs.define(eq=False, kw_only=True)
class RepeatedFailureError(ToolRefusedError):
    """The same call failed `failures` times in a row; the model must change something."""

    code: ClassVar[Code] = Code.REPEATED_FAILURE
    tool: str
    failures: int


@attrs.define(eq=False, kw_only=True)
class PathDeniedError(ToolRefusedError):
    """An explicit deny or a protected path; no expansion lifts it (ASK-4)."""

    code: ClassVar[Code] = Code.PATH_DENIED
    path: str
    access: str


@attrs.define(eq=False, kw_only=True)
class PathInvalidError(ToolRefusedError):
    """No file can have this path; `reason` says which rule it breaks."""

    code: ClassVar[Code] = Code.PATH_INVALID
    reason: str


@attrs.define(eq=False, kw_only=True)
class TargetSymlinkError(ToolRefusedError):
    """A write would go through a symbolic link; name the file it points to instead."""

    code: ClassVar[Code] = Code.TARGET_SYMLINK
    path: str


@attrs.define(eq=False, kw_only=True)
class TargetHardLinkedError(ToolRefusedError):
    """The file has several names and a rename would split them."""

    code: ClassVar[Code] = Code.TARGET_HARD_LINKED
    path: str
    links: int


@attrs.define(eq=False, kw_only=True)
class TargetNotRegularError(ToolRefusedError):
    """The path is a directory, socket, device or pipe."""

    code: ClassVar[Code] = Code.TARGET_NOT_REGULAR
    path: str
    kind: str


@attrs.define(eq=False, kw_only=True)
class TargetChangedError(ToolRefusedError):
    """The file is not what the plan saw; nothing was written."""

    code: ClassVar[Code] = Code.TARGET_CHANGED
    path: str


@attrs.define(eq=False, kw_only=True)
class TargetMissingError(ToolRefusedError):
    """The file to read or edit does not exist."""

    code: ClassVar[Code] = Code.TARGET_MISSING
    path: str


@attrs.define(eq=False, kw_only=True)
class ParentMissingError(ToolRefusedError):
    """The directory does not exist, and the policy does not make directories."""

    code: ClassVar[Code] = Code.PARENT_MISSING
    path: str


@attrs.define(eq=False, kw_only=True)
class OwnerNotKeptError(ToolRefusedError):
    """This process may not give the new file its old owner; nothing was written."""

    code: ClassVar[Code] = Code.OWNER_NOT_KEPT
    path: str


@attrs.define(eq=False, kw_only=True)
class FileTooLargeError(ToolRefusedError):
    """The file, or what would be written, is over the stated limit."""

    code: ClassVar[Code] = Code.FILE_TOO_LARGE
    path: str
    size_bytes: int
    size_bytes_max: int


@attrs.define(eq=False, kw_only=True)
class FileNotTextError(ToolRefusedError):
    """The file is not UTF-8 text."""

    code: ClassVar[Code] = Code.FILE_NOT_TEXT
    path: str


def errno_name(error: OSError) -> str:
    """Return the name by which the system's documentation calls the error."""
    number = error.errno or 0
    return errorcode.get(number, str(number))


@attrs.define(eq=False, kw_only=True)
class FileUnreadableError(ToolRefusedError):
    """The system refused an access to the file (`errno` by name)."""

    code: ClassVar[Code] = Code.FILE_UNREADABLE
    path: str
    errno: str


@attrs.define(eq=False, kw_only=True)
class TransformUnstableError(ToolRefusedError):
    """Plan and execution computed different contents; the tool's author must fix it (OP-6)."""

    code: ClassVar[Code] = Code.TRANSFORM_UNSTABLE
    path: str


@attrs.define(eq=False, kw_only=True)
class EditTextMissingError(ToolRefusedError):
    """The text to replace is not in the file."""

    code: ClassVar[Code] = Code.EDIT_TEXT_MISSING
    path: str


@attrs.define(eq=False, kw_only=True)
class EditTextAmbiguousError(ToolRefusedError):
    """The text to replace occurs `count` times; give more of its surroundings."""

    code: ClassVar[Code] = Code.EDIT_TEXT_AMBIGUOUS
    path: str
    count: int


@attrs.define(eq=False, kw_only=True)
class PatternInvalidError(ToolRefusedError):
    """Not a pattern that glob or grep accepts."""

    code: ClassVar[Code] = Code.PATTERN_INVALID
    reason: str


@attrs.define(eq=False, kw_only=True)
class ArtifactRefusedError(ToolRefusedError):
    """The call adds more artifacts, or larger ones, than its tool declared (OP-7)."""

    code: ClassVar[Code] = Code.ARTIFACT_REFUSED
    name: str
    count_max: int
    size_bytes_max: int


@attrs.define(eq=False, kw_only=True)
class QuestionInvalidError(ToolRefusedError):
    """A question to a person is over its bounds; `field` names the part, never its text."""

    code: ClassVar[Code] = Code.QUESTION_INVALID
    field: str
    reason: str
