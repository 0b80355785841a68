"""Random values of the accepted domain, chosen to hit every rule in which JSON writers differ."""

import random
from typing import Final

from hypothesis import strategies as st

from crashworthy.machines.facts.canonical import SAFE_INT_MAX, Json

TEXTS: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
INTEGERS: Final = st.integers(-SAFE_INT_MAX, SAFE_INT_MAX)


def in_range(number: float) -> bool:
    """BYTE-1: beyond +-(2^53-1) every float is integral and refused."""
    return -SAFE_INT_MAX <= number <= SAFE_INT_MAX


FLOATS: Final = (
    st.floats(-1e16, 1e16).filter(in_range)
    | st.floats(-1e-3, 1e-3)
    | INTEGERS.map(float).filter(in_range)
)
LEAVES: Final[st.SearchStrategy[Json]] = (
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS  # the order in which examples shrink
)


def json_values() -> st.SearchStrategy[Json]:
    """Values of the accepted domain with a few dozen parts."""

    def containers(parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        return st.lists(parts, max_size=5) | st.dictionaries(TEXTS, parts, max_size=5)

    return st.recursive(LEAVES, containers, max_leaves=12)


_CODE_POINTS: Final = (
    *range(0x20),
    *map(ord, '"\\/ azAZ09.,:[]{}-+eE'),
    *(0x7F, 0x80, 0x9F, 0xE9, 0x20AC, 0x2028, 0x2029, 0xD7FF, 0xE000, 0xFB33, 0xFFFD, 0xFFFF),
    *(0x10000, 0x1F600, 0x10FFFF),
)
_EDGES: Final = (0, -1, 9, 10, 2**31, 2**32, 10**15, 10**16 - 1, SAFE_INT_MAX, -SAFE_INT_MAX)


def quick_value(source: random.Random, depth: int = 0) -> Json:
    """Return a random value, a hundred times faster than a strategy can draw one."""
    choice = source.random() * (1 if depth else 0.35)  # the outermost is a container
    if depth < 4 and choice < 0.2:
        return {_text(source): quick_value(source, depth + 1) for _ in range(source.randrange(5))}
    if depth < 4 and choice < 0.35:
        return [quick_value(source, depth + 1) for _ in range(source.randrange(5))]
    if choice < 0.6:
        return _text(source)
    if choice < 0.8:
        return _float(source)
    if choice < 0.9:
        number = source.choice(_EDGES) + source.randrange(-3, 4)
        return number if in_range(number) else 0
    return source.choice((None, True, False))


def _text(source: random.Random) -> str:
    return "".join(map(chr, source.choices(_CODE_POINTS, k=source.randrange(6))))


def _float(source: random.Random) -> float:
    digits = round(source.uniform(-10, 10), source.randrange(17))
    number = digits * 10.0 ** source.randrange(-25, 16)
    return number if in_range(number) else digits
