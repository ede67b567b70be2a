"""Ranks load the library of the mpiexec that starts them, and a person learns when they do not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_starts import with_daemon

from sottovoce.launch.library import (
    LIBRARY_VARIABLES,
    Flavour,
    conflict,
    library_beside,
    library_variables,
    loaded_library,
    parent_library,
)
from sottovoce.launch.mpiexec import ALLOCATIONS, Launcher, find_launcher

OPEN_MPI_4 = "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to the community\n"
OPEN_MPI_5 = "mpiexec (Open MPI) 5.0.11\n"
PRRTE = "prterun (PRRTE) 3.0.8\n"
HYDRA = "HYDRA build details:\n    Version:    4.0.2\n"
SYSTEM = [
    pytest.param("mpiexec.openmpi", "Open MPI", id="openmpi of the system"),
    pytest.param("mpiexec.mpich", "MPICH", id="mpich of the system"),
]
"""The names that Debian gives to the two: `apt-get install openmpi-bin mpich` brings both."""


def installation(prefix: Path, *, answer: str, library: str) -> Path:
    """Make a folder that looks like an installed MPI."""
    mpiexec, path = prefix / "bin" / "mpiexec", prefix / library
    for file in (mpiexec, path):
        file.parent.mkdir(parents=True, exist_ok=True)
    (prefix / "answer").write_text(answer)
    mpiexec.write_text(f'#!/bin/sh\ncat "{prefix}/answer"\n')
    mpiexec.chmod(0o755)
    path.touch()
    return mpiexec


@pytest.mark.parametrize(
    ("answer", "flavour", "old"),
    [
        (OPEN_MPI_4, "openmpi", True),
        (OPEN_MPI_5, "openmpi", False),
        (PRRTE, "openmpi", False),
        (HYDRA, "mpich", False),
        ("something 1.0\n", "other", False),
    ],
)
def test_mpiexec_is_known_by_its_version(
    answer: str, flavour: str, old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ALLOCATIONS:
        monkeypatch.delenv(name, raising=False)
    launcher = find_launcher(str(installation(tmp_path, answer=answer, library="lib/libmpi.so.40")))
    environment = launcher.environment()
    assert launcher.flavour == flavour
    assert ("OMPI_ALLOW_RUN_AS_ROOT" in environment) == (flavour == "openmpi")
    assert ("OMPI_MCA_rmaps_base_oversubscribe" in environment) == old
    assert ("OMPI_MCA_hwloc_base_binding_policy" in environment) == old
    newer = flavour == "openmpi" and not old
    assert ("PRTE_MCA_rmaps_default_mapping_policy" in environment) == newer
    assert ("PRTE_MCA_hwloc_default_binding_policy" in environment) == newer
    alone = set(environment) - set(launcher.environment(several_hosts=True))
    networks = {"OMPI_MCA_btl", "OMPI_MCA_pml"}
    assert {name for name in alone if "oversubscribe" in name or "mapping" in name} == (
        alone - networks
    )
    assert alone & networks == (networks if flavour == "openmpi" else set())


def test_networks_are_looked_for_where_ranks_may_be_on_other_hosts_or_the_person_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpiexec = installation(tmp_path, answer=OPEN_MPI_5, library="lib/libmpi.so.40")
    launcher = find_launcher(str(mpiexec))
    for name in ALLOCATIONS:
        monkeypatch.delenv(name, raising=False)
    assert launcher.environment()["OMPI_MCA_btl"] == "^ofi,uct"
    assert "OMPI_MCA_btl" not in launcher.environment(extra=["--hostfile", "hosts"])
    monkeypatch.setenv("OMPI_MCA_btl", "tcp,self")
    assert launcher.environment()["OMPI_MCA_btl"] == "tcp,self"
    monkeypatch.delenv("OMPI_MCA_btl")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    assert "OMPI_MCA_btl" not in launcher.environment()


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/release"])
def test_the_library_is_looked_for_beside_mpiexec(folder: str, tmp_path: Path) -> None:
    mpiexec = installation(tmp_path / "mpi", answer="", library=f"{folder}/libmpi.so.40")
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "mpiexec"
    link.symlink_to(mpiexec)
    for program in (mpiexec, link):
        assert library_beside(program, "openmpi") == tmp_path / "mpi" / folder / "libmpi.so.40"
        assert library_beside(program, "mpich") is None
        assert library_beside(program, "other") is None


def test_ranks_on_several_hosts_are_told_the_library(tmp_path: Path) -> None:
    mpiexec = installation(tmp_path, answer=OPEN_MPI_4, library="lib/libmpi.so.40")
    launcher = find_launcher(str(mpiexec))
    command = launcher.command(
        ["true"], ranks=2, variables=["JOB"], hosts="a,b", hostfile=None, extra=[]
    )
    assert command[1:] == [
        *("-n", "2", "--host", "a,b", "-x", "JOB", "-x", "MPI4PY_LIBMPI"),
        "true",
    ]
    assert launcher.environment()["MPI4PY_LIBMPI"] == str(tmp_path / "lib" / "libmpi.so.40")


@pytest.mark.parametrize("name", ["MPI4PY_LIBMPI", "MPI4PY_MPIABI"])
def test_a_library_that_the_person_names_is_kept(name: str) -> None:
    assert library_variables(Path("/mpi/lib/libmpi.so.40"), environment={name: "x"}) == {}
    assert library_variables(None, environment={}) == {}


def test_debians_mpich_gets_the_name_that_mpi4py_asks_for(tmp_path: Path) -> None:
    library = tmp_path / "libmpich.so.12"
    library.touch()
    added = library_variables(library, environment={"LD_LIBRARY_PATH": "/own"})
    link = Path(added["MPI4PY_LIBMPI"])
    assert link.name == "libmpi.so.12"
    assert link.resolve() == library
    assert added["LD_LIBRARY_PATH"] == f"{link.parent}:/own"
    assert library_variables(library, environment={})["LD_LIBRARY_PATH"] == str(link.parent)


def test_the_link_is_gone_afterwards(tmp_path: Path) -> None:
    (tmp_path / "libmpich.so.12").touch()
    code = (
        "from pathlib import Path; from sottovoce.launch.library import library_variables; "
        "print(library_variables(Path('libmpich.so.12').absolute())['LD_LIBRARY_PATH'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={name: text for name, text in os.environ.items() if name != "MPI4PY_LIBMPI"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    folder = done.stdout.strip().partition(":")[0]
    assert "sottovoce-mpi-" in folder
    assert not Path(folder).exists()


def test_what_does_not_fit_is_said_with_the_way_out() -> None:
    text = conflict("mpich", "Open MPI v5.0.11")
    assert "mpiexec is MPICH's and mpi4py loads Open MPI v5.0.11" in text
    assert "--mpiexec" in text
    assert "MPI4PY_LIBMPI" in text
    assert "libmpi.so.12" in text
    assert conflict("openmpi", "Open MPI v4.1.4") == ""
    assert conflict("other", "Open MPI v4.1.4") == ""


def test_a_process_that_no_mpi_started_has_no_parents_library() -> None:
    assert parent_library() is None


def sottovoce(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, **more},
    )


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "library"), SYSTEM)
def test_an_mpi_of_the_system_works(name: str, library: str, tmp_path: Path) -> None:
    mpiexec = shutil.which(name)
    if mpiexec is None:
        pytest.skip(f"{name} is not installed: apt-get install openmpi-bin mpich")
    out = tmp_path / "out"
    words = ["run", "head-count", "--rows", "90", "--seed", "4", "--out", str(out), "--no-judge"]
    ran = sottovoce(*words, "--mpiexec", mpiexec)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    report = json.loads((out / "report.json").read_text())
    assert report["mpi"]["library"].startswith(library)
    assert len(report["mpi"]["hosts"]) == 4
    doctor = sottovoce("doctor", "--mpiexec", mpiexec)
    assert doctor.returncode == 0, doctor.stdout
    assert "MPI works" in doctor.stdout
    assert "warning" not in doctor.stdout


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "library"), SYSTEM[:1])
def test_a_job_that_the_systems_mpirun_started(name: str, library: str, tmp_path: Path) -> None:
    if (mpiexec := shutil.which(name)) is None:
        pytest.skip(f"{name} is not installed: apt-get install openmpi-bin")
    command = [mpiexec, "-n", "4", "--oversubscribe", sys.executable, "-m", "sottovoce"]
    environment = find_launcher(mpiexec).environment()
    del environment["MPI4PY_LIBMPI"]
    ran = with_daemon(
        lambda: subprocess.run(
            [*command, "run", "head-count", "--rows", "90", "--out", str(tmp_path / "out")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["mpi"]["library"].startswith(library)


@pytest.mark.parametrize(
    ("flavour", "version", "leaves_others"),
    [
        ("mpich", "HYDRA build details: Version: 4.3.2", True),
        ("mpich", "Intel(R) MPI Library for Linux* OS, Version 2021.13", False),
        ("openmpi", "mpiexec (Open MPI) 5.0.11", False),
        ("other", "unknown", False),
    ],
)
def test_only_mpichs_hydra_is_asked_to_leave_other_ranks(
    flavour: Flavour, version: str, leaves_others: bool
) -> None:
    """Hydra kills all ranks when one is lost; nobody could tell then which was lost first."""
    command = Launcher("mpiexec", flavour, version).command(
        ["program"], ranks=3, variables=["NAME"], hosts=None, hostfile=None, extra=["--extra"]
    )
    assert command[:3] == ["mpiexec", "-n", "3"]
    assert command[-2:] == ["--extra", "program"]
    assert ("-disable-auto-cleanup" in command) is leaves_others


@pytest.fixture
def mpich() -> Path:
    """Give the folder of the environment with MPICH's wheel."""
    if not os.environ.get("SOTTOVOCE_MPICH"):
        pytest.skip("SOTTOVOCE_MPICH names no second environment")
    return Path(os.environ["SOTTOVOCE_MPICH"])


