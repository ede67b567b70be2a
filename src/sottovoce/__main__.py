"""`python -m sottovoce` is the command `sottovoce`."""

from .launch.cli import main

main()
