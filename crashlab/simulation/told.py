"""What simulated histories showed, in words for people and as one JSON document."""

import json
from collections import Counter
from collections.abc import Sequence

import attrs

from .history import History
from .promised import SIMULATION_PROMISES


def as_lines(history: History) -> str:
    """Return what a person reads of a history that broke a promise, and how to repeat it."""
    lines = [f"seed {history.seed}: BROKEN"]
    lines += [f"  owner {number} {end}" for number, end in enumerate(history.owners, 1)]
    lines += [f"  {line}" for line in history.story]
    lines += [f"  BROKEN {one.promise}: {one.detail}" for one in history.findings]
    return "\n".join([*lines, f"  repeat: {command(history)}"])


def command(history: History) -> str:
    """Return the command that lets the same history happen again."""
    return f"crashworthy crash --simulate 1 --seed {history.seed}"


def as_text(histories: Sequence[History], seconds: float) -> str:
    """Return the last lines: how many, how fast, what they reached, and what is not clean."""
    broken = sum(not one.clean for one in histories)
    owners = sum(len(one.owners) for one in histories)
    deaths = sum(one.deaths for one in histories)
    facts = sum(one.facts for one in histories)
    rate = 60 * len(histories) / max(seconds, 0.001)
    word = "clean" if not broken else "NOT clean"
    return (
        f"{len(histories)} histories in {seconds:.1f} s, {rate:.0f} a minute\n"
        f"  {owners} owners, {deaths} of them killed; {facts} facts,"
        f" {len(rows_taken(histories))} rows of the tables taken\n"
        f"{broken} broken: {word}"
    )


def as_json(histories: Sequence[History], seconds: float) -> str:
    """Return all histories as one JSON document."""
    told = [{**attrs.asdict(one), "clean": one.clean, "repeat": command(one)} for one in histories]
    whole = {
        "seconds": round(seconds, 3),
        "clean": all(one.clean for one in histories),
        "promises": {promise.id: promise.claim for promise in SIMULATION_PROMISES},
        "rows": dict(sorted(rows_taken(histories).items())),
        "histories": told,
    }
    return json.dumps(whole, indent=2) + "\n"


def rows_taken(histories: Sequence[History]) -> Counter[str]:
    """Return in how many histories each row of the lifecycle tables admitted a fact."""
    return Counter(row for one in histories for row in one.rows)
