"""One transaction of the takeover model: every table it touches admits it, or nothing happened."""

from collections.abc import Iterator
from typing import TypeAlias

from ....machines.lifecycles import host, interaction, lease, operation, request, run, session
from ..act import Act, Transaction
from .world import Laws, Owner, Work, World

Actions: TypeAlias = Iterator[tuple[Act, World, tuple[str, ...]]]


class Unit(Transaction):
    """A transaction in the making, of one owner."""

    def __init__(self, laws: Laws, world: World, owner: Owner) -> None:
        """Begin a unit: every write transaction asserts its epoch first (OWN-1)."""
        super().__init__()
        self.laws, self.world, self.owner = laws, world, owner
        self.works = list(world.works)
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

    def move_run(self, seen: run.RunSeen) -> None:
        """Step the run, and count its ends."""
        state = self.step(self.laws.run, self.world.run, seen)
        ended = isinstance(seen, run.Ending) and not self.refused
        self.world = self.world._replace(run=state, ends=self.world.ends + ended)

    def move_request(self, seen: request.RequestSeen) -> None:
        """Step the newest request; a new one begins from nothing."""
        before = self.world.request
        if isinstance(seen, request.Dispatch) and isinstance(before, request.Closed):
            before = self.laws.request.table.start
        self.world = self.world._replace(request=self.step(self.laws.request, before, seen))

    def move_operation(self, at: int, seen: operation.OperationSeen) -> None:
        """Step one operation."""
        work = self.works[at]
        self.works[at] = work._replace(state=self.step(self.laws.operation, work.state, seen))

    def move_ask(self, at: int, seen: interaction.InteractionSeen) -> None:
        """Step the request to a person about one operation."""
        work = self.works[at]
        self.works[at] = work._replace(ask=self.step(self.laws.interaction, work.ask, seen))

    def close_run(self, status: run.Status, *, released: bool) -> None:
        """Write what every unit that ends a run writes first, then the end (LOG-4a)."""
        epoch = self.owner.epoch
        if isinstance(self.world.request, request.Open):
            self.move_run(run.Settlement(epoch=epoch, request=run.Named.SAME, end=run.End.LOST))
            self.move_request(request.Settlement(epoch=epoch, end=request.End.LOST))
        for at, work in enumerate(self.works):
            if isinstance(work.ask, interaction.Open):
                self.move_run(run.Closing(epoch=epoch, released=released))
                self.move_operation(at, operation.Withdrawn())
                self.move_ask(at, interaction.Closing())
        self.move_run(
            run.Ending(epoch=epoch, status=status, source=run.Named.SAME, released=released)
        )

    def commit(self, what: str, *, sent: int = 0, works: dict[int, Work] | None = None) -> Actions:
        """Yield the action if every table admitted it.

        Args:
            what: The label.
            sent: Model requests that leave right after the commit.
            works: What becomes true of operations beside their tables.
        """
        if self.refused:
            return
        for at, work in (works or {}).items():
            mine = self.works[at]
            self.works[at] = work._replace(state=mine.state, ask=mine.ask)
        world = self.world._replace(works=tuple(self.works), sent=self.world.sent + sent)
        yield Act(self.owner.epoch, what), world, tuple(self.rows)


def with_work(world: World, at: int, work: Work) -> World:
    """Return the world with one operation changed."""
    return world._replace(works=(*world.works[:at], work, *world.works[at + 1 :]))
