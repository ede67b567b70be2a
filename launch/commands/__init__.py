"""The commands. Each module registers its own on `app`; `app` imports them when they are run."""

from .app import app

__all__ = ["app"]
