"""The run: one durable execution attempt, from its opening to its one end (LOG-3, LOG-4, RUN-3, RUN-4)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row

# --- words ---


class Start(StrEnum):
    """Who opens the run: a turn, a live continuation, or the repair of a dead claim."""

    TURN = "turn"
    ADMISSION = "admission"
    REPAIR = "repair"


class Room(StrEnum):
    """Whether the session has an open inline run (RUN-5)."""

    FREE = "free"
    BUSY = "busy"


class Reservation(StrEnum):
    """Whether a claim reserves the ids of this run (CONT-3)."""

    NONE = "none"
    MINE = "mine"
    OTHER = "other"


class Delivery(StrEnum):
    """Whether a text comes from the message queue, and was taken for this run in this unit."""

    DIRECT = "direct"
    TAKEN = "taken"
    MISSING = "missing"


class Last(StrEnum):
    """What the run's newest request came to; STEERED: a message arrived after it."""

    NEVER = "never"
    OPEN = "open"
    STOP = "stop"
    CALLS = "calls"
    CUT = "cut"
    FAILED = "failed"
    LOST = "lost"
    STEERED = "steered"


class End(StrEnum):
    """How a request settled, as far as a run cares."""

    STOP = "stop"
    CALLS = "calls"
    CUT = "cut"
    FAILED = "failed"
    LOST = "lost"


class Named(StrEnum):
    """Whether an id in the fact is the one this run has on record."""

    SAME = "same"
    OTHER = "other"


class Retry(StrEnum):
    """Which request a new one says it retries."""

    FRESH = "fresh"
    LAST = "last"
    OTHER = "other"


class Via(StrEnum):
    """Who settles an operation."""

    TOOL = "tool"
    RECOVERY = "recovery"


class Status(StrEnum):
    """The three ends."""

    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"


# --- states ---


@attrs.frozen(kw_only=True)
class Absent:
    """Nothing is written yet."""


@attrs.frozen(kw_only=True)
class Opened:
    """The opening is written, the first user text is not; never rests (LOG-3)."""

    epoch: int


@attrs.frozen(kw_only=True)
class Active:
    """The run may go on under the owner epoch it is attached to.

    Attributes:
        calls: Calls without T1 and without a not-started response.
        operations: Operations with T1 and without outcome.
        asks: Requests to a person that are open.
        grants: Requests that were decided (or expired) and not yet consumed.
        troubled: An error was noted and no later request finished (LOG-6).
    """

    epoch: int
    last: Last
    calls: int
    operations: int
    asks: int
    grants: int
    troubled: bool


@attrs.frozen(kw_only=True)
class Placing:
    """Calls of the open request are being placed; its finish follows in the unit (LOG-7a)."""

    epoch: int
    calls: int
    troubled: bool


@attrs.frozen(kw_only=True)
class Stopping:
    """A stop intent is durable; only what ends the run is admitted (RUN-4)."""

    epoch: int
    last: Last
    calls: int
    operations: int
    asks: int
    grants: int
    troubled: bool


@attrs.frozen(kw_only=True)
class Repairing:
    """A repair start is written; only its failed end may follow; never rests (CONT-7)."""

    epoch: int


@attrs.frozen(kw_only=True)
class Ended:
    """The terminal is written; nothing follows (LOG-4)."""


RunState: TypeAlias = Absent | Opened | Active | Placing | Stopping | Repairing | Ended

# --- seen events: what `classify` makes of a fact ---


@attrs.frozen(kw_only=True)
class Opening:
    """run_opened."""

    epoch: int
    start: Start
    room: Room
    reservation: Reservation


@attrs.frozen(kw_only=True)
class UserText:
    """user_text."""

    epoch: int
    delivery: Delivery


@attrs.frozen(kw_only=True)
class Steering:
    """steering_text."""

    epoch: int
    delivery: Delivery


@attrs.frozen(kw_only=True)
class Request:
    """request_dispatched."""

    epoch: int
    retry: Retry


@attrs.frozen(kw_only=True)
class Output:
    """model_text or model_thinking."""

    epoch: int
    request: Named


@attrs.frozen(kw_only=True)
class Call:
    """A call."""

    epoch: int
    request: Named


