"""What an owner that is ready (or draining) may try, in every order; the tables say what it may."""

from ....machines.lifecycles import host, interaction, lease, operation, request, run, session
from ..act import Act, bit
from .unit import Actions, Unit, with_work
from .world import Laws, Owner, Scope, World

_SAME = run.Named.SAME


def works_on(scope: Scope, laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield what a ready owner does for the run: its own, or one that waits for a person."""
    if isinstance(world.run, run.Absent):
        yield from _opens(laws, world, owner)
    if isinstance(world.run, run.Active):
        if world.sent < scope.requests:
            yield from _requests(laws, world, owner)
        yield from _ends(laws, world, owner)
        yield from _moves_waiting(laws, world, owner)
    if isinstance(world.run, run.Ended):
        unit = Unit(laws, world, owner)
        unit.close_run(run.Status.FAILED, released=False)
        yield from unit.commit("ends the run again")
    if isinstance(world.run, run.Stopping):
        unit = Unit(laws, world, owner)
        unit.close_run(run.Status.ABORTED, released=False)
        yield from unit.commit("aborts")
    if isinstance(world.request, request.Open) and world.request.epoch == owner.epoch:
        yield from _hears(laws, world, owner)
    for at, work in enumerate(world.works):
        if isinstance(work.state, operation.Called | operation.Asked):
            yield from _calls(scope, laws, world, owner, at)
        if work.owed & bit(owner.epoch) and not world.workers & bit(owner.epoch):
            # The worker is recorded before it is given anything, so that a fenced owner gets none.
            unit = Unit(laws, world, owner)
            unit.admit()
            for act, after, rows in unit.commit("starts its worker"):
                yield act, after._replace(workers=after.workers | bit(owner.epoch)), rows


def settles(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield T2 for every effect whose end the owner was told, or the late outcome (LOG-8)."""
    mine = bit(owner.epoch)
    for at, work in enumerate(world.works):
        if not work.done & mine:
            continue
        told = {at: work._replace(done=work.done & ~mine)}
        unit = Unit(laws, world, owner)
        unit.move_run(run.Settled(epoch=owner.epoch, via=run.Via.TOOL))
        unit.move_operation(
            at, operation.Outcome(epoch=owner.epoch, via=operation.Via.TOOL, gone=False)
        )
        yield from unit.commit(f"T2({at})", works=told)
        if isinstance(world.run, run.Ended):
            unit = Unit(laws, world, owner)
            unknown = isinstance(work.state, operation.Dispatched)
            unit.move_session(session.Late(run=session.RunIs.ENDED, unknown=unknown))
            yield from unit.commit(f"late outcome({at})", works=told)


def hands_over(world: World, owner: Owner) -> Actions:
    """Yield the hand-over of each T1 to the worker: nothing durable, so nothing can refuse it."""
    mine = bit(owner.epoch)
    for at, work in enumerate(world.works):
        if work.owed & mine and world.workers & mine:
            given = work._replace(owed=work.owed & ~mine, hands=work.hands | mine)
            yield (
                Act(owner.epoch, f"hands over({at})", writes=False),
                with_work(world, at, given),
                (),
            )


def closes(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the orderly end of a draining owner that awaited its work (OWN-3)."""
    mine = bit(owner.epoch)
    if any((work.owed | work.hands | work.done) & mine for work in world.works):
        return
    others = world.workers & ~mine
    unit = Unit(laws, world._replace(workers=others), owner)
    unit.move_lease(lease.Close(epoch=owner.epoch, gone=owner.epoch, workers=others != 0))
    released = laws.host.step(owner.state, host.Released())
    if isinstance(released, tuple):
        for act, after, rows in unit.commit("closes"):
            left = tuple(one for one in after.owners if one is not owner)
            yield act, after._replace(owners=left), (*rows, released[1])


def _opens(laws: Laws, world: World, owner: Owner) -> Actions:
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_run(
        run.Opening(
            epoch=owner.epoch,
            start=run.Start.TURN,
            room=run.Room.FREE,
            reservation=run.Reservation.NONE,
        )
    )
    unit.move_run(run.UserText(epoch=owner.epoch, delivery=run.Delivery.DIRECT))
    yield from unit.commit("opens the run")


def _requests(laws: Laws, world: World, owner: Owner) -> Actions:
    for retry in (run.Retry.FRESH, run.Retry.LAST):
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.move_run(run.Request(epoch=owner.epoch, retry=retry))
        unit.move_request(request.Dispatch(epoch=owner.epoch))
        yield from unit.commit("asks the model", sent=1)


def _hears(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield every way in which the model may answer the request of this owner."""
    if all(isinstance(work.state, operation.Absent) for work in world.works):
        unit = Unit(laws, world, owner)
        for at in range(len(world.works)):
            unit.move_run(run.Call(epoch=owner.epoch, request=_SAME))
            unit.move_request(request.Output(epoch=owner.epoch))
            unit.move_operation(at, operation.Call())
        yield from _finishes(unit, run.End.CALLS)
    unit = Unit(laws, world, owner)
    unit.move_run(run.Output(epoch=owner.epoch, request=_SAME))
    unit.move_request(request.Output(epoch=owner.epoch))
    yield from _finishes(unit, run.End.STOP)
    for end in (run.End.CUT, run.End.FAILED):
        yield from _finishes(Unit(laws, world, owner), end)


def _finishes(unit: Unit, end: run.End) -> Actions:
    unit.move_run(run.Settlement(epoch=unit.owner.epoch, request=_SAME, end=end))
    unit.move_request(request.Settlement(epoch=unit.owner.epoch, end=request.End.STATED))
    yield from unit.commit(f"hears {end}")


def _ends(laws: Laws, world: World, owner: Owner) -> Actions:
    assert isinstance(world.run, run.Active)
    unit = Unit(laws, world, owner)
    unit.close_run(run.Status.COMPLETED, released=False)
    yield from unit.commit("completes")
    if world.run.epoch == owner.epoch:
        unit = Unit(laws, world, owner)
        unit.close_run(run.Status.FAILED, released=False)
        yield from unit.commit("fails the run")
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_run(run.Stop(epoch=owner.epoch))
    yield from unit.commit("stops")


def _moves_waiting(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield what may happen to a run that another owner left waiting (ASK-3)."""
    assert isinstance(world.run, run.Active)
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_run(run.Reattach(epoch=owner.epoch))
    yield from unit.commit("re-attaches")
    waiting = session.RunIs.WAITING if run.waits(world.run) else session.RunIs.OPEN
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_session(session.Abandon(run=waiting))
    unit.close_run(run.Status.FAILED, released=True)
    yield from unit.commit("gives the run up")


def _calls(scope: Scope, laws: Laws, world: World, owner: Owner, at: int) -> Actions:
    """Yield what may become of a call without T1: asked about, started, or refused."""
    work, epoch = world.works[at], owner.epoch
    if isinstance(work.ask, interaction.Open):
        yield from _decides(laws, world, owner, at)
    if at < scope.asked and isinstance(work.ask, interaction.Absent):
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.move_run(run.Ask(epoch=epoch))
        unit.move_operation(at, operation.Ask(action=operation.Match.SAME))
        unit.move_ask(at, interaction.Ask(purpose=interaction.Purpose.APPROVAL))
        yield from unit.commit(f"asks about({at})")
        return
    named = isinstance(work.state, operation.Asked)
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_run(run.Dispatch(epoch=epoch, granted=named))
    unit.move_operation(
        at,
        operation.Dispatch(
            epoch=epoch,
            mode=scope.modes[at],
            local=True,
            action=operation.Match.SAME,
            grant=_grant(work.ask) if named else operation.Grant.NONE,
            retry=operation.Retry.NONE,
        ),
    )
    if named:
        unit.move_ask(at, interaction.Use(action=interaction.Match.SAME))
    started = work._replace(starts=work.starts + 1, epoch=epoch, owed=work.owed | bit(epoch))
    yield from unit.commit(f"T1({at})", works={at: started})
    unit = Unit(laws, world, owner)
    unit.move_run(run.NotStarted(epoch=epoch, denial=named))
    grant = _grant(work.ask) if named else operation.Grant.NONE
    unit.move_operation(at, operation.NotStarted(grant=grant))
    if named:
        unit.move_ask(at, interaction.Told(action=interaction.Match.SAME))
    yield from unit.commit(f"not started({at})")


def _grant(ask: interaction.InteractionState) -> operation.Grant:
    if isinstance(ask, interaction.Granted):
        return operation.Grant.GRANTED
    denied = isinstance(ask, interaction.Denied)
    return operation.Grant.DENIED if denied else operation.Grant.OTHER


def _decides(laws: Laws, world: World, owner: Owner, at: int) -> Actions:
    for decision in (interaction.Decision.ALLOW, interaction.Decision.DENY):
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.move_run(run.Answer(epoch=owner.epoch))
        unit.move_ask(at, interaction.Answer(decision=decision, overdue=world.due))
        yield from unit.commit(f"records {decision}({at})")
    yield from expires(laws, world, owner, at)
    unit = Unit(laws, world, owner)
    unit.move_run(run.Closing(epoch=owner.epoch, released=False))
    unit.move_operation(at, operation.Withdrawn())
    unit.move_ask(at, interaction.Closing())
    yield from unit.commit(f"withdraws({at})")


def expires(laws: Laws, world: World, owner: Owner, at: int) -> Actions:
    """Yield the closing of a request whose deadline has passed."""
    unit = Unit(laws, world, owner)
    unit.move_run(run.Expiry(epoch=owner.epoch))
    unit.move_ask(at, interaction.Expiry(overdue=world.due))
    yield from unit.commit(f"expires({at})")
