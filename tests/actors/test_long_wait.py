"""Waiting for a person is not idleness: however long it takes, the run then goes on (BR-16 a)."""

from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from crashworthy.actors.backends.script import parse_script
from crashworthy.actors.backends.scripted import ScriptedBackend
from crashworthy.actors.means import Patience
from crashworthy.actors.runtime import Settings, host_settings, open_runtime
from crashworthy.actors.tools.contract import Place, Tool
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.vocabulary import AnswerDecision, Kind, RunStatus
from crashworthy.store.runner import InlineRunner

from .scene import until

HOURS = 3600
DEPLOY: Json = {"call": "deploy", "label": "c1", "args": {}}


@attrs.define(kw_only=True)
class Deploys:
    """Counts what was really done (E)."""

    done: int = 0

    async def deploy(self, *_args: object, **_kwargs: object) -> object:
        self.done += 1
        return "deployed"


@pytest.mark.trio
async def test_answer_after_ten_hours_lets_the_run_go_on(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    work = Deploys()
    script = parse_script(
        {
            "turn": [
                {
                    "step": [
                        {"event": [DEPLOY, {"finish": "tool_calls"}]},
                        {"event": [{"text": "done"}, {"finish": "stop"}]},
                    ]
                }
            ]
        }
    )
    tool = Tool(
        name="deploy",
        description="Put it into production.",
        schema={"type": "object", "properties": {}, "additionalProperties": False},
        place=Place.HOST,
        entry="test:deploy",
        function=work.deploy,
    )
    (tmp_path / "work").mkdir()
    settings = Settings(
        root=tmp_path / "root",
        workspace=tmp_path / "work",
        backend=lambda: ScriptedBackend(script=script),
        tools=(tool,),
        patience=Patience(idle_ms=60_000),
    )
    # In place, because a virtual clock jumps while a thread works.
    inline = attrs.evolve(host_settings(settings), runner=InlineRunner())

    async with open_runtime(settings, inline) as runtime:
        session = await runtime.create_session()
        run = await session.send("go")
        await until(runtime, run, Kind.ASK_OPENED)
        for _ in range(10):
            await trio.sleep(HOURS)
            assert run.waits
            assert run.end() is None
        (asked,) = runtime.pending()
        await runtime.answer(asked.ask, AnswerDecision.ALLOW)
        end = await run.wait()

    assert end is not None
    assert (end.status, work.done) == (RunStatus.COMPLETED, 1)
    assert autojump_clock.current_time() >= 10 * HOURS
