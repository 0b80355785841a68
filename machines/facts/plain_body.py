"""The bodies that stores write by the million, read by one match each (BYTE-2, LOG-2).

Save for free JSON, a kind says all that its bodies may hold. So their language is regular, and one
match proves at once that the bytes are canonical, that every key is declared, and that each value
has its type and its form. A grammar is made from the same tables that the long road of `codec`
reads; it may know less than the whole language, never more. What does not match says nothing about
a body: the long road reads it, or says what is wrong.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, TypeAlias, cast

import attrs

from . import forms
from .ids import ID_PATTERN
from .json_values import Json
from .kinds import KINDS, KindSpec
from .model import Refs, RuntimeEvent, Spine
from .packing import Setter, setter
from .quick_json import read_quick_inside
from .shapes import REQUIRED, Field, Sort, fields_of, settled
from .vocabulary import Kind

Convert: TypeAlias = Callable[[str], object]
Groups: TypeAlias = Sequence[str | None]
_Plain: TypeAlias = tuple[Setter, int, Convert | None, object]
_Inner: TypeAlias = "tuple[Setter, int | None, _Part, object]"


def read_plain(data: bytes) -> RuntimeEvent | None:
    """Return the body whose bytes are `data`, or None where the long road must decide.

    Raises:
        IllegalFactError: From the rule of its kind, which the long road asks as well.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    # Behind a kind stand only ids and words, which hold no quote: the last such key is the body's.
    _before, _key, behind = text.rpartition(_KIND)
    kind = _KINDS.get(behind.partition('"')[0])
    return None if kind is None else _grammar_of(kind).read(text)


_KIND: Final = '"kind":"'
_KINDS: Final = {str(kind): kind for kind in Kind}


# --- what a match is made of ----------------------------------------------------------------------


@attrs.frozen(kw_only=True, eq=False)
class _Part:
    """How a record is put together from the groups of a match and the free values.

    Attributes:
        plain: For each field its setter, its group, what makes a value of it, and its default.
        inner: The same for a field that is a record; without a group it is always there.
        free: The setter of each field of free JSON, and the number of its value.
        fixed: What is the same in every match.
    """

    record: type
    plain: list[_Plain] = attrs.field(factory=list[_Plain])
    inner: "list[_Inner]" = attrs.Factory(lambda: _no_parts())  # noqa: PLW0108 - defined below
    free: list[tuple[Setter, int]] = attrs.field(factory=list[tuple[Setter, int]])
    fixed: list[tuple[Setter, object]] = attrs.field(factory=list[tuple[Setter, object]])

    def make(self, groups: Groups, values: Sequence[Json]) -> object:
        """Return the record of a match."""
        out = cast("Callable[[type], object]", object.__new__)(self.record)
        for put, at, convert, default in self.plain:
            text = groups[at]
            if text is None:
                put(out, default)
            else:
                put(out, text if convert is None else convert(text))
        for put, there, part, default in self.inner:
            absent = there is not None and groups[there] is None
            put(out, default if absent else part.make(groups, values))
        for put, at in self.free:
            put(out, values[at])
        for put, value in self.fixed:
            put(out, value)
        return out


def _no_parts() -> list[_Inner]:
    return []


@attrs.frozen(kw_only=True, eq=False)
class _Grammar:
    """The bodies of one kind.

    Attributes:
        openings: What stands before each free value.
        ending: What stands behind the last of them.
    """

    spec: KindSpec
    openings: tuple[re.Pattern[str], ...]
    ending: re.Pattern[str]
    event: _Part

    def read(self, text: str) -> RuntimeEvent | None:
        """Return the body, or None where it is none of this grammar."""
        groups: tuple[str | None, ...] = ()
        values: list[Json] = []
        at = 0
        for opening in self.openings:
            match = opening.match(text, at)
            if match is None:
                return None
            groups += match.groups()
            try:
                value, at = read_quick_inside(text, match.end())
            except ValueError:
                return None
            values.append(value)
        match = self.ending.fullmatch(text, at)
        if match is None:
            return None
        event = cast("RuntimeEvent", self.event.make(groups + match.groups(), values))
        if (event.role, event.author) not in self.spec.pairs:
            return None
        if self.spec.rule is not None:
            self.spec.rule(event)
        return event