@attrs.frozen(kw_only=True)
class Settlement:
    """request_settled."""

    epoch: int
    request: Named
    end: End


@attrs.frozen(kw_only=True)
class Dispatch:
    """Dispatched (T1); `granted`: it names the request to a person whose approval it uses."""

    epoch: int
    granted: bool


@attrs.frozen(kw_only=True)
class Settled:
    """An outcome of an operation that has T1."""

    epoch: int
    via: Via


@attrs.frozen(kw_only=True)
class NotStarted:
    """An outcome of a call that has no T1; `denial`: it delivers a person's refusal."""

    epoch: int
    denial: bool


@attrs.frozen(kw_only=True)
class Recovery:
    """reconcile_result or recovery_decision."""

    epoch: int


@attrs.frozen(kw_only=True)
class Ask:
    """ask_opened."""

    epoch: int


@attrs.frozen(kw_only=True)
class Answer:
    """ask_answered."""

    epoch: int


@attrs.frozen(kw_only=True)
class Expiry:
    """ask_closed because its deadline passed: a denial (ASK-3)."""

    epoch: int


@attrs.frozen(kw_only=True)
class Closing:
    """ask_closed for any other reason; `released`: a person gave the run up in this unit."""

    epoch: int
    released: bool


@attrs.frozen(kw_only=True)
class Trouble:
    """error_noted."""

    epoch: int


@attrs.frozen(kw_only=True)
class Note:
    """artifact_added or checkpoint_made."""

    epoch: int


@attrs.frozen(kw_only=True)
class Stop:
    """stop_requested."""

    epoch: int


@attrs.frozen(kw_only=True)
class Reattach:
    """run_reattached."""

    epoch: int


@attrs.frozen(kw_only=True)
class Ending:
    """run_ended; `released` as in Closing."""

    epoch: int
    status: Status
    source: Named
    released: bool


RunSeen: TypeAlias = (
    Opening
    | UserText
    | Steering
    | Request
    | Output
    | Call
    | Settlement
    | Dispatch
    | Settled
    | NotStarted
    | Recovery
    | Ask
    | Answer
    | Expiry
    | Closing
    | Trouble
    | Note
    | Stop
    | Reattach
    | Ending
)

Live: TypeAlias = Active | Stopping

# --- predicates that others quote ---


def waits(state: Live) -> bool:
    """Say whether the run waits for a person: nothing runs, and someone must decide (ASK-3)."""
    return state.last is Last.CALLS and state.operations == 0 and state.asks + state.grants > 0


def quiet(state: Live) -> bool:
    """Say whether nothing in the run is open."""
    return state.last is not Last.OPEN and state.calls == 0 and state.operations == 0


def unasked(state: Live) -> int:
    """Count the calls that nobody was asked about and that have no T1."""
    return state.calls - state.asks - state.grants


def closable(state: Live) -> bool:
    """Say whether a terminal would leave no request and no ask open (LOG-4a)."""
    return state.last is not Last.OPEN and state.asks == 0


# --- guards: `own` is the epoch that the run is attached to, `later` a successor's ---


def _opens_turn(_state: Absent, seen: Opening) -> bool:
    return (
        seen.start is Start.TURN and seen.room is Room.FREE and seen.reservation is Reservation.NONE
    )


def _opens_continuation(_state: Absent, seen: Opening) -> bool:
    return (
        seen.start is Start.ADMISSION
        and seen.room is Room.FREE
        and seen.reservation is Reservation.MINE
    )


def _opens_repair(_state: Absent, seen: Opening) -> bool:
    return seen.start is Start.REPAIR and seen.reservation is Reservation.MINE


def _first_text(state: Opened, seen: UserText) -> bool:
    return seen.epoch == state.epoch and seen.delivery is not Delivery.MISSING


def _steers(state: Active, seen: Steering) -> bool:
    return (
        seen.epoch == state.epoch
        and seen.delivery is Delivery.TAKEN
        and quiet(state)
        and state.last in (Last.CALLS, Last.STOP, Last.STEERED)
    )


def _requests(state: Active, seen: Request) -> bool:
    if seen.epoch != state.epoch or not quiet(state):
        return False
    if state.last is Last.FAILED:
        return seen.retry is Retry.LAST
    return seen.retry is Retry.FRESH and state.last in (Last.NEVER, Last.CALLS, Last.STEERED)


