"""`crashworthy resume`: takes up a run that waits for a person, under this process (ASK-3)."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import attrs

from ..runtime import RunHandle, Session
from .agent import add_agent, agent_words, settings_of
from .execute import Job, execute
from .looking import open_log
from .options import add_json, add_place, add_voice, command_parser, place_of
from .prompts import voice_of
from .story import STREAM_HELP


def main(argv: Sequence[str]) -> int:
    """Take up a run and return the exit status."""
    args = _parser().parse_args(argv)
    place = place_of(args)
    with open_log(place) as log:
        run = log.find_run(args.run)
        session = log.session_of(run)
        if args.workspace is None:
            served = log.workspace(session)
            place = attrs.evolve(place, workspace=None if served is None else Path(served))

    async def begin(session: Session) -> RunHandle:
        return await session.runtime.resume(run)

    return execute(
        Job(
            settings=attrs.evolve(settings_of(args, place), make=False),
            place=place,
            voice=voice_of(yes=args.yes, no_input=args.no_input or args.json),
            json=args.json,
            session=session,
            key=None,
            begin=begin,
            again=lambda name: ("resume", name, *agent_words(args)),
        )
    )


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "resume",
        "Take up a run that waits for a person; what was answered meanwhile is used.",
        "The agent must be the one that the run was opened with: a difference is\n"
        "refused as profile_drift, with the field that differs, and the run keeps\n"
        "waiting. The workspace is that of the session.\n\n" + STREAM_HELP,
    )
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="its id, or the beginning; else the one that waits"
    )
    add_agent(parser)
    add_place(parser)
    add_voice(parser)
    add_json(parser, "JSON lines")
    return parser