@pytest.mark.parametrize("name", LIBRARY_VARIABLES)
def test_a_library_that_the_person_names_may_have_no_survivors(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in LIBRARY_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    library = Path(sys.prefix, "lib", "libmpi.so.40")
    assert Launcher("mpiexec", "openmpi", "5.0.10", library).has_survivors
    monkeypatch.setenv(name, "/somewhere/libmpi.so.40")
    assert not Launcher("mpiexec", "openmpi", "5.0.10", library).has_survivors


@pytest.mark.mpi
def test_another_environments_mpiexec_brings_its_library(mpich: Path, tmp_path: Path) -> None:
    words = ["--rows", "90", "--out", str(tmp_path / "out"), "--no-judge"]
    ran = sottovoce("run", "head-count", *words, "--mpiexec", str(mpich / "bin" / "mpiexec"))
    assert ran.returncode == 0, ran.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["mpi"]["library"].startswith("MPICH")


@pytest.mark.mpi
@pytest.mark.parametrize("loaded", ["Open MPI", "MPICH"])
def test_a_library_of_another_mpi_is_named_with_the_way_out(
    loaded: str, mpich: Path, tmp_path: Path
) -> None:
    libraries = {
        "Open MPI": Path(sys.prefix, "lib", "libmpi.so.40"),
        "MPICH": mpich / "lib" / "libmpi.so.12",
    }
    launchers = {"Open MPI": mpich / "bin" / "mpiexec", "MPICH": Path(sys.prefix, "bin", "mpiexec")}
    if not all(path.exists() for path in libraries.values()):
        pytest.skip("not both MPI wheels are installed")
    words = ["run", "head-count", "--rows", "90", "--out", str(tmp_path / "out")]
    ran = sottovoce(
        *words, "--mpiexec", str(launchers[loaded]), MPI4PY_LIBMPI=str(libraries[loaded])
    )
    assert ran.returncode in {2, 3}
    assert ran.stderr.count("\n") == 1
    assert f"mpi4py loads {loaded}" in ran.stderr
    assert "MPI4PY_LIBMPI" in ran.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.mpi
def test_a_rank_that_is_alone_in_somebodys_job_says_so_once(mpich: Path, tmp_path: Path) -> None:
    library = Path(sys.prefix, "lib", "libmpi.so.40")
    if not library.exists():
        pytest.skip("the wheel of Open MPI is not installed")
    command = [str(mpich / "bin" / "mpiexec"), "-n", "3", sys.executable, "-m", "sottovoce"]
    ran = with_daemon(
        lambda: subprocess.run(
            [*command, "run", "head-count", "--rows", "90", "--out", str(tmp_path / "out")],
            env={**os.environ, "MPI4PY_LIBMPI": str(library)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    )
    assert ran.returncode == 2, ran.stderr
    words = ran.stdout + ran.stderr
    assert words.count("expected 3 ranks, found that each is alone") == 1
    assert "sottovoce run --mpiexec PATH" in words


@pytest.mark.mpi
def test_a_library_that_cannot_be_loaded_is_an_error_with_a_way_out() -> None:
    from sottovoce import UsageError

    with pytest.raises(UsageError, match=r"expected mpi4py to load an MPI library, found .*pip"):
        loaded_library({**os.environ, "MPI4PY_LIBMPI": "/no/such/libmpi.so.40"})


@pytest.mark.mpi
def test_ranks_that_cannot_load_mpi_say_why(tmp_path: Path) -> None:
    """Also where mpiexec lets the others live, so that the launcher sees that one is gone."""
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "MPI.py").write_text("raise ImportError('no such library')")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "run", "head-count", "--rows", "60"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 3
    assert "expected mpi4py to load an MPI library, found ImportError: no such library" in (
        done.stderr
    )
