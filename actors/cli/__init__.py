"""The command `crashworthy` finds its subcommands by name and loads only the one it runs."""

import argparse
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

import attrs

# Absolute, unlike all others: on disk the root of the package is not above this folder (HOUSE-2).
from crashworthy import __version__

from ...machines.facts.codes import Code, CrashworthyError

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2


@attrs.frozen(kw_only=True)
class Command:
    """One subcommand: where its `main(argv) -> int` lives, and what it is for.

    Attributes:
        module: Full module name. A string, so that production imports neither `spec` nor `crashlab`
            (HOUSE-3) and `--help` imports nothing at all (HOUSE-4).
        summary: One line for the list of commands.
    """

    module: str
    summary: str


COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        "prove": Command(
            module="crashworthy.spec.prove",
            summary="check every lifecycle table over its whole state space",
        ),
        "crash": Command(
            module="crashworthy.crashlab.main",
            summary="kill a workload at every boundary and check what survives",
        ),
        "bench": Command(
            module="crashworthy.crashlab.bench.main",
            summary="measure the store beside raw SQLite",
        ),
        "verify": Command(
            module="crashworthy.actors.cli.verify",
            summary="check a state root or a log; changes nothing",
        ),
    }
)


@attrs.define(eq=False, kw_only=True)
class AssertsDisabledError(CrashworthyError):
    """The interpreter runs with -O; start it without, because asserts state our invariants."""

    code: ClassVar[Code] = Code.ASSERTS_DISABLED


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
        What the command returned; 1 when it ended with a coded error; 2 for wrong usage.
    """
    words = tuple(sys.argv[1:] if argv is None else argv)
    # Our own options take no value, so the first word that is not an option is the command.
    at = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    parser = _parser()
    parser.parse_args(words[:at])
    if at == len(words) or words[at] not in COMMANDS:
        if at < len(words):
            print(f"crashworthy: unknown command {words[at]!r}\n", file=sys.stderr)
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    try:
        _refuse_disabled_asserts(asserts_enabled=__debug__)
        return _load(words[at], COMMANDS[words[at]])(words[at + 1 :])
    except CrashworthyError as error:
        print(f"crashworthy {words[at]}: {error}", file=sys.stderr)
        return EXIT_FAILED


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


def _refuse_disabled_asserts(*, asserts_enabled: bool) -> None:
    if not asserts_enabled:
        raise AssertsDisabledError


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