def _streams(state: Active, seen: Output) -> bool:
    return seen.epoch == state.epoch and state.last is Last.OPEN and seen.request is Named.SAME


def _places_first(state: Active, seen: Call) -> bool:
    return seen.epoch == state.epoch and state.last is Last.OPEN and seen.request is Named.SAME


def _places_more(state: Placing, seen: Call) -> bool:
    return seen.epoch == state.epoch and seen.request is Named.SAME


def _states_calls(state: Placing, seen: Settlement) -> bool:
    return seen.end is End.CALLS and seen.request is Named.SAME and seen.epoch == state.epoch


def _cuts_calls(state: Placing, seen: Settlement) -> bool:
    return seen.end is End.CUT and seen.request is Named.SAME and seen.epoch == state.epoch


def _open_request(state: Live, seen: Settlement) -> bool:
    return state.last is Last.OPEN and seen.request is Named.SAME


def _states_stop(state: Active, seen: Settlement) -> bool:
    return _open_request(state, seen) and seen.end is End.STOP and seen.epoch == state.epoch


def _states_cut(state: Active, seen: Settlement) -> bool:
    return _open_request(state, seen) and seen.end is End.CUT and seen.epoch == state.epoch


def _fails(state: Live, seen: Settlement) -> bool:
    return _open_request(state, seen) and seen.end is End.FAILED and seen.epoch == state.epoch


def _loses(state: Live, seen: Settlement) -> bool:
    return _open_request(state, seen) and seen.end is End.LOST and seen.epoch >= state.epoch


def _dispatches(state: Active, seen: Dispatch) -> bool:
    return (
        seen.epoch == state.epoch
        and state.last is Last.CALLS
        and not seen.granted
        and unasked(state) > 0
    )


def _dispatches_granted(state: Active, seen: Dispatch) -> bool:
    return (
        seen.epoch == state.epoch and state.last is Last.CALLS and seen.granted and state.grants > 0
    )


def _settles(state: Live, seen: Settled) -> bool:
    if state.operations == 0:
        return False
    if seen.via is Via.TOOL:
        return seen.epoch == state.epoch
    return seen.epoch > state.epoch


def _refuses_call(state: Active, seen: NotStarted) -> bool:
    return (
        seen.epoch == state.epoch
        and state.last is Last.CALLS
        and not seen.denial
        and unasked(state) > 0
    )


def _delivers_denial(state: Active, seen: NotStarted) -> bool:
    return (
        seen.epoch == state.epoch and state.last is Last.CALLS and seen.denial and state.grants > 0
    )


def _recovers(state: Live, seen: Recovery) -> bool:
    return seen.epoch > state.epoch


def _asks(state: Active, seen: Ask) -> bool:
    return seen.epoch == state.epoch and state.last is Last.CALLS and unasked(state) > 0


def _answers(state: Active, seen: Answer) -> bool:
    return seen.epoch >= state.epoch and state.asks > 0


def _expires(state: Active, seen: Expiry) -> bool:
    return seen.epoch >= state.epoch and state.asks > 0


def _closes(state: Active, seen: Closing) -> bool:
    if state.asks == 0:
        return False
    if seen.epoch == state.epoch:
        return True
    return seen.epoch > state.epoch and (seen.released or not waits(state))


def _closes_stopped(state: Stopping, seen: Closing) -> bool:
    return state.asks > 0 and seen.epoch >= state.epoch


def _own_trouble(state: Live, seen: Trouble) -> bool:
    return seen.epoch == state.epoch


def _own_note(state: Live, seen: Note) -> bool:
    return seen.epoch == state.epoch


def _stops(state: Active, seen: Stop) -> bool:
    return seen.epoch >= state.epoch


def _reattaches(state: Active, seen: Reattach) -> bool:
    return seen.epoch > state.epoch and waits(state)


def _completes(state: Active, seen: Ending) -> bool:
    return (
        seen.status is Status.COMPLETED
        and seen.epoch == state.epoch
        and state.last is Last.STOP
        and quiet(state)
        and not state.troubled
    )


