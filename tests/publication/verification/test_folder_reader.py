"""A hostile folder: nothing but regular files in it is read, and only up to a limit."""

import os
import socket
import threading

import pytest

from gridveil.errors import GridveilError
from gridveil.publication.folder import CERTIFICATE, LOADS, NETWORK, REPORT, SIGNATURE
from gridveil.publication.verification import folder_reader
from gridveil.publication.verification.folder_reader import (
    LIMITS,
    MOST_ENTRIES,
    list_release_folder,
    read_optional_file,
    read_release_file,
)


def test_every_file_of_a_release_has_a_limit():
    assert {CERTIFICATE, SIGNATURE, NETWORK, LOADS, REPORT} < set(LIMITS)


@pytest.mark.parametrize("size", [0, 1, 7, 2**20, 2**20 + 1])
def test_a_file_is_read_whole(tmp_path, size):
    data = os.urandom(size)
    (tmp_path / LOADS).write_bytes(data)
    assert read_release_file(tmp_path, LOADS) == data
    assert read_release_file(tmp_path, LOADS, size) == data


@pytest.mark.parametrize("limit", [0, 9, 2**20])
def test_a_file_above_its_limit_is_refused(tmp_path, limit):
    (tmp_path / LOADS).write_bytes(bytes(limit + 1))
    with pytest.raises(GridveilError, match=f"too large .* at most {limit:,} bytes"):
        read_release_file(tmp_path, LOADS, limit)


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_huge_sparse_files_are_refused_at_once(tmp_path, name):
    with (tmp_path / name).open("wb") as file:
        file.truncate(6 * 2**30)
    with pytest.raises(GridveilError, match="too large"):
        read_release_file(tmp_path, name)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / LOADS
    path.write_bytes(bytes(10))
    look = os.fstat

    def grows(handle):
        status = look(handle)
        with path.open("ab") as file:
            file.write(bytes(10))
        return status

    monkeypatch.setattr(folder_reader.os, "fstat", grows)
    with pytest.raises(GridveilError, match="too large"):
        read_release_file(tmp_path, LOADS, 15)


def test_links_are_refused_wherever_they_lead(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "here").write_text("here")
    for target in ("../secret", "here", "nowhere", LOADS, "/dev/zero", "/etc/passwd"):
        (folder / LOADS).symlink_to(target)
        for read in (read_release_file, read_optional_file):
            with pytest.raises(GridveilError, match=r"symbolic link.*a release is a folder with"):
                read(folder, LOADS)
        (folder / LOADS).unlink()


def test_what_is_not_a_regular_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / LOADS).mkdir()
    os.mkfifo(tmp_path / NETWORK)
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(REPORT)
        found = []
        reading = threading.Thread(
            target=lambda: found.extend(refusal(tmp_path, n) for n in (LOADS, NETWORK, REPORT)),
            daemon=True,
        )
        reading.start()
        reading.join(20)
    assert len(found) == 3, "it waits for a writer"
    assert all("a release is a folder with" in text for text in found)


def refusal(folder, name):
    with pytest.raises(GridveilError) as error:
        read_release_file(folder, name)
    return str(error.value)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0b", "other.txt", "\x1b[2J"]
)
def test_names_that_lead_out_or_are_none_of_a_release_are_refused(tmp_path, name):
    assert "is not the name of a file" in refusal(tmp_path, name)
    if name not in ("other.txt", "\x1b[2J"):
        with pytest.raises(GridveilError, match="is not the name of a file in it"):
            read_release_file(tmp_path, name, 100)


def test_a_file_that_is_not_there(tmp_path):
    assert read_optional_file(tmp_path, SIGNATURE) is None
    assert "No such file" in refusal(tmp_path, SIGNATURE)
    assert "No such file" in refusal(tmp_path / "none", SIGNATURE)
    (tmp_path / "file").write_text("x")
    assert "Not a directory" in refusal(tmp_path / "file", SIGNATURE)


def test_a_folder_is_listed_up_to_a_bound(tmp_path):
    for number in range(MOST_ENTRIES):
        (tmp_path / f"{number:03}").touch()
    assert list_release_folder(tmp_path) == tuple(f"{n:03}" for n in range(MOST_ENTRIES))
    (tmp_path / "one more").touch()
    with pytest.raises(GridveilError, match="more than 100 entries"):
        list_release_folder(tmp_path)
    with pytest.raises(GridveilError, match="a release is a folder with"):
        list_release_folder(tmp_path / "none")
