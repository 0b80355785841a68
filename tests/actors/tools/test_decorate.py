"""One decorated function is a whole tool, and what cannot be kept is refused when it is defined."""

from collections.abc import Callable
from typing import Annotated, Literal, cast

import pytest

from crashworthy.actors.tools.context import CallContext
from crashworthy.actors.tools.contract import (
    ArtifactRule,
    Idempotent,
    NeverAutoRetry,
    OutputRule,
    Permission,
    Place,
    ReplaySafe,
)
from crashworthy.actors.tools.decorate import ToolDecorator, file_tool, tool
from crashworthy.actors.tools.effects.files import Change
from crashworthy.actors.tools.errors import ArgumentsInvalidError, ToolDefinitionInvalidError
from crashworthy.actors.tools.schema import schema_fault
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.vocabulary import RecoveryMode


@tool
def greet(
    context: CallContext,
    name: Annotated[str, "Whom to greet."],
    times: int = 1,
    tone: Literal["warm", "cold"] = "warm",
    also: list[str] | None = None,
    notes: dict[str, float] | None = None,
) -> str:
    """Greet somebody."""
    del context, also, notes
    return f"{tone} {name}" * times


def test_annotations_are_the_schema_and_the_docstring_is_the_description() -> None:
    assert greet.description == "Greet somebody."
    assert greet.schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whom to greet."},
            "times": {"type": "integer", "default": 1},
            "tone": {"type": "string", "enum": ["warm", "cold"], "default": "warm"},
            "also": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "notes": {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "number"}},
                    {"type": "null"},
                ]
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert schema_fault(greet.schema) is None


@pytest.mark.proves("OP-5")
def test_undeclared_tool_is_asked_for_and_never_retried() -> None:
    assert (greet.recovery, greet.permission) == (NeverAutoRetry(), Permission.ASK)
    assert greet.mode is RecoveryMode.NEVER_AUTO_RETRY


@pytest.mark.proves("OP-1")
def test_check_returns_the_arguments_unchanged_or_names_fields_only() -> None:
    args: dict[str, Json] = {"name": "x", "times": 2}
    assert greet.check(args) is args
    with pytest.raises(ArgumentsInvalidError) as refused:
        greet.check({"name": "x", "times": "hunter2"})
    assert refused.value.fields == ("times",)
    assert "hunter2" not in str(refused.value)
    assert refused.value.facts() == {
        "code": "arguments_invalid",
        "tool": "greet",
        "fields": ["times"],
    }


def replace(key: str, text: str = "") -> str:
    """Replace."""
    return key + text


@pytest.mark.proves("CONT-5")
def test_contract_digest_follows_every_declaration() -> None:
    variants = [
        tool()(replace),
        tool(recovery=ReplaySafe())(replace),
        tool(recovery=Idempotent())(replace),
        tool(recovery=Idempotent(argument="key"))(replace),
        tool(local=True)(replace),
        tool(permission=Permission.FREE)(replace),
        tool(place=Place.HOST)(replace),
        tool(timeout_ms=5)(replace),
        tool(output=OutputRule(head_bytes=1))(replace),
        tool(artifacts=ArtifactRule(count_max=1))(replace),
    ]
    assert len({variant.contract_digest for variant in variants}) == len(variants)
    assert len({variant.schema_digest for variant in variants}) == 1


@pytest.mark.proves("OP-5")
def test_key_is_the_operation_or_the_declared_argument() -> None:
    by_argument = tool(recovery=Idempotent(argument="key"))(replace)
    assert tool()(replace).key_of({"key": "k"}, "op") is None
    assert tool(recovery=Idempotent())(replace).key_of({"key": "k"}, "op") == "op"
    assert by_argument.key_of({"key": "k"}, "op") == "k"


@pytest.mark.parametrize(
    "decorator",
    [
        tool(recovery=Idempotent(argument="text")),
        tool(recovery=Idempotent(argument="absent")),
        tool(timeout_ms=0),
        tool(permission=Permission.SCOPES),
        tool(name="no spaces"),
    ],
)
def test_promise_that_cannot_be_kept_is_refused(decorator: ToolDecorator) -> None:
    with pytest.raises(ToolDefinitionInvalidError):
        decorator(replace)


def test_function_that_a_worker_cannot_import_is_refused_when_it_shall_run_there() -> None:
    def local(text: str) -> str:
        """Do."""
        return text

    with pytest.raises(ToolDefinitionInvalidError, match="worker"):
        tool(local)
    assert tool(place=Place.HOST)(local).place is Place.HOST


def undocumented(text: str) -> str:
    return text


def untyped(text) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001  # the case
    """Do."""
    return "text" if text else ""


def odd(text: bytes) -> str:
    """Do."""
    return str(text)


def starred(*texts: str) -> str:
    """Do."""
    return str(texts)


@pytest.mark.parametrize("name", ["undocumented", "untyped", "odd", "starred"])
def test_function_without_a_schema_or_description_is_refused(name: str) -> None:
    function = cast("Callable[[object], str]", globals()[name])
    with pytest.raises(ToolDefinitionInvalidError):
        tool(function)


@file_tool(version=3)
def upper(before: bytes | None, path: str) -> Change:
    """Make a file loud."""
    return Change(content=(before or b"").upper(), result=path)


@pytest.mark.proves("OP-6")
def test_file_tool_is_one_pure_function_with_recovery_by_observation() -> None:
    assert upper.mode is RecoveryMode.RECONCILE
    assert upper.local
    assert upper.effect is not None
    assert upper.effect.version == 3
    assert upper.effect.transform(b"a", {"path": "p"}) == Change(content=b"A", result="p")
    assert upper.schema == {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    }
