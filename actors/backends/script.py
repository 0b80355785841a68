"""The script of a scripted model: a TOML file of turns, steps and events, read strictly."""

import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, cast

import attrs

from ...machines.facts.canonical import Json, parse
from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.vocabulary import Failure, Finish


class Say(StrEnum):
    """The kinds of script events, named by the key that an event must have exactly one of."""

    TEXT = "text"
    THINK = "think"
    CALL = "call"
    USAGE = "usage"
    FINISH = "finish"
    ERROR = "error"
    END_OF_STREAM = "eof"
    DELAY = "delay_ms"
    IGNORE_CANCEL = "ignore_cancel_ms"


@attrs.frozen(kw_only=True)
class ScriptEvent:
    """One event: its kind, its value, and the keys that may stand beside it."""

    say: Say
    value: Json
    more: Mapping[str, Json]


@attrs.frozen(kw_only=True)
class Step:
    """What the model answers to one request of a turn, when its condition holds.

    Attributes:
        tool: Holds only if the newest results have one of this tool.
        contains: Holds only if a newest result (of `tool`, if given) contains this text.
        lacks: Holds only if no newest result (of `tool`, if given) contains this text.
    """

    events: tuple[ScriptEvent, ...]
    tool: str | None = None
    contains: str | None = None
    lacks: str | None = None


@attrs.frozen(kw_only=True)
class Turn:
    """The steps that answer a user text; `user`: only a text that contains this."""

    steps: tuple[tuple[Step, ...], ...]
    user: str | None = None


@attrs.frozen(kw_only=True)
class Script:
    """A whole script: what a scripted model answers, turn by turn and request by request.

    As a TOML file (`read_script`), or as the same tables and lists (`parse_script`):

        model = "mine"              # its name in the log; optional

        [[turn]]                    # answers one text of the user, in their order
        user = "tests"              # optional: answers any text that contains this

        [[turn.step]]               # answers one request: one after each round of tool results
        event = [
          { text = "I look.", pieces = 3, piece_delay_ms = 50 },
          { call = "read", args = { path = "a.py" }, label = "look" },
          { finish = "tool_calls" },
        ]

        [[turn.step]]
        when = { tool = "read", contains = "def " }  # of the newest results; or `lacks`
        event = [{ text = "Code." }, { finish = "stop" }]

        [[turn.step]]
        or = true                   # else, in the place of the step before
        event = [{ text = "No code." }, { finish = "stop" }]

    An event has exactly one of these keys, and may have those in parentheses:

        text (pieces, piece_delay_ms)    words; shown in so many pieces, so far apart
        think (signature)                thinking
        call (args, label, cut_after_bytes)   a tool call; args as a table or as JSON text
        usage                            tokens: { input, output, cache_read, ... }
        finish                           stop, tool_calls, length, content_filter or other; each
                                         step ends with it, or the answer counts as broken off
        error (message, retry_after_ms)  the request fails, with a word of `Failure`
        eof                              the answer breaks off here
        delay_ms                         waits; `ignore_cancel_ms` waits and cannot be stopped

    `user`, `contains` and `lacks` are plain text, no patterns. A request for which no step is left,
    or none of a step's alternatives fits, is answered with words that say so, and `stop`.
    """

    model: str
    turns: tuple[Turn, ...]


@attrs.define(eq=False, kw_only=True)
class ScriptMalformedError(CrashworthyError):
    """A script is not in its form, which `help(crashworthy.Script)` describes.

    Attributes:
        path: Where in the script, such as `turn[0].step[1].event[2]`; or the file itself.
        fault: What is wrong there.
    """

    code: ClassVar[Code] = Code.SCRIPT_MALFORMED
    path: str
    fault: str


_MORE: Final[Mapping[Say, frozenset[str]]] = {
    Say.TEXT: frozenset(("pieces", "piece_delay_ms")),
    Say.THINK: frozenset(("signature",)),
    Say.CALL: frozenset(("args", "label", "cut_after_bytes")),
    Say.ERROR: frozenset(("message", "retry_after_ms")),
}
_VALUES: Final[Mapping[Say, type]] = {
    Say.TEXT: str,
    Say.THINK: str,
    Say.CALL: str,
    Say.USAGE: dict,
    Say.FINISH: str,
    Say.ERROR: str,
    Say.END_OF_STREAM: bool,
    Say.DELAY: int,
    Say.IGNORE_CANCEL: int,
}
_CONDITIONS: Final = frozenset(("tool", "contains", "lacks"))


