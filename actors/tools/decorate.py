"""One decorated, typed function becomes a Tool: its annotations are the schema."""

import inspect
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import (
    Annotated,
    Final,
    Literal,
    ParamSpec,
    Protocol,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import attrs

from ...machines.facts.canonical import CanonicalError, Json, check
from .boundary import Access, Expansion, FileScope, Reach
from .context import CallContext
from .contract import (
    ArtifactRule,
    Needs,
    NeverAutoRetry,
    OutputRule,
    Permission,
    Place,
    Reconcile,
    Recovery,
    Tool,
    ToolFunction,
)
from .effects.files import DEFAULT_POLICY, Change, FileEffect, FilePolicy
from .errors import ToolDefinitionInvalidError
from .paths import Workspace, canonical_path

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")


class ToolDecorator(Protocol):
    """What `@tool(...)` puts on a function."""

    def __call__(self, function: Callable[_P, object], /) -> Tool:
        """Return the tool that the function is."""
        ...


class FileToolDecorator(Protocol):
    """What `@file_tool(...)` puts on a function."""

    def __call__(self, function: Callable[_P, Change], /) -> Tool:
        """Return the tool that the function is."""
        ...


_NO_PROMISE: Final = NeverAutoRetry()
_OUTPUT: Final = OutputRule()
_ARTIFACTS: Final = ArtifactRule()
_BEFORE: Final = "before"
_PLAIN: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


@overload
def tool(function: Callable[_P, object], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    recovery: Recovery = ...,
    local: bool = False,
    permission: Permission = Permission.ASK,
    place: Place = Place.WORKER,
    timeout_ms: int | None = None,
    output: OutputRule = ...,
    artifacts: ArtifactRule = ...,
    needs: Needs | None = None,
) -> ToolDecorator: ...
def tool(
    function: Callable[_P, object] | None = None,
    /,
    *,
    name: str | None = None,
    recovery: Recovery = _NO_PROMISE,
    local: bool = False,
    permission: Permission = Permission.ASK,
    place: Place = Place.WORKER,
    timeout_ms: int | None = None,
    output: OutputRule = _OUTPUT,
    artifacts: ArtifactRule = _ARTIFACTS,
    needs: Needs | None = None,
) -> Tool | ToolDecorator:
    """Make a tool of the decorated function; by default a person is asked and nothing is retried.

    Parameters may be annotated with str, int, float, bool, None, list[...], dict[str, ...],
    Literal, unions of these, and `Annotated[..., "what it means"]`. A default makes a parameter
    optional. One annotated with CallContext is given by the runtime and not part of the schema.

    Args:
        function: The function, where the decorator is used without arguments.
        name: The name that the model calls; None takes the function's.
        recovery: What a crash in the middle of a call means (OP-5).
        local: Whether the effect stays on this machine.
        permission: Who decides whether a valid call may run.
        place: A worker process runs only what it can import: functions at the top of a module. A
            script's own functions count, if it does its work under `if __name__ == "__main__"`.
        timeout_ms: When to end the process group; None for never.
        output: How much of an output stays inline.
        artifacts: How many artifacts a call may add.
        needs: What a call will touch, for `Permission.SCOPES`.

    Raises:
        ToolDefinitionInvalidError: `tool_definition_invalid`, with the reason.
    """

    def decorate(decorated: Callable[_Q, object], /) -> Tool:
        run = _untyped(decorated)
        called = name or decorated.__name__
        return Tool(
            name=called,
            description=inspect.getdoc(decorated) or "",
            schema=_schema(decorated, called, given=frozenset()),
            recovery=recovery,
            local=local,
            permission=permission,
            place=place,
            timeout_ms=timeout_ms,
            output=output,
            artifacts=artifacts,
            entry=_entry(decorated, called, place),
            function=run,
            needs=needs,
        )

    return decorate if function is None else decorate(function)


def file_tool(
    *,
    version: int,
    target: str = "path",
    name: str | None = None,
    policy: FilePolicy = DEFAULT_POLICY,
) -> FileToolDecorator:
    """Make a tool of a pure function from a file's old content to its new one (OP-6).

    The function takes `before: bytes | None` and the arguments and returns a Change. Writing,
    evidence, boundary and recovery by observation come with it.

    Args:
        version: Raise it whenever the function may give another content for the same input.
        target: The parameter that holds the path.
        name: The name that the model calls; None takes the function's.
        policy: Limits.

    Raises:
        ToolDefinitionInvalidError: `tool_definition_invalid`, with the reason.
    """

    def decorate(decorated: Callable[_Q, Change], /) -> Tool:
        called = name or decorated.__name__
        effect = FileEffect(
            target=target, transform=_Applied(_untyped(decorated)), version=version, policy=policy
        )
        return Tool(
            name=called,
            description=inspect.getdoc(decorated) or "",
            schema=_schema(decorated, called, given=frozenset({_BEFORE})),
            recovery=Reconcile(effect=effect),
            local=True,
            permission=Permission.SCOPES,
            entry=_entry(decorated, called, Place.WORKER),
            function=_untyped(decorated),
            needs=path_needs(target, Access.WRITE),
        )

    return decorate


def path_needs(
    argument: str, access: Access, reach: Reach = Reach.EXACT, *, default: str = "."
) -> Needs:
    """Return the needs of a call that touches the path in `argument` (or `default`)."""

    def needs(args: Mapping[str, Json], workspace: Workspace) -> Expansion:
        path = args.get(argument, default)
        assert isinstance(path, str)  # The schema said so before anybody asked.
        found = canonical_path(workspace.root, path, follow=access is Access.READ)
        return Expansion(files=(FileScope(path=found, access=access, reach=reach),))

    return needs


@attrs.frozen
class _Applied:
    """The transform that a change function is."""

    function: ToolFunction

    def __call__(self, before: bytes | None, args: Mapping[str, Json]) -> Change:
        change = self.function(before, **args)
        assert isinstance(change, Change)
        return change


def _untyped(function: Callable[_P, object]) -> ToolFunction:
    """Forget the signature: arguments reach a tool only after its schema accepted them."""
    return cast("ToolFunction", function)


def _schema(function: Callable[_P, object], called: str, *, given: frozenset[str]) -> Json:
    """Return the object schema of the function's parameters.

    Args:
        function: The function.
        called: The tool's name, for refusals.
        given: Parameters that the runtime fills in.

    Raises:
        ToolDefinitionInvalidError: `tool_definition_invalid`, with the reason.
    """
    try:
        hints = cast("dict[str, object]", get_type_hints(function, include_extras=True))
    except (NameError, TypeError) as error:
        raise ToolDefinitionInvalidError(tool=called, reason=f"annotation {error}") from error
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if parameter.name in given or hint is CallContext:
            continue
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise ToolDefinitionInvalidError(tool=called, reason="* and ** have no schema")
        if parameter.kind is parameter.POSITIONAL_ONLY or parameter.name not in hints:
            reason = f"{parameter.name} needs a name and an annotation"
            raise ToolDefinitionInvalidError(tool=called, reason=reason)
        schema = _hint_schema(hint, f"{called}.{parameter.name}")
        default = cast("object", parameter.default)
        if default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif default is not None:
            schema["default"] = _default(default, called, parameter.name)
        properties[parameter.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _default(value: object, called: str, parameter: str) -> Json:
    try:
        check(value)
    except CanonicalError as error:
        reason = f"the default of {parameter} is not JSON: {error}"
        raise ToolDefinitionInvalidError(tool=called, reason=reason) from error
    return cast("Json", value)


def _hint_schema(hint: object, place: str) -> dict[str, Json]:
    """Return the schema of one annotation.

    Raises:
        ToolDefinitionInvalidError: `tool_definition_invalid`, it has none.
    """
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, arguments = cast("object", get_origin(hint)), cast("tuple[object, ...]", get_args(hint))
    if origin is Annotated:
        return _described(_hint_schema(arguments[0], place), arguments[1:])
    if origin is Literal:
        return _literal_schema(arguments, place)
    if origin is Union or origin is types.UnionType:
        return {"anyOf": [_hint_schema(part, place) for part in arguments]}
    if origin is list:
        return {"type": "array", "items": _hint_schema(arguments[0], place)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _hint_schema(arguments[1], place)}
    raise ToolDefinitionInvalidError(tool=place, reason=f"no schema for the annotation {hint!r}")


def _described(schema: dict[str, Json], notes: tuple[object, ...]) -> dict[str, Json]:
    words = [note for note in notes if isinstance(note, str)]
    return {**schema, "description": " ".join(words)} if words else schema


def _literal_schema(values: tuple[object, ...], place: str) -> dict[str, Json]:
    allowed: list[Json] = []
    for value in values:
        if not isinstance(value, str | int | bool | None):
            raise ToolDefinitionInvalidError(tool=place, reason="a Literal of something else")
        allowed.append(value)
    kinds = {type(value) for value in values}
    # A type where all options share one tells the model more than the bare list.
    return {"type": _PLAIN[kinds.pop()], "enum": allowed} if len(kinds) == 1 else {"enum": allowed}


def _entry(function: Callable[_P, object], called: str, place: Place) -> str:
    """Return where a worker finds the tool: `module:name`, or `file.py:name` for a script's own.

    Raises:
        ToolDefinitionInvalidError: `tool_definition_invalid`, a worker could not find it.
    """
    module = function.__module__
    if module == "__main__":
        module = _main_module()
    importable = "." not in function.__qualname__ and bool(module)
    if place is Place.WORKER and not importable:
        reason = "a worker can import only functions at the top of a module; else use place=HOST"
        raise ToolDefinitionInvalidError(tool=called, reason=reason)
    return f"{module}:{function.__qualname__}"


def _main_module() -> str:
    """Return the importable name of the running program, its file, or nothing."""
    main = sys.modules["__main__"]
    spec = main.__spec__
    if spec is not None:
        return spec.name
    return str(Path(main.__file__).absolute()) if main.__file__ else ""
