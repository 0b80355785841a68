"""The request: one model call, durable before it leaves and settled once (LOG-7)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, always, deny, row


class End(StrEnum):
    """Whether the provider's word ended the request, or nobody knows."""

    STATED = "stated"
    LOST = "lost"


@attrs.frozen(kw_only=True)
class Absent:
    """Nothing is written yet."""


@attrs.frozen(kw_only=True)
class Open:
    """The request may be on its way; `epoch` is the owner that sent it."""

    epoch: int


@attrs.frozen(kw_only=True)
class Closed:
    """The request is settled."""


RequestState: TypeAlias = Absent | Open | Closed


@attrs.frozen(kw_only=True)
class Dispatch:
    """request_dispatched."""

    epoch: int


@attrs.frozen(kw_only=True)
class Output:
    """model_text, model_thinking or call of this request."""

    epoch: int


@attrs.frozen(kw_only=True)
class Settlement:
    """request_settled."""

    epoch: int
    end: End


RequestSeen: TypeAlias = Dispatch | Output | Settlement


def _own_output(state: Open, seen: Output) -> bool:
    return seen.epoch == state.epoch


def _own_settlement(state: Open, seen: Settlement) -> bool:
    return seen.epoch == state.epoch


def _lost(state: Open, seen: Settlement) -> bool:
    return seen.epoch > state.epoch and seen.end is End.LOST


# T4: a successor never learns what the provider said, so it can only record the loss (CONT-7).
# fmt: off
_ROWS: Final = (
    #    id         from    event       guard            to
    row("REQ.T1",  Absent, Dispatch,   always,          Open,   takes=("epoch",)),
    row("REQ.T2",  Open,   Output,     _own_output,     Open),
    row("REQ.T3",  Open,   Settlement, _own_settlement, Closed),
    row("REQ.T4",  Open,   Settlement, _lost,           Closed),
)
# fmt: on

TABLE: Final[Table[RequestState, RequestSeen]] = Table(
    machine="request",
    prefix="REQ",
    start=Absent(),
    states=(Absent, Open, Closed),
    events=(Dispatch, Output, Settlement),
    rows=_ROWS,
    denials=(
        deny(Code.REQUEST_OPEN, source=Open, event=Dispatch),
        deny(Code.REQUEST_NOT_OPEN, source=Closed, event=Output),
    ),
    default={
        Absent: Code.REQUEST_NOT_OPEN,
        Open: Code.RUN_NOT_ATTACHED,
        Closed: Code.REQUEST_SETTLED_ALREADY,
    },
)
