"""`crashworthy doctor`: what a root needs from a person, and what only a person may say of it."""

import argparse
import sys
from collections.abc import Sequence
from typing import ClassVar

import attrs
import trio

from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code, CrashworthyError
from ...store.anchor import read_anchor
from ...store.checkup import Remark, look_over
from ...store.ownership.adoption import adopt
from ...store.ownership.root import look_at_root
from ..host import HostSettings, open_host
from ..runtime import tell_history
from .advice import ADVICE
from .exits import Exit
from .options import add_json, add_place, command_parser, place_of
from .place import Place
from .terminal import Tone, out, print_json, tell

_LOSS = (
    "Facts that were acknowledged are gone for ever: what they said was done may have been done.\n"
    "Every open run is closed, and its calls are unknown. A backup would bring them back."
)
_ADOPT = (
    "This directory becomes the root, with the identity and log of the one it was copied from.\n"
    "Use only one of the two from now on: both tell the same runs apart by the same ids."
)


@attrs.define(eq=False, kw_only=True)
class NotConfirmedError(CrashworthyError):
    """Only a person may say so: answer yes at a terminal, or give --yes; nothing was changed."""

    code: ClassVar[Code] = Code.NOT_CONFIRMED
    act: str


def main(argv: Sequence[str]) -> int:
    """Look a root over, or do what a person says of it."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.yes and not (args.accept_loss or args.adopt):
        parser.error("--yes goes with --accept-loss or --adopt")
    place = place_of(args)
    if args.accept_loss:
        return _accept_loss(place, sure=args.yes, as_json=args.json)
    if args.adopt:
        return _adopt(place, sure=args.yes, as_json=args.json)
    remarks = look_over(place.root)
    if args.json:
        print_json([_remark_json(one) for one in remarks])
    else:
        _show(remarks)
    return Exit.FAILED if any(one.code for one in remarks) else Exit.DONE


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "doctor",
        "Say what a root needs from a person. Takes no lock and changes nothing, unless it is told"
        " to.",
        "exit status 1: something needs a person. `verify` checks every fact; this is\nquick.",
    )
    acts = parser.add_mutually_exclusive_group()
    acts.add_argument(
        "--accept-loss",
        action="store_true",
        help="go on without the acknowledged facts that are missing; recorded in the log",
    )
    acts.add_argument(
        "--adopt",
        action="store_true",
        help="make a root that was copied or replaced a root of its own, where it lies",
    )
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    add_place(parser)
    add_json(parser, "one JSON document")
    return parser


def _show(remarks: Sequence[Remark]) -> None:
    paper = out()
    for one in remarks:
        if one.code is None:
            paper.line(f"ok  {one.subject}: {one.words}")
            continue
        paper.line(f"!!  {one.subject}: {one.words}", Tone.YELLOW)
        advice = ADVICE.get(one.code)
        if advice:
            paper.line(f"    {advice}")


def _remark_json(one: Remark) -> Json:
    code = None if one.code is None else one.code.value
    advice = "" if one.code is None else ADVICE.get(one.code, "")
    return {"subject": one.subject, "code": code, "words": one.words, "advice": advice}


# --- what only a person may say ---


def _accept_loss(place: Place, *, sure: bool, as_json: bool) -> Exit:
    """Open the root once over what is missing; recovery closes what was open (STORE-9a)."""
    root, _problem = look_at_root(place.root)
    anchored = read_anchor(root.anchor)
    remarks = [one for one in look_over(place.root) if one.code is not None]
    if not any(one.code is Code.ACKNOWLEDGED_FACTS_MISSING for one in remarks):
        return _said(
            "nothing that was acknowledged is missing", {"accepted": False}, as_json=as_json
        )
    _confirm("accept the loss", _LOSS, sure=sure)

    async def open_once() -> int:
        settings = HostSettings(root=place.root, make=False, accept_loss=True)
        async with open_host(settings, tell_history) as host:
            return host.store.heads.now.ordinal

    head = trio.run(open_once)
    lost = None if anchored is None else anchored.ordinal
    told: dict[str, Json] = {"accepted": True, "acknowledged": lost, "head": head}
    return _said(f"the loss is recorded; the log goes on behind fact {head}", told, as_json=as_json)


def _adopt(place: Place, *, sure: bool, as_json: bool) -> Exit:
    """Bind the root to where it lies (OWN-5)."""
    root, problem = look_at_root(place.root)
    if problem is None:
        told: dict[str, Json] = {"adopted": False, "root": root.root_id}
        return _said(f"{root.root_id} is at home here already", told, as_json=as_json)
    if problem.code not in (Code.ROOT_COPIED, Code.ROOT_REPLACED):
        raise problem
    _confirm("adopt this root", _ADOPT, sure=sure)
    adopted = adopt(place.root)
    told = {"adopted": True, "root": adopted.root_id}
    return _said(f"{adopted.root_id} is at home in {place.root} now", told, as_json=as_json)


def _confirm(act: str, meaning: str, *, sure: bool) -> None:
    """Ask the person at the terminal.

    Raises:
        NotConfirmedError: `not_confirmed`.
    """
    if sure:
        return
    tell(meaning)
    if sys.stdin.isatty():
        print(f"Type yes to {act}: ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip() == "yes":
            return
    raise NotConfirmedError(act=act)


def _said(words: str, told: dict[str, Json], *, as_json: bool) -> Exit:
    if as_json:
        print_json(told)
    else:
        tell(words)
    return Exit.DONE
