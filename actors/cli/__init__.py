"""The command `crashworthy` finds its subcommands by name and loads only the one it runs."""

import argparse
import importlib
import inspect
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar, Final

import attrs

# Absolute, unlike all others: on disk the root of the package is not above this folder (HOUSE-2).
from crashworthy import __version__

from ...machines.facts.asserts import demand_asserts
from ...machines.facts.codes import Code, CrashworthyError

EXIT_USAGE: Final = 2
EXIT_REFUSED: Final = 3
EXIT_INTERRUPTED: Final = 130
EXIT_PIPE: Final = 141


@attrs.frozen(kw_only=True)
class Command:
    """One subcommand: where its `main(argv) -> int` lives, and what it is for.

    Attributes:
        module: Full module name. A string, so that production imports neither `spec` nor `crashlab`
            (HOUSE-3) and `--help` imports nothing at all (HOUSE-4).
        summary: One line for the list of commands.
        reports: Whether its `--json` names a file; else it turns standard output into JSON.
    """

    module: str
    summary: str
    reports: bool = False


COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        "demo": Command(
            module="crashworthy.actors.cli.demo",
            summary="let a scripted agent repair a small failing project, for real",
        ),
        "run": Command(
            module="crashworthy.actors.cli.run",
            summary="take one turn: an agent works on the workspace",
        ),
        "resume": Command(
            module="crashworthy.actors.cli.resume",
            summary="take up a run that waits for a person",
        ),
        "pending": Command(
            module="crashworthy.actors.cli.pending",
            summary="list what people are asked",
        ),
        "answer": Command(
            module="crashworthy.actors.cli.answer",
            summary="record a person's decision; executes nothing",
        ),
        "stop": Command(
            module="crashworthy.actors.cli.stop",
            summary="end an open run durably",
        ),
        "abandon": Command(
            module="crashworthy.actors.cli.abandon",
            summary="give up a run that waits for a person",
        ),
        "sessions": Command(
            module="crashworthy.actors.cli.sessions",
            summary="list the sessions of a log",
        ),
        "show": Command(
            module="crashworthy.actors.cli.show",
            summary="show what was said and done",
        ),
        "events": Command(
            module="crashworthy.actors.cli.events",
            summary="list the facts themselves",
        ),
        "at": Command(
            module="crashworthy.actors.cli.at",
            summary="show any past moment",
        ),
        "doctor": Command(
            module="crashworthy.actors.cli.doctor",
            summary="say what a log needs from a person; changes nothing unless told to",
        ),
        "verify": Command(
            module="crashworthy.actors.cli.verify",
            summary="check a state root or a log; changes nothing",
            reports=True,
        ),
        "prove": Command(
            module="crashworthy.spec.prove",
            summary="check every lifecycle table over its whole state space",
            reports=True,
        ),
        "crash": Command(
            module="crashworthy.crashlab.main",
            summary="kill a workload at every boundary and check what survives",
            reports=True,
        ),
        "bench": Command(
            module="crashworthy.crashlab.bench.main",
            summary="measure the store beside raw SQLite",
            reports=True,
        ),
    }
)


@attrs.define(eq=False, kw_only=True)
class CommandUnavailableError(CrashworthyError):
    """The command is known, but this build does not contain its module."""

    code: ClassVar[Code] = Code.COMMAND_UNAVAILABLE
    command: str
    module: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status of the process.

    Everything after the name of the command belongs to the command.

    Args:
        argv: The words after the program's name; those of the process when None.

    Returns:
        What the command returned; 2 for wrong usage; 3 when it was refused with a code, or the
        environment failed; 130 or 141 when Ctrl-C or a closed pipe ended it.
    """
    _open_closed_streams()
    words = tuple(sys.argv[1:] if argv is None else argv)
    # Our own options take no value, so the first word that is not an option is the command.
    at = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    parser = _parser()
    parser.parse_args(words[:at])
    if at == len(words) or words[at] not in COMMANDS:
        if at < len(words):
            print(f"crashworthy: {_unknown(words[at])}\n", file=sys.stderr)
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # Unclean words are spelled out.
    name, rest = words[at], words[at + 1 :]
    try:
        demand_asserts()
        return int(_load(name, COMMANDS[name])(rest))
    except CrashworthyError as error:
        _tell(name, error, as_json=_prints_json(COMMANDS[name], rest))
        return EXIT_REFUSED
    except KeyboardInterrupt:
        print(f"crashworthy {name}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough of it; nothing of ours is to be flushed into it.
        _give_output_up()
        return EXIT_PIPE
    except OSError as error:
        # What the product touches is typed where it is touched: this is standard output, or a file
        # that the words name.
        _tell_failed_output(name, error)
        _give_output_up()
        return EXIT_REFUSED


def _unknown(word: str) -> str:
    """Return that a word is no command, and which one it resembles."""
    import difflib  # noqa: PLC0415 - only a slip needs it (HOUSE-4)

    told = f"unknown command {word!r}"
    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return f"{told}; did you mean {near[0]!r}?" if near else told


def _prints_json(command: Command, rest: Sequence[str]) -> bool:
    """Say whether standard output is to be JSON, also where the words were never parsed."""
    if not command.reports:
        return "--json" in rest
    return "--json=-" in rest or ("--json", "-") in pairwise(rest)


def _tell_failed_output(name: str, error: OSError) -> None:
    from ...store.errors import StorageError, file_step  # noqa: PLC0415 - loads much (HOUSE-4)

    try:
        with file_step("output"):
            raise error
    except StorageError as typed:
        place = "standard output" if error.filename is None else repr(error.filename)
        print(f"crashworthy {name}: {typed}\n  Cannot be used: {place}.", file=sys.stderr)


def _open_closed_streams() -> None:
    """Give a process without standard streams empty ones.

    Where one is closed, Python has None for it, and the next file of ours would take its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            fd = os.open(os.devnull, os.O_RDWR)
            if fd != number:
                os.dup2(fd, number)
                os.close(fd)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _give_output_up() -> None:
    """Flush nothing more to a standard output that takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(name: str, error: CrashworthyError, *, as_json: bool) -> None:
    """Say which code, with which facts, what that means, and what can be done about it."""
    from .advice import ADVICE  # noqa: PLC0415 - only a refusal needs it (HOUSE-4)

    meaning = " ".join((inspect.getdoc(type(error)) or "").split("\n\n")[0].split())
    advice = ADVICE.get(error.code, "")
    print(f"crashworthy {name}: {error}\n  {meaning}", file=sys.stderr)
    if advice:
        print(f"  {advice}", file=sys.stderr)
    if as_json:
        told = {"code": error.code.value, "text": str(error), "meaning": meaning, "advice": advice}
        print(json.dumps({"type": "error", **told}))


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {c.summary}" for name, c in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="crashworthy",
        usage="crashworthy [--version] [--help] COMMAND ...",
        description="A durable runtime for AI agents, proven and killed at every boundary.",
        epilog=f"commands:\n{listing}\n\n`crashworthy COMMAND --help` says more about one of them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"crashworthy {__version__}")
    return parser


def _load(name: str, command: Command) -> Callable[[Sequence[str]], int]:
    try:
        module = importlib.import_module(command.module)
    except ModuleNotFoundError as error:
        # Only the absence of the command itself, or of a package above it, is ours to explain.
        if error.name is None or not f"{command.module}.".startswith(f"{error.name}."):
            raise
        raise CommandUnavailableError(command=name, module=command.module) from error
    run: Callable[[Sequence[str]], int] = module.main
    return run
