"""What `crash --power` found: counts that show what was tried, and every broken promise."""

import json
from collections import defaultdict
from collections.abc import Sequence

import attrs

from ..workload import Promise
from .losses import Loss


@attrs.frozen(kw_only=True)
class Breach:
    """A promise that did not hold.

    Attributes:
        image: The key for `--at`; empty if a recording showed it, before any power was lost.
    """

    image: str
    promise: str
    detail: str


@attrs.frozen(kw_only=True)
class Tally:
    """Images of one kind of loss.

    Attributes:
        images: How many were judged.
        lossy: In how many of them something is gone or torn.
    """

    loss: Loss
    images: int
    lossy: int


@attrs.frozen(kw_only=True)
class Report:
    """The result of a run; `clean` says whether it passes.

    Attributes:
        reference: How the workload was named.
        recordings: How many recordings were made; all but the first of a killed process and the
            one that went on in what it left.
        operations: How many operations they hold.
        syncs: How many of those made something durable.
        acknowledged: In how many images something had been acknowledged.
        seconds: Wall time of the images, without the recordings.
    """

    workload: str
    reference: str
    profile: str
    seed: int
    shard: str
    promises: tuple[Promise, ...]
    recordings: int
    operations: int
    syncs: int
    losses: tuple[Tally, ...]
    acknowledged: int
    violations: tuple[Breach, ...]
    seconds: float

    @property
    def images(self) -> int:
        """Return how many crash images were judged."""
        return sum(tally.images for tally in self.losses)

    @property
    def clean(self) -> bool:
        """Return whether every promise held, in images that had lost something."""
        return not self.violations and any(tally.lossy for tally in self.losses)


def at_command(report: Report, image: str) -> str:
    """Return the command that makes and judges one image again."""
    words = f"crashworthy crash --power --workload {report.reference} --seed {report.seed}"
    return f"{words} --at '{image}'"


def as_text(report: Report) -> str:
    """Return the report for a terminal; equal breaches are told once, with one image to repeat."""
    rate = report.images / report.seconds if report.seconds else 0.0
    lines = [
        f"workload {report.workload} ({report.reference}), power loss",
        f"profile {report.profile}, seed {report.seed}, shard {report.shard}",
        f"{report.recordings} recordings, {report.operations} operations, {report.syncs} syncs",
        f"  {report.recordings - 1} of them of a killed process and its successor",
        f"{report.images} crash images in {report.seconds:.1f} s, {rate:.1f}/s",
        f"  {report.acknowledged} of them with something acknowledged",
        "",
        f"{'unsynced, lost':<20}{'images':>8}{'with a loss':>14}",
    ]
    lines.extend(f"{t.loss:<20}{t.images:>8}{t.lossy:>14}" for t in report.losses)
    by_promise: defaultdict[str, list[Breach]] = defaultdict(list)
    for breach in report.violations:
        by_promise[breach.promise].append(breach)
    claims = {promise.id: promise.claim for promise in report.promises}
    for promise, broken in sorted(by_promise.items()):
        first = broken[0]
        repeat = f"repeat: {at_command(report, first.image)}"
        lines += [
            "",
            f"BROKEN {promise}: {claims.get(promise, 'not declared by the workload')}",
            f"  {len(broken)} times, first: {first.detail.strip()}",
            f"  {repeat if first.image else 'no power was lost'}",
        ]
    if not any(tally.lossy for tally in report.losses):
        lines += ["", "nothing was lost in any image, so nothing is shown"]
    lines += ["", "clean" if report.clean else "NOT clean"]
    return "\n".join(lines) + "\n"


def as_json(report: Report) -> str:
    """Return the whole report as one JSON document."""
    told = {**attrs.asdict(report), "images": report.images, "clean": report.clean}
    return json.dumps({"power": told}, indent=2) + "\n"


def tallied(images: Sequence[tuple[Loss, bool]]) -> tuple[Tally, ...]:
    """Count images by what was lost; each with whether anything was."""
    return tuple(
        Tally(
            loss=loss,
            images=sum(one is loss for one, _lossy in images),
            lossy=sum(one is loss and lossy for one, lossy in images),
        )
        for loss in Loss
    )
