"""The envelope that every fact has, packed and unpacked by straight code (LOG-1).

What `packing` derives from annotations is written out here once more, because no fact is read or
written without it: straight code takes half the time. The tests hold both to the same facts.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeVar, cast

from .model import NO_REFS, Action, Content, Refs, RuntimeEvent, Spine
from .offences import Offence
from .packing import Pack, Unpack, setter
from .vocabulary import Author, Kind, Origin, Role, Visibility

W = TypeVar("W", bound=StrEnum)


# --- packing --------------------------------------------------------------------------------------


def pack_envelope(event: RuntimeEvent, content: Pack | None, actions: Pack | None) -> object:
    """Return the JSON object of `event`, with its parts packed by the functions of its kind.

    Raises:
        Offence: Some value is not of its declared type.
    """
    if (
        type(event.id) is not str
        or type(event.ts) is not int
        or type(event.kind) is not Kind
        or type(event.role) is not Role
        or type(event.author) is not Author
    ):
        raise Offence
    out: dict[str, object] = {
        "id": event.id,
        "kind": _text(event.kind),
        "ts": event.ts,
        "role": _text(event.role),
        "author": _text(event.author),
        "spine": _pack_spine(event.spine),
    }
    if event.refs is not NO_REFS:
        refs = _pack_refs(event.refs)
        if refs:
            out["refs"] = refs
    if event.origin is not None:
        if type(event.origin) is not Origin:
            raise Offence
        out["origin"] = _text(event.origin)
    if event.visibility is not Visibility.VISIBLE:
        if type(event.visibility) is not Visibility:
            raise Offence
        out["visibility"] = _text(event.visibility)
    if content is not None:
        out["content"] = content(event.content)
    if actions is not None:
        out["actions"] = actions(event.actions)
    return out


_text: Final = str.__str__
"""The text of a word, which is a str of its own; the word is a subclass."""


def _pack_spine(spine: Spine) -> dict[str, object]:
    if type(spine) is not Spine:
        raise Offence
    session, invocation, run, turn = spine.session, spine.invocation, spine.run, spine.turn
    if not type(session) is type(invocation) is type(run) is type(turn) is str:
        raise Offence
    return {"session": session, "invocation": invocation, "run": run, "turn": turn}


def _pack_refs(refs: Refs) -> dict[str, object]:
    if type(refs) is not Refs:
        raise Offence
    out: dict[str, object] = {}
    if refs.request is not None:
        out["request"] = refs.request
    if refs.operation is not None:
        out["operation"] = refs.operation
    if refs.ask is not None:
        out["ask"] = refs.ask
    if refs.message is not None:
        out["message"] = refs.message
    if refs.stream is not None:
        out["stream"] = refs.stream
    if refs.parent_operation is not None:
        out["parent_operation"] = refs.parent_operation
    for value in out.values():
        if type(value) is not str:
            raise Offence
    return out


# --- unpacking ------------------------------------------------------------------------------------


def unpack_envelope(
    held: dict[str, object], kind: Kind, content: Unpack | None, actions: Unpack | None
) -> RuntimeEvent:
    """Return the fact of `kind` that `held` describes, its parts unpacked by the kind's functions.

    Raises:
        Offence: It describes none.
    """
    get = held.get
    size = len(_ALWAYS)
    identity, ts = get("id"), get("ts")
    if type(identity) is not str or type(ts) is not int:
        raise Offence
    out = RuntimeEvent.__new__(RuntimeEvent)
    _set_id(out, identity)
    _set_ts(out, ts)
    _set_kind(out, kind)
    _set_role(out, _word(_ROLES, get("role")))
    _set_author(out, _word(_AUTHORS, get("author")))
    _set_spine(out, _unpack_spine(get("spine")))
    origin, visibility, refs = get("origin"), get("visibility"), get("refs")
    if origin is None:
        _set_origin(out, None)
    else:
        size += 1
        _set_origin(out, _word(_ORIGINS, origin))
    if visibility is None:
        _set_visibility(out, Visibility.VISIBLE)
    else:
        size += 1
        _set_visibility(out, _word(_STATED_VISIBILITIES, visibility))
    if refs is None:
        _set_refs(out, NO_REFS)
    else:
        size += 1
        _set_refs(out, _unpack_refs(refs))
    if content is None:
        _set_content(out, None)
    else:
        size += 1
        _set_content(out, cast("Content", content(get("content"))))
    if actions is None:
        _set_actions(out, None)
    else:
        size += 1
        _set_actions(out, cast("Action", actions(get("actions"))))
    if len(held) != size:  # A key that nobody counted: undeclared, or a stated null.
        raise Offence
    return out


_ALWAYS: Final = ("id", "spine", "kind", "ts", "role", "author")

_set_id = setter(RuntimeEvent, "id")
_set_ts = setter(RuntimeEvent, "ts")
_set_kind = setter(RuntimeEvent, "kind")
_set_role = setter(RuntimeEvent, "role")
_set_author = setter(RuntimeEvent, "author")
_set_spine = setter(RuntimeEvent, "spine")
_set_origin = setter(RuntimeEvent, "origin")
_set_visibility = setter(RuntimeEvent, "visibility")
_set_refs = setter(RuntimeEvent, "refs")
_set_content = setter(RuntimeEvent, "content")
_set_actions = setter(RuntimeEvent, "actions")

_ROLES: Final = {str(word): word for word in Role}
_AUTHORS: Final = {str(word): word for word in Author}
_ORIGINS: Final = {str(word): word for word in Origin}
# What equals its default has one canonical form, the absent key.
_STATED_VISIBILITIES: Final = {str(Visibility.HIDDEN): Visibility.HIDDEN}


def _word(words: Mapping[str, W], value: object) -> W:
    word = words.get(value) if type(value) is str else None
    if word is None:
        raise Offence
    return word


def _unpack_spine(value: object) -> Spine:
    if type(value) is not dict or len(cast("dict[str, object]", value)) != _SPINE_SIZE:
        raise Offence
    get = cast("dict[str, object]", value).get
    session, invocation, run, turn = get("session"), get("invocation"), get("run"), get("turn")
    if (
        type(session) is not str
        or type(invocation) is not str
        or type(run) is not str
        or type(turn) is not str
    ):
        raise Offence
    return _spine(session, invocation, run, turn)


_SPINE_SIZE: Final = 4


@lru_cache(maxsize=1024)
def _spine(session: str, invocation: str, run: str, turn: str) -> Spine:
    """Return the spine; the facts of a ledger share one, which cannot change."""
    return Spine(session=session, invocation=invocation, run=run, turn=turn)


def _unpack_refs(value: object) -> Refs:
    if type(value) is not dict or not value:
        raise Offence
    held = cast("dict[str, object]", value)
    out = Refs.__new__(Refs)
    size = 0
    for name, put in _REF_SETTERS:
        text = held.get(name)
        if text is not None:
            size += 1
            if type(text) is not str:
                raise Offence
        put(out, text)
    if len(held) != size:
        raise Offence
    return out


_REF_SETTERS: Final = tuple(
    (name, setter(Refs, name))
    for name in ("request", "operation", "ask", "message", "stream", "parent_operation")
)
