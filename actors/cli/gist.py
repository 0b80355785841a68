"""What one fact says, in a few words on one line."""

from ...machines.facts.canonical import Json, encode
from ...machines.facts.model import (
    ErrorText,
    FunctionCall,
    FunctionResponse,
    RuntimeEvent,
    Text,
    Thinking,
)
from ...machines.projections.plain import to_json
from ..permission import shown
from .narrate import brief
from .terminal import visible


def gist(event: RuntimeEvent) -> str:
    """Return a fact's content, or else its action, as one line; whoever shows it cuts it."""
    words = _content(event) or _action(event)
    return " ".join(visible(words).split())


def _content(event: RuntimeEvent) -> str:
    match event.content:
        case Text(text=text) | Thinking(text=text):
            return text
        case FunctionCall() as call:
            return f"{call.name}: {shown(call.args) if isinstance(call.args, dict) else ''}"
        case FunctionResponse() as response:
            told = to_json(event.actions)
            result = told.get("result") if isinstance(told, dict) else ""
            return f"{response.name} {result}: {brief(response.result)}"
        case ErrorText(message=message):
            return message
        case None:
            return ""


def _action(event: RuntimeEvent) -> str:
    told = to_json(event.actions)
    if not isinstance(told, dict):
        return ""
    return ", ".join(f"{name}={_short(value)}" for name, value in told.items() if _says(value))


def _says(value: Json) -> bool:
    return value is not None and value not in ([], {}, "")


def _short(value: Json) -> str:
    return value if isinstance(value, str) else encode(value).decode()
