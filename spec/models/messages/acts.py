"""What may happen to a queue of messages: sent, taken, returned, retracted, and crashes between."""

from ....machines.lifecycles import host, lease, message, run
from ....machines.recovery.runs import Orphan, Repair
from ..act import Act, Transaction
from .world import Actions, Laws, Letter, Owner, Scope, World, is_open

_KEPT = (Repair.NOTHING, Repair.ALIVE, Repair.KEEP_WAITING)
_SAME = run.Named.SAME


class Unit(Transaction):
    """A transaction in the making, of the one owner."""

    def __init__(self, laws: Laws, world: World, owner: Owner) -> None:
        """Begin a unit: every write transaction asserts its epoch first (OWN-1)."""
        super().__init__()
        self.laws, self.world, self.owner = laws, world, owner
        self.step(laws.lease, world.lease, lease.Write(epoch=owner.epoch))

    def admit(self) -> None:
        """Ask the host whether it admits work."""
        self.step(self.laws.host, self.owner.state, host.Admit())

    def move_run(self, seen: run.RunSeen) -> None:
        """Step the newest run; a new turn begins from nothing."""
        before = self.world.run
        if isinstance(seen, run.Opening) and isinstance(before, run.Ended):
            before = self.laws.run.table.start
        self.world = self.world._replace(run=self.step(self.laws.run, before, seen))

    def move_message(self, at: int, seen: message.MessageSeen) -> None:
        """Step one message."""
        letter = self.world.letters[at]
        self._put(at, letter._replace(state=self.step(self.laws.message, letter.state, seen)))

    def _put(self, at: int, letter: Letter) -> None:
        letters = (*self.world.letters[:at], letter, *self.world.letters[at + 1 :])
        self.world = self.world._replace(letters=letters)

    def sent(self, at: int) -> None:
        """Record the turn during which a message was sent."""
        turn = self.world.turn if is_open(self.world) else 0
        self._put(at, self.world.letters[at]._replace(turn=turn))

    def carried(self, at: int) -> None:
        """Record that a text of the newest turn carries a message."""
        letter = self.world.letters[at]
        delivered = letter.delivered + 1
        self._put(at, letter._replace(delivered=delivered, reached=self.world.turn))

    def end_run(self, status: run.Status) -> None:
        """Hand queued steering back, then write the end (LOG-4a)."""
        epoch, state = self.owner.epoch, self.world.run
        if isinstance(state, run.Active | run.Stopping) and state.last is run.Last.OPEN:
            self.move_run(run.Settlement(epoch=epoch, request=_SAME, end=run.End.LOST))
        for at, letter in enumerate(self.world.letters):
            steering = message.Queued(intent=message.Intent.STEER)
            if letter.state == steering and self.laws.hands_back:
                self.move_message(at, message.Return())
        self.move_run(run.Ending(epoch=epoch, status=status, source=_SAME, released=False))

    def commit(self, what: str) -> Actions:
        """Yield the action if every table admitted it."""
        if not self.refused:
            yield Act(self.owner.epoch, what), self.world, tuple(self.rows)


def opens(scope: Scope, laws: Laws, world: World) -> Actions:
    """Yield the next process that takes the root over."""
    if world.owner is not None or world.lease.epoch >= scope.epochs:
        return
    opened = laws.lease.step(world.lease, lease.Open(epoch=world.lease.epoch + 1, locked=True))
    owned = laws.host.step(laws.host.table.start, host.Owned(anchor=host.Anchor.MATCHES))
    if isinstance(opened, tuple) and isinstance(owned, tuple):
        owner = Owner(owned[0], opened[0].epoch)
        after = world._replace(lease=opened[0], owner=owner)
        yield Act(owner.epoch, "opens the root"), after, (opened[1], owned[1])


def dies(scope: Scope, world: World) -> Actions:
    """Yield the death of the owner at this point."""
    if world.owner is not None and world.owner.epoch < scope.epochs:
        act = Act(0, f"owner {world.owner.epoch} dies", writes=False)
        yield act, world._replace(owner=None), ()


