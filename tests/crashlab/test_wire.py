"""What one process of the lab writes, the other reads back unchanged."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.crashlab.boundary import Boundary, Kind, Moment, Point, Role
from crashworthy.crashlab.kill import Course, Death
from crashworthy.crashlab.launch import Mode
from crashworthy.crashlab.wire import decode, encode

POINTS = st.builds(
    Point,
    boundary=st.builds(
        Boundary,
        kind=st.sampled_from(Kind),
        name=st.text(),
        role=st.sampled_from(Role),
        occurrence=st.integers(1, 10**6),
    ),
    moment=st.sampled_from(Moment),
)
COURSES = st.builds(
    Course,
    number=st.integers(0, 10**9),
    workload=st.text(),
    home=st.text(),
    seed=st.integers(0, 2**32),
    death=st.none() | st.builds(Death, point=POINTS, then=st.none() | POINTS),
    mode=st.sampled_from(Mode),
    seconds_max=st.integers(1, 100),
    keep=st.booleans(),
)


@attrs.frozen(kw_only=True)
class Several:
    courses: tuple[Course, ...]
    seconds: float


@given(st.builds(Several, courses=st.lists(COURSES).map(tuple), seconds=st.floats(0, 1e9)))
def test_value_survives_the_pipe_in_one_line(value: Several) -> None:
    text = encode(value)
    assert "\n" not in text
    assert decode(Several, text) == value
