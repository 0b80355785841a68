"""Adds up a receipt, line by line, without ever touching a float."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One article on a receipt, with how often it was bought."""

    name: str
    price_cents: int
    count: int = 1


def total_cents(lines: list[Line], discount_percent: int = 0) -> int:
    """Return what has to be paid: the sum, less a discount that is rounded down."""
    full = sum(line.price_cents for line in lines)
    return full - full * discount_percent // 100


def receipt(lines: list[Line], discount_percent: int = 0) -> str:
    """Return the receipt as text, one article a line, the total last."""
    rows = [f"{line.count} x {line.name:<12} {line.price_cents * line.count:>6}" for line in lines]
    return "\n".join([*rows, f"{'total':<16} {total_cents(lines, discount_percent):>6}"])