def recovers(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the proof, the repair of the run that was left, and the end of recovery."""
    unit = Unit(laws, world, owner)
    gone = lease.Gone(epoch=owner.epoch, gone=owner.epoch - 1, workers=False)
    state = unit.step(laws.lease, world.lease, gone)
    unit.world = unit.world._replace(lease=state)
    yield from unit.commit("proves the others gone")
    orphan = Orphan(
        state=world.run,
        gone=isinstance(world.run, run.Active | run.Stopping)
        and world.run.epoch <= world.lease.gone,
        due=False,
        released=False,
        continuation=False,
    )
    repair = laws.run_repair.answer(orphan)
    if repair not in _KEPT:
        unit = Unit(laws, world, owner)
        unit.end_run(run.Status.ABORTED if repair is Repair.ABORT else run.Status.FAILED)
        yield from unit.commit(f"repairs: {repair}")
    elif world.lease.gone == owner.epoch - 1:
        done = laws.host.step(owner.state, host.Recovered(trace=True))
        if isinstance(done, tuple):
            after = world._replace(owner=Owner(done[0], owner.epoch))
            yield Act(owner.epoch, "is ready", writes=False), after, (done[1],)


def serves(scope: Scope, laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield what a ready owner does with messages and turns."""
    for at, letter in enumerate(world.letters):
        if isinstance(letter.state, message.Absent):
            yield from _queues(laws, world, owner, at)
        if isinstance(letter.state, message.Queued):
            yield from _delivers(scope, laws, world, owner, at)
            unit = Unit(laws, world, owner)
            unit.admit()
            unit.move_message(at, message.Retract())
            yield from unit.commit(f"retracts {at}")
    if world.turn < scope.turns:
        unit = _opening(laws, world, owner)
        unit.move_run(run.UserText(epoch=owner.epoch, delivery=run.Delivery.DIRECT))
        yield from unit.commit("opens a turn")
    yield from _runs(laws, world, owner)


def _queues(laws: Laws, world: World, owner: Owner, at: int) -> Actions:
    """Yield the sending of a message, also of steering while there is nothing to steer."""
    for intent in message.Intent:
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.move_message(at, message.Queue(intent=intent, run_open=is_open(world)))
        unit.sent(at)
        yield from unit.commit(f"queues {at} as {intent}")


def _delivers(scope: Scope, laws: Laws, world: World, owner: Owner, at: int) -> Actions:
    """Yield every delivery that an owner may try: at a boundary, and by an opening."""
    unit = Unit(laws, world, owner)
    unit.move_message(at, message.Take(target=message.Target.AT_BOUNDARY))
    unit.move_run(run.Steering(epoch=owner.epoch, delivery=run.Delivery.TAKEN))
    unit.carried(at)
    yield from unit.commit(f"steers with {at}")
    if world.turn < scope.turns:
        unit = _opening(laws, world, owner)
        unit.move_message(at, message.Take(target=message.Target.OPENING))
        unit.move_run(run.UserText(epoch=owner.epoch, delivery=run.Delivery.TAKEN))
        unit.carried(at)
        yield from unit.commit(f"opens a turn with {at}")


def _opening(laws: Laws, world: World, owner: Owner) -> Unit:
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_run(
        run.Opening(
            epoch=owner.epoch,
            start=run.Start.TURN,
            room=run.Room.BUSY if is_open(world) else run.Room.FREE,
            reservation=run.Reservation.NONE,
        )
    )
    unit.world = unit.world._replace(turn=world.turn + 1)
    return unit


def _runs(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the steps of the newest run."""
    epoch = owner.epoch
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_run(run.Request(epoch=epoch, retry=run.Retry.FRESH))
    yield from unit.commit("asks the model")
    unit = Unit(laws, world, owner)
    unit.move_run(run.Settlement(epoch=epoch, request=_SAME, end=run.End.STOP))
    yield from unit.commit("hears stop")
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_run(run.Stop(epoch=epoch))
    yield from unit.commit("stops")
    for status in run.Status:
        unit = Unit(laws, world, owner)
        unit.end_run(status)
        yield from unit.commit(f"ends {status}")
