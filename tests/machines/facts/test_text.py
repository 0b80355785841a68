"""One rule tells clean text, repairs what is not, and cuts previews between characters (BYTE-3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts.canonical import TextUncleanError
from crashworthy.machines.facts.text import (
    OFFSETS_MAX,
    TextLoss,
    TextLossReason,
    is_clean,
    preview,
    repair_text,
)

pytestmark = pytest.mark.proves("BYTE-3")

ANY_TEXT: st.SearchStrategy[str] = st.text(
    st.characters() | st.sampled_from(["\ud800", "\udbff", "\udc00", "\udfff", "\0", "\U0001f600"])
)
CLEAN_TEXT: st.SearchStrategy[str] = st.text(st.characters(exclude_categories=["Cs"]))


def replaced(*offsets: int) -> TextLoss:
    return TextLoss(reason=TextLossReason.REPLACED, count=len(offsets), offsets=offsets)


@pytest.mark.parametrize("text", ["", "a\0b", "\u00e4\u20ac\U0001f600", "\ufffd\ufffe\uffff"])
def test_clean_text_stays_as_it_is(text: str) -> None:
    """A NUL is data, and so is a replacement character that the author wrote."""
    assert is_clean(text)
    assert repair_text(text) == (text, ())
    assert repair_text(text.encode()) == (text, ())


@pytest.mark.parametrize(
    ("value", "text", "losses"),
    [
        ("a\ud800b", "a\ufffdb", (replaced(1),)),
        ("\udc00\ud800", "\ufffd\ufffd", (replaced(0, 1),)),
        (b"a\xffb", "a\ufffdb", (replaced(1),)),
        # One for each byte: a cut character, an overlong form, a surrogate, one beyond U+10FFFF.
        (b"\xe2\x82", "\ufffd" * 2, (replaced(0, 1),)),
        (b"\xc0\x80.", "\ufffd\ufffd.", (replaced(0, 1),)),
        (b"\xed\xa0\x80", "\ufffd" * 3, (replaced(0, 1, 2),)),
        (b"\xf4\x90\x80\x80", "\ufffd" * 4, (replaced(0, 1, 2, 3),)),
        (
            "x\ud83d\ude00y\ude00",
            "x\U0001f600y\ufffd",
            (
                replaced(3),
                TextLoss(reason=TextLossReason.JOINED, count=1, offsets=(1,)),
            ),
        ),
    ],
)
def test_repair_changes_exactly_what_has_no_utf8_form(
    value: str | bytes, text: str, losses: tuple[TextLoss, ...]
) -> None:
    assert repair_text(value) == (text, losses)


def test_repair_counts_all_and_names_the_first_places() -> None:
    _, (loss,) = repair_text(b"\xff" * 1000)
    assert (loss.count, loss.offsets) == (1000, tuple(range(OFFSETS_MAX)))


@given(ANY_TEXT)
def test_repair_gives_clean_text_and_reports_iff_it_changed_something(text: str) -> None:
    repaired, losses = repair_text(text)
    assert is_clean(repaired)
    assert repair_text(repaired) == (repaired, ())
    assert bool(losses) == (repaired != text) == (not is_clean(text))
    for loss in losses:
        for offset in loss.offsets:
            assert (repaired[offset] == "\ufffd") == (loss.reason is TextLossReason.REPLACED)


@given(st.binary() | ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_repair_is_the_same_for_bytes_and_for_text_read_from_them(data: bytes) -> None:
    """Paths and child output reach Python in either form; the log must not depend on which."""
    assert repair_text(data) == repair_text(data.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(
    ("limit_bytes", "kept", "cut"),
    [
        (0, "", 3),
        (1, "a", 2),
        (2, "a", 2),
        (3, "a\u00e4", 1),
        (6, "a\u00e4", 1),
        (7, "a\u00e4\U0001f600", 0),
    ],
)
def test_preview_ends_before_the_character_that_does_not_fit(
    limit_bytes: int, kept: str, cut: int
) -> None:
    assert preview("a\u00e4\U0001f600", limit_bytes) == (kept, cut)


@given(CLEAN_TEXT, st.integers(0, 60))
def test_preview_is_the_longest_start_within_the_limit(text: str, limit_bytes: int) -> None:
    kept, cut = preview(text, limit_bytes)
    assert text.startswith(kept)
    assert len(kept) + cut == len(text)
    assert len(kept.encode()) <= limit_bytes
    assert not cut or len(text[: len(kept) + 1].encode()) > limit_bytes


def test_preview_refuses_unclean_text() -> None:
    with pytest.raises(TextUncleanError):
        preview("a\ud800", 10)
