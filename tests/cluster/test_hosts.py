"""Machines with other versions are refused, and other processors are named."""

from dataclasses import replace

import pytest

from softvec.cluster.worker import compare, this_host
from softvec.core.errors import InputError


def test_this_host_agrees_with_itself(caplog):
    compare([this_host(), this_host()])
    assert not caplog.messages


@pytest.mark.parametrize("package", ["softvec", "NumPy", "Python"])
def test_other_versions_are_refused(package):
    here = this_host()
    there = replace(here, name="node7", versions={**here.versions, package: "0.0"})
    with pytest.raises(
        InputError, match=rf"node7 has {package} 0\.0 \(here {here.versions[package]}\); install"
    ):
        compare([here, here, there])


def test_other_processors_are_said_in_one_line(caplog):
    here = replace(this_host(), name="node1", processor="Zen x86_64")
    compare([here, replace(here, name="node2"), replace(here, name="node3", processor="Haswell x86_64")])
    assert len(caplog.messages) == 1
    assert "node1: Zen x86_64" in caplog.text
    assert "node3: Haswell x86_64" in caplog.text
