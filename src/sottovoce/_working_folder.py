"""Keep the working folder off the module path of `python -m sottovoce`.

Python puts that folder first on the path, as the command `sottovoce` and the ranks do not. A file
in it that is called like a library, say networkx.py beside the data, would be executed in place
of the library. The package imports this module before any other.
"""

import os
import sys

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    # The module's name is the word before the arguments: python -X dev -m sottovoce run ...
    module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    try:
        folder = os.getcwd()  # noqa: PTH109 - pathlib would be searched in the working folder
    except OSError:  # it was removed
        folder = ""
    if module.partition(".")[0] == "sottovoce" and sys.path[:1] == [folder]:
        del sys.path[0]
