"""A certificate proves one member's name, for a while; files that prove nothing are refused."""

import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from gridveil.errors import GridveilError
from gridveil.federation.transport.certs import (
    Identity,
    check_identity,
    identity_of,
    init,
    issue,
)

SECOND = 1 / 86400


@pytest.fixture
def authority(tmp_path):
    init(tmp_path / "authority", "test", 30)
    return tmp_path / "authority"


def read(path):
    return x509.load_pem_x509_certificate(path.read_bytes())


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_issued_is_accepted(authority, tmp_path):
    identity = issue(authority, "north-1", tmp_path / "members", ["127.0.0.1", "n.example"], 2)
    assert identity == identity_of(tmp_path / "members", "north-1")
    check_identity(identity, "north-1")
    certificate = read(identity.certificate)
    extensions = certificate.extensions
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1")]
    assert names.get_values_for_type(x509.DNSName) == ["n.example"]
    assert set(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == {
        ExtendedKeyUsageOID.CLIENT_AUTH,
        ExtendedKeyUsageOID.SERVER_AUTH,
    }
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    left = certificate.not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=1.99) < left <= timedelta(days=2)


def test_the_authority_signs_members_and_no_other_authority(authority):
    constraints = read(authority / "authority.pem").extensions.get_extension_for_class(
        x509.BasicConstraints
    )
    assert constraints.critical
    assert constraints.value.ca
    assert constraints.value.path_length == 0


def test_keys_are_for_their_owner_only(authority, tmp_path):
    identity = issue(authority, "a", tmp_path, ["127.0.0.1"], 1)
    for key in (authority / "key.pem", identity.key):
        assert key.stat().st_mode & 0o777 == 0o600
        assert key.parent.stat().st_mode & 0o777 == 0o700


def test_nothing_is_overwritten(authority, tmp_path):
    issue(authority, "a", tmp_path, ["127.0.0.1"], 1)
    before = contents(tmp_path)
    with pytest.raises(GridveilError, match="not overwritten"):
        issue(authority, "a", tmp_path, ["127.0.0.1"], 1)
    with pytest.raises(GridveilError, match="not overwritten"):
        init(authority, "test", 1)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["", "a/b", "a*", "$x", "ä", "a b", "a\n", "..", "x" * 65])
def test_names_that_are_no_part_of_a_key_are_refused(authority, tmp_path, name):
    with pytest.raises(GridveilError, match="cannot be a name"):
        issue(authority, name, tmp_path / "members", ["127.0.0.1"], 1)
    with pytest.raises(GridveilError, match="cannot be a name"):
        init(tmp_path / "other", name, 1)
    assert not (tmp_path / "members").exists()


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1:7447"], ["a b"], [""], ["a..b"], ["*"]])
def test_hosts_that_are_none_are_refused(authority, tmp_path, hosts):
    with pytest.raises(GridveilError, match="host"):
        issue(authority, "a", tmp_path / "members", hosts, 1)


@pytest.mark.parametrize("days", [0, -1, 1e9, float("nan")])
def test_no_time_at_all_is_refused(authority, tmp_path, days):
    with pytest.raises(GridveilError, match="days"):
        issue(authority, "a", tmp_path, ["127.0.0.1"], days)


def test_no_certificate_outlives_its_authority(authority, tmp_path):
    with pytest.raises(GridveilError, match="fewer days than 31"):
        issue(authority, "a", tmp_path, ["127.0.0.1"], 31)


def test_an_expired_one_is_refused(authority, tmp_path):
    identity = issue(authority, "a", tmp_path, ["127.0.0.1"], SECOND)
    time.sleep(1.1)
    with pytest.raises(GridveilError, match="expired on"):
        check_identity(identity, "a")


def test_one_that_is_not_valid_yet_is_refused(authority, tmp_path, monkeypatch):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=1)

    with monkeypatch.context() as patch:
        patch.setattr("gridveil.federation.transport.certs.datetime", Ahead)
        identity = issue(authority, "a", tmp_path, ["127.0.0.1"], 1)
        check_identity(identity, "a")
    with pytest.raises(GridveilError, match="not valid before"):
        check_identity(identity, "a")


def test_another_authority_of_the_same_name_is_refused(authority, tmp_path):
    identity = issue(authority, "a", tmp_path, ["127.0.0.1"], 1)
    init(tmp_path / "other", "test", 30)
    stranger = Identity(tmp_path / "other" / "authority.pem", identity.certificate, identity.key)
    with pytest.raises(GridveilError, match="not signed by"):
        check_identity(stranger, "a")


def test_a_member_cannot_sign_for_another(authority, tmp_path):
    """Not even as `issue` would do it, with its own key in the place of the authority's."""
    own = issue(authority, "a", tmp_path, ["127.0.0.1"], 10)
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "authority.pem").write_bytes(own.authority.read_bytes())
    (fake / "key.pem").write_bytes(own.key.read_bytes())
    forged = issue(fake, "b", tmp_path / "forged", ["127.0.0.1"], 1)
    with pytest.raises(GridveilError, match="not signed by"):
        check_identity(forged, "b")


def test_anothers_files_are_refused(authority, tmp_path):
    a = issue(authority, "a", tmp_path, ["127.0.0.1"], 1)
    b = issue(authority, "b", tmp_path, ["127.0.0.1"], 1)
    with pytest.raises(GridveilError, match="issued to CN=a, not to CN=b"):
        check_identity(a, "b")
    with pytest.raises(GridveilError, match="not the key of"):
        check_identity(Identity(a.authority, a.certificate, b.key), "a")


@pytest.mark.parametrize("which", ["authority", "certificate", "key"])
@pytest.mark.parametrize("data", [None, b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_unreadable_files_are_named(authority, tmp_path, which, data):
    identity = issue(authority, "a", tmp_path, ["127.0.0.1"], 1)
    path = getattr(identity, which)
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(GridveilError, match=f"{path.name}: no .* could be read"):
        check_identity(identity, "a")
