"""What the till promises; one of these tests fails until somebody repairs the till."""

from .receipt import Line, receipt, total_cents

BREAD = Line("bread", 340)
MILK = Line("milk", 120, count=3)


def test_total_of_nothing_is_nothing() -> None:
    assert total_cents([]) == 0


def test_total_counts_each_piece() -> None:
    assert total_cents([BREAD, MILK]) == 700


def test_discount_is_rounded_down() -> None:
    assert total_cents([Line("pin", 99)], discount_percent=5) == 95


def test_receipt_ends_with_the_total() -> None:
    assert receipt([BREAD]).endswith("340")
