"""The scripts of examples/cluster: the one for a laptop runs, the others are well-formed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "cluster"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("name", ["laptop.sh", "slurm.sh"])
def test_scripts_parse(name):
    assert subprocess.run(["bash", "-n", FOLDER / name], capture_output=True).stderr == b""


def test_the_manifest_asks_for_options_that_exist():
    yaml = pytest.importorskip("yaml")
    from softvec.cli import run

    manifest = yaml.safe_load((FOLDER / "kubernetes.yaml").read_text())
    words = manifest["spec"]["entrypoint"].split()
    assert words[:2] == ["softvec", "embed"]
    assert run([*words[1:], "--help"]) == 0
    assert manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] > 1


def test_the_manifest_has_the_fields_of_kuberay():
    yaml = pytest.importorskip("yaml")
    manifest = yaml.safe_load((FOLDER / "kubernetes.yaml").read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", "RayJob")
    spec = manifest["spec"]
    assert set(spec) == {"entrypoint", "shutdownAfterJobFinishes", "rayClusterSpec"}
    cluster = spec["rayClusterSpec"]
    assert set(cluster) == {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
    assert set(cluster["headGroupSpec"]) == {"rayStartParams", "template"}
    assert cluster["headGroupSpec"]["rayStartParams"] == {"num-cpus": "0"}  # the values are text
    for group in cluster["workerGroupSpecs"]:
        counts = ("replicas", "minReplicas", "maxReplicas")
        assert set(group) == {"groupName", *counts, "rayStartParams", "template"}
        pod = group["template"]["spec"]
        mounted = {mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.slow
def test_laptop():
    pytest.importorskip("ray")
    pytest.importorskip("mpi4py")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("mpiexec", path=path) is None:
        pytest.skip("no mpiexec")
    done = subprocess.run(
        ["bash", FOLDER / "laptop.sh"], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "the same bits" in done.stdout
