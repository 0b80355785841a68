"""`crashworthy run`: one turn of an agent in a workspace, durable from its first word."""

import argparse
import sys
from collections.abc import Sequence

from ...machines.facts.canonical import encode
from ..attending import send
from ..runtime import RunHandle, Session
from .agent import SCRIPT_HELP, add_agent, agent_words, settings_of
from .execute import Job, execute
from .looking import open_log
from .options import add_json, add_place, add_voice, command_parser, place_of
from .place import Place
from .prompts import Voice, voice_of
from .story import STREAM_HELP


def main(argv: Sequence[str]) -> int:
    """Run one turn and return the exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    text = _text(parser, args)
    encode(text)  # Refused before a session is made for it (BYTE-3).
    place = place_of(args)
    known = None if args.session is None else _session(place, args.session)
    voice = voice_of(yes=args.yes, no_input=args.no_input or args.json or args.text == "-")

    async def begin(session: Session) -> RunHandle:
        return await send(session, text, key=args.key, answers=voice is not Voice.NOBODY)

    return execute(
        Job(
            settings=settings_of(args, place),
            place=place,
            voice=voice,
            json=args.json,
            session=known,
            key=args.key,
            begin=begin,
            again=lambda run: ("resume", run, *agent_words(args)),
        )
    )


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "run",
        "Take one turn: the agent works on the workspace until it is done, fails, or waits.",
        "Ctrl-C stops the run durably; once more ends the process at once, and what it\n"
        "left is settled by whoever opens the log next.\n\n" + SCRIPT_HELP + "\n\n" + STREAM_HELP,
    )
    parser.add_argument(
        "text", nargs="?", metavar="TEXT", help="what to do; `-` or nothing reads standard input"
    )
    parser.add_argument(
        "--session",
        metavar="SESSION",
        help="go on in this one, its id or the beginning; else in a new one",
    )
    parser.add_argument(
        "--key",
        metavar="K",
        help="start once: the same key and text always find the same run (without --session, the "
        "same session, too)",
    )
    add_agent(parser)
    add_place(parser)
    add_voice(parser)
    add_json(parser, "JSON lines")
    return parser


def _session(place: Place, name: str) -> str:
    """Return the session of this id or beginning of one; where it is none, nothing is made.

    Raises:
        SessionUnknownError: `session_unknown`.
        NameAmbiguousError: `name_ambiguous`.
        StoreNotFoundError: `not_found`.
    """
    with open_log(place) as log:
        return log.find_session(name)


def _text(parser: argparse.ArgumentParser, args: argparse.Namespace) -> str:
    if args.key == "":
        parser.error("argument --key: an empty key names nothing")
    if args.text is not None and args.text != "-":
        if not args.text.strip():
            parser.error("say what to do: TEXT is empty")
        return str(args.text)
    if sys.stdin.isatty():
        parser.error("say what to do, or give it on standard input")
    # Bytes that are no UTF-8 become lone surrogates here, and are refused as such (BYTE-3).
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    if not text.strip():
        parser.error("standard input says nothing")
    args.text = "-"
    return text.removesuffix("\n")
