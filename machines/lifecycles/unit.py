"""The unit: every fact of one transaction steps every machine it moves, all or nothing (MACH-5c)."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, cast

import attrs

from ..facts import ids
from ..facts.codes import Code
from ..facts.model import (
    MessageQueued,
    MessageTaken,
    RunAbandoned,
    RunEnded,
    RunOpened,
    RuntimeEvent,
)
from ..facts.vocabulary import Cause, CloseReason, Intent, Kind
from . import message, run
from .cells import Cell, Machine, Memo, table_of
from .classify import control
from .classify.operation import (
    remember_interaction,
    remember_operation,
    see_interaction,
    see_operation,
)
from .classify.run import remember_request, remember_run, see_request, see_run
from .classify.scene import Scene, Sight, Surroundings
from .table import Refused

Key: TypeAlias = Callable[[RuntimeEvent], str | None]
See: TypeAlias = Callable[[Sight, Cell], object]
Remember: TypeAlias = Callable[[Sight, Cell], Memo]
Moved: TypeAlias = Mapping[tuple[Machine, str], Cell]


@attrs.frozen(kw_only=True)
class Route:
    """One machine that a kind may move: which instance, what it sees, what it keeps."""

    machine: Machine
    key: Key
    see: See
    remember: Remember


@attrs.frozen(kw_only=True)
class Admitted:
    """An accepted unit: per fact the rows that admitted it, and every cell as it is afterwards.

    Attributes:
        touched: Per fact the instances it changed, in the order of its rows. A run counts as
            changed by every fact that moves it, because its newest fact is part of its place.
    """

    rows: tuple[tuple[str, ...], ...]
    touched: tuple[tuple[tuple[Machine, str], ...], ...]
    moved: Moved
    opened: tuple[str, ...]
    ended: tuple[str, ...]


@attrs.frozen(kw_only=True)
class UnitRefused:
    """A refused unit: nothing of it happened. `index` is the fact that was refused."""

    index: int
    refusal: Refused


def _by_session(event: RuntimeEvent) -> str | None:
    return event.spine.session


def _by_run(event: RuntimeEvent) -> str | None:
    return event.spine.run


def _by_request(event: RuntimeEvent) -> str | None:
    return event.refs.request


def _by_operation(event: RuntimeEvent) -> str | None:
    return event.refs.operation


def _by_ask(event: RuntimeEvent) -> str | None:
    return event.refs.ask


def _by_message(event: RuntimeEvent) -> str | None:
    return event.refs.message


def _by_claim(event: RuntimeEvent) -> str | None:
    action = event.actions
    if isinstance(action, RunOpened) and action.continuation is not None:
        return action.continuation.claim
    return None


def _by_repaired_claim(event: RuntimeEvent) -> str | None:
    action = event.actions
    if isinstance(action, RunOpened) and action.cause is not Cause.CLAIM_REPAIR:
        return None
    return _by_claim(event)


_SESSION: Final = Route(
    machine=Machine.SESSION,
    key=_by_session,
    see=control.see_session,
    remember=control.remember_session,
)
_MESSAGE: Final = Route(
    machine=Machine.MESSAGE,
    key=_by_message,
    see=control.see_message,
    remember=control.remember_message,
)
_VERDICT: Final = Route(
    machine=Machine.VERDICT,
    key=_by_operation,
    see=control.see_verdict,
    remember=control.remember_verdict,
)
_CLAIM: Final = Route(
    machine=Machine.CLAIM,
    key=_by_claim,
    see=control.see_claim,
    remember=control.remember_claim,
)
_REPAIR: Final = Route(
    machine=Machine.REPAIR,
    key=_by_repaired_claim,
    see=control.see_repair,
    remember=control.remember_repair,
)
_RUN: Final = Route(machine=Machine.RUN, key=_by_run, see=see_run, remember=remember_run)
_REQUEST: Final = Route(
    machine=Machine.REQUEST, key=_by_request, see=see_request, remember=remember_request
)
_OPERATION: Final = Route(
    machine=Machine.OPERATION,
    key=_by_operation,
    see=see_operation,
    remember=remember_operation,
)
_ASK: Final = Route(
    machine=Machine.INTERACTION,
    key=_by_ask,
    see=see_interaction,
    remember=remember_interaction,
)

# Which machines a kind moves, in the fixed order of `Machine`. An optional reference that is absent
# moves nothing: a T1 without a grant does not step the interaction.
# fmt: off
ROUTES: Final[Mapping[Kind, tuple[Route, ...]]] = MappingProxyType({
    Kind.RUN_OPENED:         (_CLAIM, _REPAIR, _RUN),
    Kind.USER_TEXT:          (_RUN,),
    Kind.STEERING_TEXT:      (_RUN,),
    Kind.REQUEST_DISPATCHED: (_RUN, _REQUEST),
    Kind.REQUEST_SETTLED:    (_RUN, _REQUEST),
    Kind.MODEL_TEXT:         (_RUN, _REQUEST),
    Kind.MODEL_THINKING:     (_RUN, _REQUEST),
    Kind.CALL:               (_RUN, _REQUEST, _OPERATION),
    Kind.DISPATCHED:         (_RUN, _OPERATION, _ASK),
    Kind.OUTCOME:            (_RUN, _OPERATION, _ASK),
    Kind.RECONCILE_RESULT:   (_RUN, _OPERATION),
    Kind.RECOVERY_DECISION:  (_RUN, _OPERATION),
    Kind.ASK_OPENED:         (_RUN, _OPERATION, _ASK),
    Kind.ASK_ANSWERED:       (_RUN, _ASK),
    Kind.ASK_CLOSED:         (_RUN, _OPERATION, _ASK),
    Kind.ERROR_NOTED:        (_RUN,),
    Kind.ARTIFACT_ADDED:     (_RUN,),
    Kind.CHECKPOINT_MADE:    (_RUN,),
    Kind.STOP_REQUESTED:     (_RUN,),
    Kind.RUN_REATTACHED:     (_RUN,),
    Kind.RUN_ENDED:          (_REPAIR, _RUN),
    Kind.SESSION_OPENED:     (_SESSION,),
    Kind.SETTINGS_CHANGED:   (_SESSION,),
    Kind.WORKSPACE_ATTACHED: (_SESSION,),
    Kind.BOUNDARY_CHANGED:   (_SESSION,),
    Kind.MESSAGE_QUEUED:     (_MESSAGE,),
    Kind.MESSAGE_TAKEN:      (_MESSAGE,),
    Kind.MESSAGE_RETURNED:   (_MESSAGE,),
    Kind.MESSAGE_RETRACTED:  (_MESSAGE,),
    Kind.VERDICT_GIVEN:      (_VERDICT,),
    Kind.RUN_ABANDONED:      (_SESSION,),
    Kind.BOUNDARY_ABANDONED: (_SESSION,),
    Kind.DRIFT_ACCEPTED:     (_SESSION,),
    Kind.LATE_OUTCOME:       (_SESSION,),
    Kind.BRANCHED_FROM:      (_SESSION,),
    Kind.SESSION_ADOPTED:    (_SESSION,),
})
# fmt: on


def _of_operation(derive: Callable[[str], str]) -> Key:
    def expected(event: RuntimeEvent) -> str | None:
        return None if event.refs.operation is None else derive(event.refs.operation)

    return expected


_DERIVED: Final[Mapping[Kind, Key]] = MappingProxyType(
    {
        Kind.CALL: _of_operation(ids.call_fact_id),
        Kind.DISPATCHED: _of_operation(ids.dispatch_fact_id),
        Kind.OUTCOME: _of_operation(ids.outcome_fact_id),
        Kind.RECONCILE_RESULT: _of_operation(ids.reconcile_fact_id),
        Kind.RECOVERY_DECISION: _of_operation(ids.decision_fact_id),
        Kind.LATE_OUTCOME: _of_operation(ids.late_outcome_fact_id),
    }
)


def _routes(event: RuntimeEvent, scene: Scene) -> tuple[Route, ...]:
    """Return the routes of a fact; two kinds move a machine only in part of its life."""
    kind = event.kind
    routes = ROUTES[kind]
    if kind is Kind.RUN_ENDED:
        state = scene.cell(Machine.RUN, event.spine.run).state
        return routes if isinstance(state, run.Repairing) else (_RUN,)
    if kind is Kind.ASK_CLOSED:
        expired = getattr(event.actions, "reason", None) is CloseReason.EXPIRED
        return (_RUN, _ASK) if expired else routes
    return routes


def _instance(route: Route, event: RuntimeEvent, scene: Scene) -> str | None:
    """Return the instance a route moves; an ask leads to its operation, an end to its claim."""
    if route is _OPERATION and event.kind is Kind.ASK_CLOSED:
        assert event.refs.ask is not None
        name = scene.cell(Machine.INTERACTION, event.refs.ask).memo.get("operation")
        return cast("str | None", name)
    if route is _REPAIR and event.kind is Kind.RUN_ENDED:
        return cast("str | None", scene.cell(Machine.RUN, event.spine.run).memo.get("claim"))
    return route.key(event)


def step_fact(event: RuntimeEvent, epoch: int, scene: Scene) -> tuple[str, ...] | Refused:
    """Step every machine that one fact moves; on refusal the scene is as it was before.

    Returns:
        The ids of the rows that admitted the fact, in the fixed order of the machines (MACH-4).
    """
    derive = _DERIVED.get(event.kind)
    if derive is not None and derive(event) != event.id:
        return Refused(
            code=Code.ID_NOT_DERIVED, machine="unit", phase="any", event=event.kind.value
        )
    sight = Sight(event=event, epoch=epoch, scene=scene)
    rows: list[str] = []
    moved: list[tuple[Machine, str, Cell]] = []
    touched: list[tuple[Machine, str]] = []
    for route in _routes(event, scene):
        instance = _instance(route, event, scene)
        if instance is None:
            continue
        machine = route.machine
        cell = scene.cell(machine, instance)
        stepped = table_of(machine).step(cell.state, route.see(sight, cell))
        if isinstance(stepped, Refused):
            return stepped
        state, row = stepped
        rows.append(row)
        memo = route.remember(sight, cell)
        after = cell
        if state is not cell.state or memo is not cell.memo:
            after = Cell(state=state, memo=memo)
        moved.append((machine, instance, after))
        if machine is Machine.RUN or (after is not cell and after != cell):
            touched.append((machine, instance))
    for machine, instance, cell in moved:
        scene.move(machine, instance, cell)
    scene.touched.append(tuple(touched))
    _note(event, scene)
    return tuple(rows)


def _note(event: RuntimeEvent, scene: Scene) -> None:
    """Keep what later facts of the same unit, and its completeness, depend on."""
    action, name = event.actions, event.refs.message
    session = event.spine.session
    match action:
        case RunOpened():
            scene.opened.add(event.spine.run)
        case RunEnded():
            scene.ended[event.spine.run] = session
        case RunAbandoned():
            scene.abandoned.add(action.run)
        case MessageQueued() if action.intent is Intent.STEER:
            scene.steering[session] = scene.steering.get(session, 0) + 1
        case _:
            pass
    if name is None:
        return
    if event.kind in (Kind.STEERING_TEXT, Kind.USER_TEXT):
        scene.taken.discard(name)
    elif isinstance(action, MessageTaken):
        scene.taken.add(name)
    if event.kind in (Kind.MESSAGE_TAKEN, Kind.MESSAGE_RETURNED, Kind.MESSAGE_RETRACTED):
        before = scene.around.cell(Machine.MESSAGE, name)
        steer = before is not None and before.state == message.Queued(intent=message.Intent.STEER)
        if steer:
            scene.steering[session] = scene.steering.get(session, 0) - 1


def _missing(scene: Scene) -> tuple[str, str] | None:
    """Return what the unit began and did not finish: the machine and the phase it would rest in."""
    for (machine, _instance_id), cell in scene.restless.items():
        return machine.value, type(cell.state).__name__
    if scene.taken:
        return Machine.MESSAGE.value, "TakenWithoutText"
    if scene.abandoned - scene.ended.keys():
        return Machine.RUN.value, "AbandonedWithoutEnd"
    for name, session in scene.ended.items():
        # A run that this very unit opened is the repair of a claim: messages were never for it, and
        # may be for a run that is open beside it (CONT-7).
        if name in scene.opened:
            continue
        if scene.around.steering(session) + scene.steering.get(session, 0) > 0:
            return Machine.MESSAGE.value, "SteeringWithoutReturn"
    return None


@attrs.define(eq=False)
class UnitMaking:
    """A unit that grows fact by fact, on top of surroundings that stay as they are (MACH-5c).

    Whoever reads a log does not know where a unit ends before the tables say that it may; stepping
    each fact once makes that as cheap as knowing it.
    """

    _scene: Scene
    _rows: list[tuple[str, ...]] = attrs.field(factory=list[tuple[str, ...]], init=False)

    @classmethod
    def on(cls, around: Surroundings) -> "UnitMaking":
        """Begin a unit that has no fact yet."""
        return cls(Scene(around=around))

    def add(self, event: RuntimeEvent, epoch: int) -> UnitRefused | None:
        """Step one more fact; a refused one is not part of the unit."""
        taken = step_fact(event, epoch, self._scene)
        if isinstance(taken, Refused):
            return UnitRefused(index=len(self._rows), refusal=taken)
        self._rows.append(taken)
        return None

    def admitted(self) -> Admitted | UnitRefused:
        """Return what the unit is as it stands, or, as `unit_incomplete`, that it may not end."""
        scene = self._scene
        missing = _missing(scene)
        if missing is not None:
            machine, phase = missing
            refusal = Refused(
                code=Code.UNIT_INCOMPLETE, machine=machine, phase=phase, event="commit"
            )
            return UnitRefused(index=len(self._rows) - 1, refusal=refusal)
        return Admitted(
            rows=tuple(self._rows),
            touched=tuple(scene.touched),
            moved=scene.moved,
            opened=tuple(scene.opened),
            ended=tuple(scene.ended),
        )


def admit_unit(
    facts: Iterable[tuple[RuntimeEvent, int]], around: Surroundings
) -> Admitted | UnitRefused:
    """Step a whole unit through the tables: every fact is admitted, or none is (MACH-5c).

    Args:
        facts: Each body with the owner epoch that writes it, in ledger order.
        around: What the store knows before the unit.

    Returns:
        The rows and the moved cells, or the first refusal with the index of its fact. A unit that
        would leave a machine in a state that may not rest is refused as `unit_incomplete`, at the
        index of its last fact.
    """
    making = UnitMaking.on(around)
    for event, epoch in facts:
        refused = making.add(event, epoch)
        if refused is not None:
            return refused
    return making.admitted()
