"""Functions that only the host can load run there, by the same rules as far as can be (OP-8)."""

import threading
from pathlib import Path

import pytest
import trio

from crashworthy.actors.tools.context import CallContext, Failed
from crashworthy.actors.tools.contract import ArtifactRule, OutputRule, Place, Tool
from crashworthy.actors.tools.decorate import tool
from crashworthy.actors.tools.output import OutputSink
from crashworthy.actors.tools.paths import Workspace, workspace_boundary
from crashworthy.actors.tools.placed import PlacedRunner
from crashworthy.actors.tools.runner import (
    Audience,
    Ending,
    Raised,
    Refused,
    Returned,
    TimedOut,
    WorkOrder,
)
from crashworthy.actors.tools.spooling import BlobSpools
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.digests import Domain, digest
from crashworthy.machines.facts.ids import BlobId
from crashworthy.store.blobs import BlobRef, BlobStore


class NoWorkers:
    async def run(self, order: WorkOrder, audience: Audience) -> Ending:
        raise AssertionError((order, audience))


def blobs_in(home: Path) -> BlobStore:
    return BlobStore(place=home / "blobs", is_named=lambda _: False)


def run_here(made: Tool, home: Path, **args: Json) -> tuple[Ending, list[str]]:
    shown: list[str] = []
    place = Workspace(root=str(home), identity="w", boundary=workspace_boundary(str(home)))
    order = WorkOrder(tool=made, operation="op-1", args=args, workspace=place)
    audience = Audience(show=shown.append, spools=BlobSpools(blobs_in(home)))
    return trio.run(PlacedRunner(workers=NoWorkers()).run, order, audience), shown


@pytest.mark.proves("OP-8a")
def test_closure_runs_in_a_thread_and_a_coroutine_in_the_task(tmp_path: Path) -> None:
    home_thread, seen = threading.get_ident(), list[bool]()

    @tool(place=Place.HOST)
    def sync(word: str, context: CallContext) -> str:
        """Say."""
        seen.append(threading.get_ident() == home_thread)
        context.write("said\n")
        return word + context.operation

    @tool(place=Place.HOST)
    async def later(word: str) -> str:
        """Say."""
        await trio.lowlevel.checkpoint()
        seen.append(threading.get_ident() == home_thread)
        return word

    ending, shown = run_here(sync, tmp_path, word="a")
    assert ending.finish == Returned(value="aop-1")
    assert ending.output is not None
    assert (ending.output.inline, shown) == ("said\n", ["said\n"])
    assert run_here(later, tmp_path, word="b")[0].finish == Returned(value="b")
    assert seen == [False, True]


def test_failure_is_an_outcome(tmp_path: Path) -> None:
    @tool(place=Place.HOST)
    def fail(kind: str) -> object:
        """Fail."""
        if kind == "raise":
            raise KeyError("x")
        return Failed("no")

    assert run_here(fail, tmp_path, kind="raise")[0].finish == Raised(
        error="KeyError", message="'x'"
    )
    assert run_here(fail, tmp_path, kind="no")[0].finish == Returned(value="no", failed=True)


@pytest.mark.proves("OP-5")
def test_thread_that_is_late_counts_as_still_acting(tmp_path: Path) -> None:
    release = threading.Event()

    @tool(place=Place.HOST, timeout_ms=50)
    def stuck() -> None:
        """Wait."""
        release.wait(30)

    ending = run_here(stuck, tmp_path)[0]
    release.set()
    assert (ending.finish, ending.escaped) == (TimedOut(timeout_ms=50), True)


@pytest.mark.proves("OP-7")
def test_artifact_is_a_durable_blob_within_its_rule(tmp_path: Path) -> None:
    @tool(place=Place.HOST, artifacts=ArtifactRule(count_max=1, size_bytes_max=5))
    def draw(context: CallContext, count: int) -> str:
        """Draw."""
        for _ in range(count):
            context.artifact("a.png", "image/png", b"bytes")
        return "drawn"

    (found,) = run_here(draw, tmp_path, count=1)[0].artifacts
    assert (found.name, found.bytes_total, found.blob) == (
        *("a.png", 5),
        digest(Domain.BLOB, b"bytes"),
    )
    ref = BlobRef(blob=BlobId(found.blob), size_bytes=5)
    assert blobs_in(tmp_path).read(ref) == b"bytes"
    assert isinstance(run_here(draw, tmp_path, count=2)[0].finish, Refused)


@pytest.mark.proves("OP-7", "OP-6a")
def test_cut_output_lies_whole_in_the_blob_store_and_a_dropped_one_does_not(tmp_path: Path) -> None:
    async def main() -> None:
        store, shown = blobs_in(tmp_path), list[str]()
        rule = OutputRule(head_bytes=10, tail_bytes=10)
        kept = OutputSink(rule, BlobSpools(store), shown.append)
        dropped = OutputSink(rule, BlobSpools(store), shown.append)
        for _ in range(10):
            await kept.write(b"0123456789")
            await dropped.write(b"0123456789")
        found = await kept.finish()
        await dropped.discard()
        assert found.blob is not None
        ref = BlobRef(blob=BlobId(found.blob), size_bytes=100)
        assert store.read(ref) == b"0123456789" * 10
        assert list(store.stored()) == [ref.blob]
        assert not list((tmp_path / "blobs/aside").iterdir())

    trio.run(main)