@cache
def _grammar_of(kind: Kind) -> _Grammar:
    """Return the grammar of a kind, made when the first body of that kind is read."""
    return _Writer(kind).grammar()


# --- the grammar of a value -----------------------------------------------------------------------

# What repeats is possessive: a text has one reading, and no other is looked for.
_CHARACTER: Final = r'[^"\\\x00-\x1f]'
_ESCAPE: Final = r'\\(?:[btnfr"\\]|u00(?:0[0-7b0e-f]|1[0-9a-f]))'
_TEXT: Final = f"{_CHARACTER}*+(?:{_ESCAPE}{_CHARACTER}*+)*+"
_DIGEST: Final = "[0-9a-f]{64}"
_NEXT: Final = r'(?:,(?=")|(?=\}))'
"""What stands behind a member of an object: a comma before the next, or nothing before the end."""


def _unescaped(text: str) -> object:
    return cast("str", json.loads(f'"{text}"')) if "\\" in text else text


def _is_true(text: str) -> bool:
    return text == "true"


INTEGERS: Final[Mapping[forms.Form, str]] = {
    forms.anything: "-?[1-9][0-9]{0,14}|0",
    forms.natural: "[1-9][0-9]{0,14}|0",
    forms.positive: "[1-9][0-9]{0,14}",
}
TEXTS: Final[Mapping[forms.Form, tuple[str, Convert | None]]] = {
    forms.an_id: (ID_PATTERN, None),
    forms.a_digest: (_DIGEST, None),
    forms.anything: (_TEXT, _unescaped),
    forms.some_text: (f'(?!"){_TEXT}', _unescaped),
    # The characters of a key are counted, so it is read only where none is escaped.
    forms.a_key: (f"{_CHARACTER}{{1,{forms.KEY_CHARS_MAX}}}", None),
}
_ITEMS: Final[Mapping[forms.Form, str]] = {
    forms.an_id: ID_PATTERN,
    forms.a_digest: _DIGEST,
    forms.anything: f"{_CHARACTER}*+",
    forms.some_text: f"{_CHARACTER}++",
}
"""The items of tuples, which are told apart by their quotes: so here, too, none is escaped."""


def _items(text: str) -> tuple[str, ...]:
    return tuple(text.split('","'))


@lru_cache(maxsize=1024)
def _spine(text: str) -> Spine:
    """Return the spine of its own text; the facts of a ledger share one, which cannot change."""
    return Spine(**cast("dict[str, str]", json.loads(text)))


_IDS: Final = ",".join(f'"{field.name}":"{ID_PATTERN}"' for field in fields_of(Spine))
_SPINE: Final = rf"\{{{_IDS}\}}"


