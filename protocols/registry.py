"""Finding protocols: by the name of one of ours or of a plug-in, or by `module:Class`.

A plug-in names its classes in the entry point group `sottovoce.protocols`. Reading the entry points
of all installed packages takes longer than a small protocol takes to run, so ours are listed here.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeGuard

from ..messages import Private, SottovoceError, UsageError
from .definition import check_definition
from .protocol import AnyProtocol, Protocol

__all__ = ["OWN_PROTOCOLS", "RECOMMENDED", "RECOMMENDED_PURE", "available", "find", "load"]

GROUP: Final = "sottovoce.protocols"
OWN_PROTOCOLS: Final[Mapping[str, str]] = {
    "adaptive-pairs": "adaptive_pairs:AdaptivePairs",
    "aim": "aim:AIM",
    "aug-flaim": "flaim:AugFLAIM",
    "calm": "calm:CALM",
    "clldp-decision-tree": "clldp:LabelDecisionTree",
    "clldp-joint": "clldp:LabelJoint",
    "clldp-naive-bayes": "clldp:LabelNaiveBayes",
    "dist-diff-gen": "dist_diff_gen:DistDiffGen",
    "dp-ccbn": "dp_ccbn:DPCCBN",
    "dp-subn": "dp_subn:DPSUBN",
    "flaim": "flaim:FLAIM",
    "fourier": "fourier:Fourier",
    "head-count": "head_count:HeadCount",
    "independent": "independent:Independent",
    "jtree": "jtree:JTree",
    "label-dp": "label_dp:LabelDP",
    "lopub": "lopub:LoPub",
    "mst": "mst:MST",
    "no-incremental": "privincr:NoIncremental",
    "no-priv-jtree": "privincr:NoPrivJTree",
    "noisy-marginals": "noisy_marginals:NoisyMarginals",
    "one-way": "one_way:OneWay",
    "one-way-ldp": "one_way_ldp:OneWayLocal",
    "private-schema": "private_schema:PrivateSchema",
    "privincr": "privincr:PrivIncr",
}
"""Module and class of each protocol of this package, by its name."""
RECOMMENDED: Final = "adaptive-pairs"
"""The protocol of a run that names none."""
RECOMMENDED_PURE: Final = "dp-subn"
"""The protocol of a run that names none, where delta is 0.

Laplace noise grows with the number of tables, and Gaussian noise with its root. So to choose a few
pairs is better there than to measure all of them.
"""


def available() -> list[str]:
    """List the names of our protocols and of those of installed plug-ins."""
    return sorted({*OWN_PROTOCOLS, *_plug_ins()})


def _plug_ins() -> dict[str, str]:
    """Find the protocols of other packages: `module:Class` by name."""
    from importlib.metadata import entry_points

    points = entry_points(group=GROUP)
    return {point.name: f"{point.module}:{point.attr}" for point in points}


def find(reference: str) -> type[AnyProtocol]:
    """Find a protocol by its name, or by `module:Class`. A plug-in cannot replace one of ours."""
    if ":" in reference:
        return _checked(load(reference, what="a protocol"), reference)
    if reference in OWN_PROTOCOLS:
        place = f"{__package__}.{OWN_PROTOCOLS[reference]}"
    elif reference in (places := _plug_ins()):
        place = places[reference]
    else:
        names = available()
        close = difflib.get_close_matches(reference, names)  # the closest first
        hint = f"there are {', '.join(names)}; or give module:Class"
        if Path(f"{reference}.py").is_file():
            hint = f"for {reference}.py in this folder say {reference}:Class"
        elif close:
            hint = f"did you mean {close[0]}?"
        raise UsageError(f"expected the name of a protocol, found {reference!r}: {hint}")
    return _checked(_imported(place, what="a protocol"), reference)


def load(reference: str, *, what: str) -> Any:
    """Import what a person named as `module:name`; the module may lie in the working folder.

    The working folder is searched last: a file of data or code in it never replaces an installed
    module, such as networkx, in a process that holds records.

    Raises:
        UsageError: there is no such module, or it has no such name.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    return _imported(reference, what=what)


def _imported(reference: str, *, what: str) -> Any:
    module, _, attribute = reference.partition(":")
    try:
        target = importlib.import_module(module)
        for name in attribute.split("."):
            target = getattr(target, name)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise UsageError(
            f"expected {what} at {reference}, found {type(error).__name__}: ",
            Private(error),
            _advice(module, attribute),
        ) from None
    except SottovoceError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(
            f"expected {what} at {reference}, found {type(error).__name__} in line {place.lineno} "
            f"of {Path(place.filename).name}: ",
            Private(error),
        ) from error
    return target


def _advice(module: str, attribute: str) -> str:
    """Say what else a person may have meant by `module:name`."""
    path = module.removesuffix(".py")
    if path != module or "/" in module:
        name = ".".join(part for part in path.split("/") if part not in {"", ".", ".."})
        return f": name a module, not a file: {name}:{attribute}"
    imported, file = sys.modules.get(module), Path.cwd() / f"{module}.py"
    if imported is None:
        return ""
    origin = getattr(imported, "__file__", None)
    if file.is_file() and (origin is None or Path(origin).resolve() != file.resolve()):
        return f": {file.name} here is hidden by another module of this name: rename it"
    names = [name for name, value in vars(imported).items() if _is_own_protocol(value, module)]
    return f": {module} has {', '.join(names)}" if names else ""


def _is_own_protocol(value: object, module: str) -> bool:
    return _is_protocol(value) and getattr(value, "__module__", None) == module


def _checked(target: Any, reference: str) -> type[AnyProtocol]:
    if not _is_protocol(target):
        raise UsageError(
            f"expected a subclass of sottovoce.Protocol at {reference}, found {target!r}"
        )
    check_definition(target, reference)
    return target


def _is_protocol(target: Any) -> TypeGuard[type[AnyProtocol]]:
    return isinstance(target, type) and issubclass(target, Protocol)
