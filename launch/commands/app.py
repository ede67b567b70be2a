"""What all commands belong to, and those whose options take several words."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

__all__ = ["Greedy", "GreedyForData", "app"]


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Conversations between parties that may not show their data and a curator that may not see it.",
)


class Greedy(TyperCommand):
    """A command whose repeated options take all words up to the next option: --ways 2 3."""

    many: tuple[str, ...] = ("--ways", "--classify", "--drop", "--epsilon")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option = ""
        many = {
            name
            for own in self.params
            if getattr(own, "multiple", False)
            for name in own.opts
            if name in self.many
        }
        for word in args:
            if word.startswith("-"):
                option = word if word in many else ""
                if not option:
                    spread.append(word)
            else:
                spread += [option, word] if option else [word]
        return super().parse_args(ctx, spread)


class GreedyForData(Greedy):
    """The same of --data: one word for each dataset."""

    many = ("--data",)