@attrs.define(eq=False)
class _Writer:
    """Writes the grammar of one kind."""

    _kind: Kind
    _text: list[str] = attrs.field(factory=list[str], init=False)
    _openings: list[re.Pattern[str]] = attrs.field(factory=list[re.Pattern[str]], init=False)
    _groups: int = attrs.field(default=0, init=False)

    def grammar(self) -> _Grammar:
        """Return what reads the bodies of the kind."""
        spec = KINDS[self._kind]
        event = self._object(RuntimeEvent, _event_fields(spec))
        return _Grammar(
            spec=spec,
            openings=tuple(self._openings),
            ending=re.compile("".join(self._text)),
            event=event,
        )

    def _object(self, record: type, fields: Sequence[Field], opening: str = r"\{") -> _Part:
        part = _Part(record=record)
        self._text.append(opening)
        written = {field.name for field in fields if self._member(part, field)}
        self._text.append(r"\}")
        for field in fields_of(record):
            if field.name not in written and field.name != "kind":
                part.fixed.append((setter(record, field.name), field.default))
        return part

    def _member(self, part: _Part, field: Field) -> bool:
        """Write a member, or say that this grammar does not know it and it must be absent."""
        before = len(self._text)
        required = field.default is REQUIRED
        self._text.append(f'"{field.name}":' if required else f'(?:"{field.name}":')
        if not self._value(part, setter(part.record, field.name), field):
            assert not required, f"{self._kind}.{field.name}"
            del self._text[before:]
            return False
        self._text.append(_NEXT if required else f"{_NEXT})?")
        return True

    def _value(self, part: _Part, put: Setter, field: Field) -> bool:
        """Write what a member may hold, or return False, with nothing written."""
        form = forms.FORMS[part.record].get(field.name, forms.anything)
        if part.record is RuntimeEvent and field.name == "kind":
            self._text.append(f'"{self._kind}"')
            part.fixed.append((put, self._kind))
        elif field.type is Spine:
            part.plain.append((put, self._group(_SPINE), _spine, None))
        elif field.many:
            return self._tuple(part, put, field, form)
        elif field.sort is Sort.FREE:
            return self._free(part, put, field, form)
        elif field.sort is Sort.RECORD:
            return self._record(part, put, field)
        else:
            pattern, convert = _plain(field, form)
            quote = "" if field.type in {int, bool} else '"'
            at = self._group(pattern, quote)
            part.plain.append((put, at, convert, field.default))
        return True

    def _group(self, pattern: str, quote: str = "") -> int:
        """Write one group, and return its number."""
        self._text.append(f"{quote}({pattern}){quote}")
        self._groups += 1
        return self._groups - 1

    def _tuple(self, part: _Part, put: Setter, field: Field, form: forms.Form) -> bool:
        """Write a tuple of texts; one of records is left to the long road."""
        if field.type is not str or field.nullable:
            return False
        item = _ITEMS[form]
        at = self._group(f'{item}(?:","{item})*+', '"')
        self._text[-1] = rf"\[{self._text[-1]}\]"
        part.plain.append((put, at, _items, ()))
        return True

    def _free(self, part: _Part, put: Setter, field: Field, form: forms.Form) -> bool:
        """End the pattern before a free value, which is not regular."""
        if field.default is not REQUIRED:
            return False
        if form is forms.an_object:
            self._text.append(r"(?=\{)")
        part.free.append((put, len(self._openings)))
        self._openings.append(re.compile("".join(self._text)))
        self._text.clear()
        return True

    def _record(self, part: _Part, put: Setter, field: Field) -> bool:
        """Write a record; one that may be absent and holds free JSON is left to the long road."""
        there = None
        if field.default is not REQUIRED:
            if _holds_free(field.type):
                return False
            there = self._groups
            self._groups += 1
            self._text.append("(")
        if field.type is Refs:
            inner = self._object(Refs, _refs_fields(KINDS[self._kind]), r'\{(?=")')
        else:
            inner = self._object(field.type, fields_of(field.type))
        if there is not None:
            self._text.append(")")
        part.inner.append((put, there, inner, field.default))
        return True


def _holds_free(record: type) -> bool:
    return any(
        field.sort is Sort.FREE or (field.sort is Sort.RECORD and _holds_free(field.type))
        for field in fields_of(record)
    )


def _plain(field: Field, form: forms.Form) -> tuple[str, Convert | None]:
    """Return the pattern of a text, number, truth value or word, and what makes a value of it."""
    if field.sort is Sort.WORD:
        # What equals its default has one canonical form, the absent key.
        words = {str(word): word for word in field.words if word is not field.default}
        return "|".join(words), words.__getitem__
    if field.type is bool:
        return "true|false", _is_true
    if field.type is int:
        return INTEGERS[form], int
    return TEXTS[form]


def _event_fields(spec: KindSpec) -> tuple[Field, ...]:
    """Return the fields that a body of the kind may have, and which of them it must have."""
    parts: Mapping[str, type | None] = {"content": spec.content, "actions": spec.actions}
    allowed = {
        "origin": spec.may_state_origin,
        "visibility": spec.may_hide,
        "refs": bool(spec.needs or spec.may),
    }
    fields = settled(fields_of(RuntimeEvent), parts)
    return tuple(
        attrs.evolve(field, default=REQUIRED) if field.name == "refs" and spec.needs else field
        for field in fields
        if allowed.get(field.name, True)
    )


def _refs_fields(spec: KindSpec) -> tuple[Field, ...]:
    needed, allowed = set(map(str, spec.needs)), set(map(str, spec.needs | spec.may))
    return tuple(
        attrs.evolve(field, default=REQUIRED) if field.name in needed else field
        for field in fields_of(Refs)
        if field.name in allowed
    )