def _ends_failed(state: Active, seen: Ending) -> bool:
    if seen.status is not Status.FAILED or not closable(state):
        return False
    if seen.epoch == state.epoch:
        return True
    return seen.epoch > state.epoch and (seen.released or not waits(state))


def _ends_aborted(state: Stopping, seen: Ending) -> bool:
    return (
        seen.status is Status.ABORTED
        and seen.source is Named.SAME
        and closable(state)
        and seen.epoch >= state.epoch
    )


def _repair_ends(state: Repairing, seen: Ending) -> bool:
    return seen.status is Status.FAILED and seen.epoch == state.epoch


_FRESH: Final = {
    "last": Last.NEVER,
    "calls": 0,
    "operations": 0,
    "asks": 0,
    "grants": 0,
    "troubled": False,
}
_STEP: Final = {"operations": 0, "asks": 0, "grants": 0}
_E: Final = ("epoch",)

# Legend: adds moves counters, sets writes constants, takes copies from the event; the rest is carried.
# T9..T12 and T40 are the only ways a request finishes, T13/T14 the ways it is lost; only T9 leads to
# completed. Calls are counted in a state that may not rest (T8, T39), so that no crash and no stop can
# come between the calls of a step and its finish (LOG-7a).
# fmt: off
_ROWS: Final = (
    #    id         from       event       guard                to
    row("RUN.T1",  Absent,    Opening,    _opens_turn,         Opened,    takes=_E),
    row("RUN.T2",  Absent,    Opening,    _opens_continuation, Active,    takes=_E, sets=_FRESH),
    row("RUN.T3",  Absent,    Opening,    _opens_repair,       Repairing, takes=_E),
    row("RUN.T4",  Opened,    UserText,   _first_text,         Active,    sets=_FRESH),
    row("RUN.T5",  Active,    Steering,   _steers,             Active,    sets={"last": Last.STEERED}),
    row("RUN.T6",  Active,    Request,    _requests,           Active,    sets={"last": Last.OPEN}),
    row("RUN.T7",  Active,    Output,     _streams,            Active),
    row("RUN.T8",  Active,    Call,       _places_first,       Placing,   sets={"calls": 1}),
    row("RUN.T9",  Active,    Settlement, _states_stop,        Active,    sets={"last": Last.STOP, "troubled": False}),
    row("RUN.T10", Placing,   Settlement, _states_calls,       Active,    sets={**_STEP, "last": Last.CALLS, "troubled": False}),
    row("RUN.T11", Active,    Settlement, _states_cut,         Active,    sets={"last": Last.CUT}),
    row("RUN.T12", Active,    Settlement, _fails,              Active,    sets={"last": Last.FAILED, "troubled": True}),
    row("RUN.T13", Active,    Settlement, _loses,              Active,    sets={"last": Last.LOST}),
    row("RUN.T14", Stopping,  Settlement, _loses,              Stopping,  sets={"last": Last.LOST}),
    row("RUN.T15", Stopping,  Settlement, _fails,              Stopping,  sets={"last": Last.FAILED, "troubled": True}),
    row("RUN.T16", Active,    Dispatch,   _dispatches,         Active,    adds={"calls": -1, "operations": 1}),
    row("RUN.T17", Active,    Dispatch,   _dispatches_granted, Active,    adds={"calls": -1, "operations": 1, "grants": -1}),
    row("RUN.T18", Active,    Settled,    _settles,            Active,    adds={"operations": -1}),
    row("RUN.T19", Stopping,  Settled,    _settles,            Stopping,  adds={"operations": -1}),
    row("RUN.T20", Active,    NotStarted, _refuses_call,       Active,    adds={"calls": -1}),
    row("RUN.T21", Active,    NotStarted, _delivers_denial,    Active,    adds={"calls": -1, "grants": -1}),
    row("RUN.T22", Active,    Recovery,   _recovers,           Active),
    row("RUN.T23", Stopping,  Recovery,   _recovers,           Stopping),
    row("RUN.T24", Active,    Ask,        _asks,               Active,    adds={"asks": 1}),
    row("RUN.T25", Active,    Answer,     _answers,            Active,    adds={"asks": -1, "grants": 1}),
    row("RUN.T26", Active,    Expiry,     _expires,            Active,    adds={"asks": -1, "grants": 1}),
    row("RUN.T27", Active,    Closing,    _closes,             Active,    adds={"asks": -1}),
    row("RUN.T28", Stopping,  Closing,    _closes_stopped,     Stopping,  adds={"asks": -1}),
    row("RUN.T29", Active,    Trouble,    _own_trouble,        Active,    sets={"troubled": True}),
    row("RUN.T30", Stopping,  Trouble,    _own_trouble,        Stopping,  sets={"troubled": True}),
    row("RUN.T31", Active,    Note,       _own_note,           Active),
    row("RUN.T32", Stopping,  Note,       _own_note,           Stopping),
    row("RUN.T33", Active,    Stop,       _stops,              Stopping),
    row("RUN.T34", Active,    Reattach,   _reattaches,         Active,    takes=_E),
    row("RUN.T35", Active,    Ending,     _completes,          Ended),
    row("RUN.T36", Active,    Ending,     _ends_failed,        Ended),
    row("RUN.T37", Stopping,  Ending,     _ends_aborted,       Ended),
    row("RUN.T38", Repairing, Ending,     _repair_ends,        Ended),
    row("RUN.T39", Placing,   Call,       _places_more,        Placing,   adds={"calls": 1}),
    row("RUN.T40", Placing,   Settlement, _cuts_calls,         Active,    sets={**_STEP, "last": Last.CUT}),
)
# fmt: on


