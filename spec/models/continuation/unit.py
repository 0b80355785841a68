"""One transaction of the continuation model."""

from typing import TypeVar

from ....machines.lifecycles import claim, host, lease, operation, repair, run, session, verdict
from ..act import Act, Transaction
from .world import Actions, Laws, Owner, Plan, World, free

T = TypeVar("T")


def put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    """Return the tuple with one place changed."""
    return (*values[:at], value, *values[at + 1 :])


class Unit(Transaction):
    """A transaction in the making, of one owner."""

    def __init__(self, laws: Laws, world: World, owner: Owner) -> None:
        """Begin a unit: every write transaction asserts its epoch first (OWN-1)."""
        super().__init__()
        self.laws, self.world, self.owner = laws, world, owner
        self.move_lease(lease.Write(epoch=owner.epoch))

    def admit(self) -> None:
        """Ask the host whether it admits work."""
        self.step(self.laws.host, self.owner.state, host.Admit())

    def move_lease(self, seen: lease.LeaseSeen) -> None:
        """Step the lease."""
        state = self.step(self.laws.lease, self.world.lease, seen)
        self.world = self.world._replace(lease=state)

    def move_session(self, seen: session.SessionSeen) -> None:
        """Step the session."""
        state = self.step(self.laws.session, self.world.session, seen)
        self.world = self.world._replace(session=state)

    def move_run(self, at: int, seen: run.RunSeen) -> None:
        """Step one run."""
        state = self.step(self.laws.run, self.world.runs[at], seen)
        self.world = self.world._replace(runs=put(self.world.runs, at, state))

    def move_operation(self, seen: operation.OperationSeen) -> None:
        """Step the operation of the source."""
        state = self.step(self.laws.operation, self.world.operation, seen)
        self.world = self.world._replace(operation=state)

    def move_verdict(self, seen: verdict.VerdictSeen) -> None:
        """Step the verdict about the operation."""
        state = self.step(self.laws.verdict, self.world.verdict, seen)
        self.world = self.world._replace(verdict=state)

    def move_claim(self, at: int, seen: claim.ClaimSeen) -> None:
        """Step the claim of one boundary, and count who acquired it."""
        state = self.step(self.laws.claim, self.world.claims[at], seen)
        acquired = isinstance(seen, claim.Make) and not self.refused
        self.world = self.world._replace(
            claims=put(self.world.claims, at, state),
            made=put(self.world.made, at, self.world.made[at] + acquired),
        )

    def move_repair(self, at: int, seen: repair.RepairSeen) -> None:
        """Step the saga of one claim."""
        state = self.step(self.laws.repair, self.world.repairs[at], seen)
        self.world = self.world._replace(repairs=put(self.world.repairs, at, state))

    def open_target(self, at: int, kind: claim.Kind) -> None:
        """Write the continuation start of the claim of boundary `at` (CONT-4)."""
        epoch = self.owner.epoch
        room = run.Room.FREE if free(self.world) else run.Room.BUSY
        startless = isinstance(self.world.claims[at], claim.Claimed)
        self.move_claim(at, claim.Begin(epoch=epoch, kind=kind, binding=claim.Binding.SAME))
        repairing = kind is claim.Kind.REPAIR
        if repairing:
            self.move_repair(at, repair.Begin(startless=startless))
        start = run.Start.REPAIR if repairing else run.Start.ADMISSION
        mine = run.Reservation.MINE
        self.move_run(at + 1, run.Opening(epoch=epoch, start=start, room=room, reservation=mine))

    def end_run(self, at: int, status: run.Status) -> None:
        """Close the open request, if there is one, and write the end (LOG-4a)."""
        epoch, state = self.owner.epoch, self.world.runs[at]
        if isinstance(state, run.Active | run.Stopping) and state.last is run.Last.OPEN:
            lost = run.Settlement(epoch=epoch, request=run.Named.SAME, end=run.End.LOST)
            self.move_run(at, lost)
        end = run.Ending(epoch=epoch, status=status, source=run.Named.SAME, released=False)
        self.move_run(at, end)

    def repair_target(self, at: int) -> None:
        """Close the claim of boundary `at`: a repair start and its failed end (CONT-7)."""
        self.open_target(at, claim.Kind.REPAIR)
        self.move_repair(at, repair.Finish(abandoned=True))
        self.end_run(at + 1, run.Status.FAILED)

    def open_turn(self) -> None:
        """Open a turn that is no continuation; what becomes of it does not matter here."""
        epoch = self.owner.epoch
        opening = run.Opening(
            epoch=epoch,
            start=run.Start.TURN,
            room=run.Room.FREE if free(self.world) else run.Room.BUSY,
            reservation=run.Reservation.NONE,
        )
        opened = self.step(self.laws.run, self.laws.run.table.start, opening)
        self.step(self.laws.run, opened, run.UserText(epoch=epoch, delivery=run.Delivery.DIRECT))
        self.world = self.world._replace(superseded=True)

    def ask_model(self, at: int) -> None:
        """Count the model request that leaves for a run right after the commit."""
        asked = put(self.world.asked, at, self.world.asked[at] + 1)
        self.world = self.world._replace(asked=asked)

    def note_control(self) -> None:
        """Count a fact of the control ledger that plans rest on."""
        self.world = self.world._replace(control=self.world.control + 1)

    def commit(self, what: str, *, plan: Plan | None = None) -> Actions:
        """Yield the action if every table admitted it; the owner then holds `plan`."""
        if self.refused:
            return
        owners = tuple(
            one._replace(plan=plan) if one is self.owner else one for one in self.world.owners
        )
        yield Act(self.owner.epoch, what), self.world._replace(owners=owners), tuple(self.rows)
