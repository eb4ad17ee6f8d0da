"""Vendors' clients know one authority: each would read the hundred and more of this machine, and meets none."""

from pathlib import Path

import pytest
import trustme


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(autouse=True)
def _few_authorities(one_authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("SSL_CERT_FILE", str(one_authority))