def read_script(path: Path) -> Script:
    """Read a script file.

    Raises:
        ScriptMalformedError: `script_malformed`, naming the place and the fault.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScriptMalformedError(path=str(path), fault=str(error)) from None
    except OSError as error:
        raise ScriptMalformedError(
            path=str(path), fault=f"cannot be read: {error.strerror}"
        ) from None
    return parse_script(data)


def parse_script(data: Mapping[str, object]) -> Script:
    """Check a script's form and return it.

    Raises:
        ScriptMalformedError: `script_malformed`, naming the place and the fault.
    """
    _known("script", data, frozenset(("model", "turn")))
    model = data.get("model", "script")
    if not isinstance(model, str):
        raise ScriptMalformedError(path="model", fault="must be text")
    turns = tuple(
        _turn(f"turn[{index}]", item) for index, item in enumerate(_list("turn", data.get("turn")))
    )
    if not turns:
        raise ScriptMalformedError(path="turn", fault="a script has at least one turn")
    return Script(model=model, turns=turns)


def _turn(path: str, item: Mapping[str, object]) -> Turn:
    _known(path, item, frozenset(("user", "step")))
    groups: list[list[Step]] = []
    for index, raw in enumerate(_list(f"{path}.step", item.get("step"))):
        step, alternative = _step(f"{path}.step[{index}]", raw)
        if alternative:
            if not groups:
                raise ScriptMalformedError(
                    path=f"{path}.step[{index}]", fault="`or` needs a step before it"
                )
            groups[-1].append(step)
        else:
            groups.append([step])
    return Turn(
        user=_text(f"{path}.user", item.get("user")),
        steps=tuple(tuple(group) for group in groups),
    )


def _step(path: str, item: Mapping[str, object]) -> tuple[Step, bool]:
    _known(path, item, frozenset(("event", "when", "or")))
    when = item.get("when", {})
    if not isinstance(when, dict):
        raise ScriptMalformedError(path=f"{path}.when", fault="must be a table")
    conditions = cast("Mapping[str, object]", when)
    _known(f"{path}.when", conditions, _CONDITIONS)
    alternative = item.get("or", False)
    if not isinstance(alternative, bool):
        raise ScriptMalformedError(path=f"{path}.or", fault="must be true or false")
    events = tuple(
        _event(f"{path}.event[{index}]", raw)
        for index, raw in enumerate(_list(f"{path}.event", item.get("event")))
    )
    step = Step(
        events=events,
        tool=_text(f"{path}.when.tool", conditions.get("tool")),
        contains=_text(f"{path}.when.contains", conditions.get("contains")),
        lacks=_text(f"{path}.when.lacks", conditions.get("lacks")),
    )
    return step, alternative


def _event(path: str, item: Mapping[str, object]) -> ScriptEvent:
    kinds = [say for say in Say if say.value in item]
    if len(kinds) != 1:
        wanted = ", ".join(say.value for say in Say)
        raise ScriptMalformedError(path=path, fault=f"needs exactly one of: {wanted}")
    (say,) = kinds
    _known(path, item, _MORE.get(say, frozenset()) | {say.value})
    value = item[say.value]
    if type(value) is not _VALUES[say]:
        raise ScriptMalformedError(
            path=f"{path}.{say.value}", fault=f"must be of kind {_VALUES[say].__name__}"
        )
    if say is Say.FINISH and value not in set(Finish):
        raise ScriptMalformedError(path=path, fault=f"finish is one of: {', '.join(Finish)}")
    if say is Say.ERROR and value not in set(Failure):
        raise ScriptMalformedError(path=path, fault=f"error is one of: {', '.join(Failure)}")
    more = {key: cast("Json", item[key]) for key in item if key != say.value}
    args = more.get("args")
    if isinstance(args, str):  # Arguments that TOML cannot write may be given as JSON text.
        more["args"] = parse(args)
    return ScriptEvent(say=say, value=cast("Json", value), more=more)


def _known(path: str, item: Mapping[str, object], keys: frozenset[str]) -> None:
    unknown = sorted(set(item) - keys)
    if unknown:
        raise ScriptMalformedError(path=path, fault=f"unknown key {unknown[0]!r}")


def _list(path: str, value: object) -> Sequence[Mapping[str, object]]:
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(i, dict) for i in cast("list[object]", value)):
        return cast("Sequence[Mapping[str, object]]", value)
    raise ScriptMalformedError(path=path, fault="must be a list of tables")


def _text(path: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ScriptMalformedError(path=path, fault="must be text")
