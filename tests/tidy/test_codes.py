"""Machine codes are for ever: none is renamed, reused or removed."""

from collections.abc import Iterable, Mapping

from crashworthy.machines.facts.codes import Code

from .tree import ROOT


def lost(published: Iterable[str], current: Iterable[str]) -> list[str]:
    """Return the published codes that no longer exist."""
    return sorted(set(published) - set(current))


def shared(members: Mapping[str, str]) -> list[str]:
    """Return the names that stand for the value of another name."""
    values: set[str] = set()
    aliases: list[str] = []
    for name, value in members.items():
        if value in values:
            aliases.append(name)
        values.add(value)
    return aliases


def published_codes() -> list[str]:
    """Return the lines of codes.txt."""
    return (ROOT / "tests/tidy/codes.txt").read_text("utf-8").split()


def test_codes_keep_every_code_ever_published() -> None:
    """Programs and logs of users compare codes; a code that vanishes breaks them silently."""
    assert lost(published_codes(), (code.value for code in Code)) == []


def test_codes_have_one_name_each() -> None:
    """An enum turns a second name for one value into an alias without a word."""
    assert shared({name: code.value for name, code in Code.__members__.items()}) == []


def test_codes_are_snake_case() -> None:
    assert [c for c in Code if not (c.value.isidentifier() and c.value == c.value.lower())] == []


def test_codes_txt_names_each_code_once() -> None:
    """A code that is not listed could vanish unnoticed: a new one joins the end of the list."""
    codes = published_codes()
    assert len(codes) == len(set(codes))
    assert lost((code.value for code in Code), codes) == []


def test_lost_code_is_reported() -> None:
    assert lost(["kept", "removed"], ["kept", "added"]) == ["removed"]


def test_second_name_of_a_code_is_reported() -> None:
    assert shared({"FIRST": "same", "OTHER": "other", "SECOND": "same"}) == ["SECOND"]