def _foreign(state: Live, seen: RunSeen) -> bool:
    return seen.epoch != state.epoch


def _elsewhere(state: Placing, seen: RunSeen) -> bool:
    return seen.epoch != state.epoch


def _of_the_placed(_state: Placing, seen: Settlement) -> bool:
    return seen.request is Named.SAME


def _undirected(_state: Opened | Active, seen: UserText | Steering) -> bool:
    return seen.delivery is not Delivery.TAKEN


def _between_steps(state: Active, _seen: Steering) -> bool:
    return not quiet(state)


def _request_open(state: Active, _seen: Request) -> bool:
    return state.last is Last.OPEN


def _not_quiet(state: Active, _seen: Request | Ending) -> bool:
    return not quiet(state) or state.asks > 0


def _contradicts(state: Active, seen: Settlement) -> bool:
    return _open_request(state, seen)


def _not_last_failed(state: Active, seen: Request) -> bool:
    return (state.last is Last.FAILED) != (seen.retry is Retry.LAST)


def _completing(_state: Active, seen: Ending) -> bool:
    return seen.status is Status.COMPLETED


def _aborting(_state: Active, seen: Ending) -> bool:
    return seen.status is Status.ABORTED


def _other_source(_state: Stopping, seen: Ending) -> bool:
    return seen.status is Status.ABORTED and seen.source is Named.OTHER


def _room_taken(_state: Absent, seen: Opening) -> bool:
    return seen.room is Room.BUSY


def _unclaimed(_state: Absent, seen: Opening) -> bool:
    return seen.reservation is Reservation.NONE and seen.start is not Start.TURN


def _not_waiting(state: Active, _seen: Reattach) -> bool:
    return not waits(state)


def _ending_unquiet(state: Stopping, seen: Ending) -> bool:
    return not closable(state) and seen.status is Status.ABORTED


def _older(state: Live, seen: RunSeen) -> bool:
    return seen.epoch < state.epoch


def _granted(_state: Active, seen: Dispatch) -> bool:
    return seen.granted


