"""A stage for cases: real hosts in their own processes, and the checks after every step (G1..6)."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from crashworthy.machines.facts.model import RunEnded, RuntimeEvent
from crashworthy.machines.facts.vocabulary import Kind
from crashworthy.machines.projections.checker import check_history
from crashworthy.machines.projections.history import history
from crashworthy.machines.projections.target import Capabilities, ThinkingForm
from crashworthy.store.audit.look import Look
from crashworthy.store.connect import Connector
from crashworthy.store.ownership.root import look_at_root
from crashworthy.store.read import Reading, Scope
from crashworthy.store.rebuild import projections_digest, rebuild
from crashworthy.store.sqlite import open_store
from crashworthy.store.verify import verify

HERE = Path(__file__).resolve().parent
TARGET = Capabilities(thinking=ThinkingForm.SIGNED)
KILLED = -9

Json = Any  # type: ignore[explicit-any]  # What a victim prints is read freely; checks are typed.


@attrs.frozen(kw_only=True)
class Life:
    """One process's life: how it ended, and what each step came to."""

    status: int
    recovery: dict[str, dict[str, str]]
    head: int
    results: list[Json]
    errors: str


@attrs.define(kw_only=True)
class Stage:
    """A root, a workspace, and the files in which effects and requests are counted."""

    base: Path
    script: Mapping[str, object]

    @property
    def root(self) -> Path:
        return self.base / "root"

    def live(self, *steps: Mapping[str, object], **told: object) -> Life:
        """Let a fresh process open the root and do these steps."""
        scene = {"base": str(self.base), "script": self.script, "steps": steps, **told}
        done = subprocess.run(
            [sys.executable, str(HERE / "victim.py")],
            input=json.dumps(scene),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": str(HERE.parents[2] / ".src")},
        )
        lines: list[Json] = [json.loads(line) for line in done.stdout.splitlines()]
        first: Json = lines[0] if lines else {"recovery": [], "head": 0}
        return Life(
            status=done.returncode,
            recovery={step: dict(decided) for step, decided in first["recovery"]},
            head=first["head"],
            results=lines[1:],
            errors=done.stderr,
        )

    def reopen(self) -> Life:
        """Reopen the root and do nothing; the process must end well."""
        life = self.live()
        assert life.status == 0, life.errors
        return life

    def turn(self, text: str = "what happened?") -> Json:
        """Start a new turn, which must complete."""
        life = self.live({"do": "send", "text": text})
        assert life.status == 0, life.errors
        (result,) = life.results
        assert result["end"] == "completed", result
        return result

    # --- what is there ---

    def facts(self) -> list[RuntimeEvent]:
        """Return every fact of the root in commit order."""
        root, problem = look_at_root(self.root)
        assert problem is None, problem
        with closing(Look(path=root.database, connector=Connector())) as look:
            reading = Reading(look=look, root_id=root.root_id, scope=Scope())
            facts = [fact.event for fact in reading]
        assert not reading.losses
        return facts

    def kinds(self) -> list[str]:
        return [fact.kind.value for fact in self.facts()]

    def effects(self) -> int:
        """Return E."""
        return len(self._lines("effects"))

    def requests(self) -> list[Json]:
        """Return what each model request showed; M is their number."""
        return [json.loads(line) for line in self._lines("requests")]

    def _lines(self, name: str) -> list[str]:
        path = self.base / name
        return path.read_text().splitlines() if path.exists() else []

    def result_shown(self, label: str) -> Json:
        """Return the tool result that the newest request shows for a call."""
        for message in reversed(self.requests()[-1]["messages"]):
            for block in message["content"]:
                if block.get("type") == "tool_result" and block.get("label") == label:
                    return block
        return None

    # --- the standing checks ---

    def check(self) -> None:
        """Make the checks that hold after every step of every case."""
        report = verify(self.root)
        assert report.findings == (), report.findings
        facts = self.facts()
        self._one_terminal_each(facts)
        for request in self.requests():
            assert check_history(request["messages"], TARGET) == ()
        for session in {fact.spine.session for fact in facts}:
            history([fact for fact in facts if fact.spine.session == session], TARGET)

    def check_rest(self) -> None:
        """Make the checks of a root at rest: repaired, reopened without change, rebuilt alike."""
        before = (len(self.facts()), self.effects(), len(self.requests()))
        first = self.reopen()
        facts, effects, requests = len(self.facts()), self.effects(), len(self.requests())
        assert (effects, requests) == before[1:], "repair asked a model or caused an effect (G4)"
        again = self.reopen()
        assert again.head == len(self.facts()) == facts == first.head, "G5"
        self.check()
        self._rebuilds_alike()

    def _one_terminal_each(self, facts: Sequence[RuntimeEvent]) -> None:
        ends = Counter(fact.spine.run for fact in facts if fact.kind is Kind.RUN_ENDED)
        assert set(ends.values()) <= {1}, "G1"
        last = {fact.spine.run: fact for fact in facts}
        for run in ends:
            assert isinstance(last[run].actions, RunEnded), "G1: something follows a terminal"

    def _rebuilds_alike(self) -> None:
        waiting = [fact for fact in self.facts() if fact.kind is Kind.RUN_OPENED]
        ended = [fact for fact in self.facts() if fact.kind is Kind.RUN_ENDED]
        if len(waiting) != len(ended):
            return  # A run waits for a person: rebuild needs that none is open (STORE-7).
        with closing(open_store(self.root, host="host_check", since="now")) as store:
            before = store.read(lambda _view: projections_digest(store.reader.fetch))
            rebuild(store)
            after = store.read(lambda _view: projections_digest(store.reader.fetch))
        assert before == after, "G3"


def step(*events: Mapping[str, object], **more: object) -> Mapping[str, object]:
    return {"event": list(events), **more}


def call(name: str, label: str = "c1", **args: object) -> Mapping[str, object]:
    return {"call": name, "label": label, "args": args}


def turn(*steps: Mapping[str, object], user: str | None = None) -> Mapping[str, object]:
    return {"step": list(steps)} if user is None else {"step": list(steps), "user": user}


CALLS = {"finish": "tool_calls"}
STOP = {"finish": "stop"}
NEXT = turn(step({"text": "ok"}, STOP), user="what happened?")


def play(*turns: Mapping[str, object]) -> Mapping[str, object]:
    """Return a script of these turns; the question of a later turn is always answered."""
    return {"turn": [*turns, NEXT]}
