"""The command line's root: all commands by name, each loaded when it is used.

Help and shell completion need only names and summaries, so neither loads numpy. Options that take
several words are here, too, because several commands have them.
"""

from __future__ import annotations

import gc
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info

__all__ = ["COMMANDS", "Greedy", "GreedyForData", "GreedyForPlans", "app"]

COMMANDS: Final = {
    "run": ("running", "Run a protocol: one process for the curator and one for each party."),
    "resume": ("resuming", "Go on with a durable run that has stopped, or list unfinished ones."),
    "protocols": ("looking", "List the protocols, or one protocol's parameters and defaults."),
    "report": ("looking", "Write report.html anew, and print the summary again."),
    "compare": ("looking", "Put runs side by side: privacy, cost and quality, as table and page."),
    "plan": ("planning", "Say what a protocol would cost, before any data are read."),
    "replay": ("forecasting", "Say how long a finished run would have taken on another network."),
    "calibrate": ("calibrating", "Measure what computation costs on this machine, once."),
    "sweep": ("repeating", "Make many runs from one file; finished runs are not repeated."),
    "reproduce": ("repeating", "Make tables and figures of the papers again, with verdicts."),
    "evaluate": ("judging", "Compare a synthetic table with the real one."),
    "predict": ("judging", "Apply a published classifier to a table."),
    "attack": ("judging", "Guess labels from users' reports under CLLDP and LabelDP."),
    "schema": ("preparing", "Write a schema of a table, to be edited and given with --schema."),
    "budget": ("budgeting", "Make a budget that outlives runs, or show what runs have spent."),
    "audit": ("auditing", "Measure what every view of a protocol loses, over many runs."),
    "doctor": ("preparing", "Say which MPI is used, and prove by an exchange that it works."),
    "identity": ("preparing", "Make the key pair by which the other roles know this one."),
    "new": ("preparing", "Write a working protocol package with a test, to start from."),
}
"""The module of each command, and its summary, in the order of `sottovoce --help`."""


class LazyCommands(TyperGroup):
    """Commands whose modules are imported when they are run."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        _load(COMMANDS[cmd_name][0])
        command = next(info for info in app.registered_commands if info.name == cmd_name)
        return get_command_from_info(command, pretty_exceptions_short=False, rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS and (close := get_close_matches(args[0], COMMANDS, n=1)):
            ctx.fail(f"No such command {args[0]!r}: did you mean {close[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _load(module: str) -> None:
    """Import a module of commands. No garbage is collected meanwhile: modules stay."""
    gc.disable()
    try:
        import_module(f".{module}", __package__)
    finally:
        gc.enable()


app = typer.Typer(
    cls=LazyCommands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from ...runs.version import VERSION

        sys.stdout.write(f"sottovoce {VERSION}\n")
        raise typer.Exit


@app.callback()
def root(
    *,
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="print the version"),
    ] = False,
) -> None:
    """Run protocols between parties that may not show their data and a curator."""


class Greedy(TyperCommand):
    """A command whose repeated options take all words up to the next option: --ways 2 3."""

    many: tuple[str, ...] = ("--ways", "--classify", "--drop", "--columns", "--epsilon", "--fault")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option = ""
        repeated = [param for param in self.params if getattr(param, "multiple", False)]
        many = {name for param in repeated for name in param.opts if name in self.many}
        for word in args:
            if word.startswith("-"):
                option = word if word in many else ""
                if not option:
                    spread.append(word)
            else:
                spread += [option, word] if option else [word]
        return super().parse_args(ctx, spread)


class GreedyForData(Greedy):
    """A command whose option --data takes several words, one for each dataset."""

    many = ("--data",)


class GreedyForPlans(Greedy):
    """A command whose options take several words, one for each cell of a grid."""

    many = ("--parties", "--epsilon", "--network", "--set", "--columns", "--drop", "--figure")
    numbers = ("--parties", "--epsilon")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        option = ""
        for word in args:
            name, _, value = word.partition("=")
            option = name if word.startswith("-") else option
            numbers = value if word.startswith("-") else word
            if option in self.numbers and "," in numbers:
                apart = " ".join(number for number in numbers.split(",") if number)
                ctx.fail(
                    f"expected numbers without commas for {option}, found {numbers}: write "
                    f"{option} {apart} for several, and a large number as digits alone"
                )
        return super().parse_args(ctx, args)