_DENIALS: Final = (
    deny(Code.CLAIM_MISSING, source=Absent, event=Opening, when=_unclaimed),
    deny(Code.SESSION_BUSY, source=Absent, event=Opening, when=_room_taken),
    deny(Code.TARGET_RESERVED, source=Absent, event=Opening),
    deny(Code.ALREADY_OPENED, source=Active, event=Opening),
    deny(Code.ALREADY_OPENED, source=Opened, event=Opening),
    deny(Code.ALREADY_OPENED, source=Placing, event=Opening),
    deny(Code.RUN_NOT_ATTACHED, source=Placing, when=_elsewhere),
    deny(Code.FINISH_CONTRADICTS_CALLS, source=Placing, event=Settlement, when=_of_the_placed),
    deny(Code.REQUEST_NOT_OPEN, source=Placing, event=Settlement),
    deny(Code.REQUEST_NOT_OPEN, source=Placing, event=Call),
    deny(Code.ALREADY_OPENED, source=Stopping, event=Opening),
    deny(Code.MESSAGE_NOT_TAKEN, source=Opened, event=UserText, when=_undirected),
    deny(Code.RUN_NOT_WAITING, source=Active, event=Reattach, when=_not_waiting),
    deny(Code.RUN_NOT_ATTACHED, source=Active, when=_older),
    deny(Code.RUN_NOT_ATTACHED, source=Stopping, when=_older),
    deny(Code.STOP_SOURCE_DIFFERS, source=Stopping, event=Ending, when=_other_source),
    deny(Code.RUN_NOT_QUIET, source=Stopping, event=Ending, when=_ending_unquiet),
    deny(Code.REQUEST_NOT_OPEN, source=Stopping, event=Settlement),
    deny(Code.RUN_NOT_STOPPING, source=Active, event=Ending, when=_aborting),
    deny(Code.RUN_NOT_ATTACHED, source=Active, when=_foreign),
    deny(Code.MESSAGE_NOT_TAKEN, source=Active, event=Steering, when=_undirected),
    deny(Code.NOT_AT_BOUNDARY, source=Active, event=Steering, when=_between_steps),
    deny(Code.NOT_AT_BOUNDARY, source=Active, event=Steering),
    deny(Code.REQUEST_OPEN, source=Active, event=Request, when=_request_open),
    deny(Code.RUN_NOT_QUIET, source=Active, event=Request, when=_not_quiet),
    deny(Code.REQUEST_MUST_NAME_RETRIED, source=Active, event=Request, when=_not_last_failed),
    deny(Code.RUN_NOT_FINISHED, source=Active, event=Request),
    deny(Code.FINISH_CONTRADICTS_CALLS, source=Active, event=Settlement, when=_contradicts),
    deny(Code.REQUEST_NOT_OPEN, source=Active, event=Settlement),
    deny(Code.REQUEST_NOT_OPEN, source=Active, event=Output),
    deny(Code.REQUEST_NOT_OPEN, source=Active, event=Call),
    deny(Code.GRANT_MISSING, source=Active, event=Dispatch, when=_granted),
    deny(Code.OPERATION_NOT_CALLED, source=Active, event=Dispatch),
    deny(Code.OPERATION_NOT_CALLED, source=Active, event=NotStarted),
    deny(Code.OPERATION_NOT_CALLED, source=Active, event=Ask),
    deny(Code.OPERATION_NOT_DISPATCHED, source=Active, event=Settled),
    deny(Code.ASK_UNKNOWN, source=Active, event=Answer),
    deny(Code.ASK_UNKNOWN, source=Active, event=Expiry),
    deny(Code.ASK_UNKNOWN, source=Active, event=Closing),
    deny(Code.RUN_NOT_FINISHED, source=Active, event=Ending, when=_completing),
    deny(Code.RUN_NOT_QUIET, source=Active, event=Ending),
)

TABLE: Final[Table[RunState, RunSeen]] = Table(
    machine="run",
    prefix="RUN",
    start=Absent(),
    states=(Absent, Opened, Active, Placing, Stopping, Repairing, Ended),
    events=(
        Opening,
        UserText,
        Steering,
        Request,
        Output,
        Call,
        Settlement,
        Dispatch,
        Settled,
        NotStarted,
        Recovery,
        Ask,
        Answer,
        Expiry,
        Closing,
        Trouble,
        Note,
        Stop,
        Reattach,
        Ending,
    ),
    rows=_ROWS,
    denials=_DENIALS,
    default={
        Absent: Code.NOT_OPENED,
        Opened: Code.RUN_NEEDS_USER_TEXT,
        Active: Code.ALREADY_OPENED,
        Placing: Code.REQUEST_OPEN,
        Stopping: Code.RUN_STOPPING,
        Repairing: Code.REPAIR_ONLY_FAILS,
        Ended: Code.RUN_SEALED,
    },
    transient=frozenset((Opened, Placing, Repairing)),
)
