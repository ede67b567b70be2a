"""What tests of several rooms share."""

import os
import sys

import pytest

MPICH = os.environ.get("SOTTOVOCE_MPICH", "")
"""The folder of a second environment, with MPICH (`make mpich` makes it)."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for `mpi_python` once under each MPI."""
    if "mpi_python" in metafunc.fixturenames:
        skip = pytest.mark.skipif(not MPICH, reason="SOTTOVOCE_MPICH names no second environment")
        pythons = [
            pytest.param(sys.executable, id="openmpi", marks=pytest.mark.mpi),
            pytest.param(f"{MPICH}/bin/python", id="mpich", marks=[pytest.mark.mpi, skip]),
        ]
        metafunc.parametrize("mpi_python", pythons, scope="session")
