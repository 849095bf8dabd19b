"""The cluster's secret: a setting, or a file that only the user can read."""

import os
import threading

import pytest

from tfnb.errors import FailedPreconditionError, InvalidArgumentError, PermissionDeniedError
from tfnb.session.dask.transport.secret import cluster_secret, given_secret
from tfnb.settings import load_settings


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Where the file will be."""
    monkeypatch.delenv("TFNB_CLUSTER_SECRET", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tfnb" / "cluster-secret"


def test_the_file_is_made_once_for_the_user_alone(path, monkeypatch):
    found = []
    threads = [threading.Thread(target=lambda: found.append(cluster_secret())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 8 and path.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("TFNB_CACHE_DIR", str(path.parent / "elsewhere"))  # the caches of kernels may be elsewhere
    assert cluster_secret() == found[0] == path.read_bytes()


def test_a_setting_is_used_instead_and_is_shown_nowhere(path, monkeypatch):
    assert given_secret() is None
    monkeypatch.setenv("TFNB_CLUSTER_SECRET", "correct horse battery")
    first = cluster_secret()
    monkeypatch.setenv("TFNB_CLUSTER_SECRET", "correct horse batterz")
    assert len(first) == 32 and first != cluster_secret() and not path.exists()
    assert "horse" not in repr(load_settings())
    monkeypatch.setenv("TFNB_CLUSTER_SECRET", "short")
    with pytest.raises(InvalidArgumentError, match="has 5 characters; needed at least 16"):
        cluster_secret()


def link(path):
    other = path.with_name("other")
    other.write_text("0" * 64)
    other.chmod(0o600)
    path.symlink_to(other)


def open_to_others(path):
    path.write_text("0" * 64)
    path.chmod(0o644)


def of_another_user(path):
    if os.getuid():
        pytest.skip("only root can give a file away")
    path.write_text("0" * 64)
    path.chmod(0o600)
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("make", [link, open_to_others, of_another_user, os.mkfifo, os.mkdir])
def test_a_file_that_another_user_may_have_made_or_read_is_refused(path, make):
    path.parent.mkdir()
    make(path)
    with pytest.raises(PermissionDeniedError, match=r"cluster-secret is not used .* needed a regular file"):
        cluster_secret()


def test_a_file_with_something_else_is_refused(path):
    path.parent.mkdir()
    path.write_text("too short")
    path.chmod(0o600)
    with pytest.raises(FailedPreconditionError, match="has not the 64 bytes"):
        cluster_secret()
