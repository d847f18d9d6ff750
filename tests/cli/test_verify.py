"""What `gridveil verify` prints of a release that may be hostile."""

from gridveil import release
from gridveil.publication.certificate import Certificate


def test_nothing_of_a_certificate_controls_the_terminal(gridveil, tmp_path):
    out = tmp_path / "out"
    release("case5_pjm", tmp_path / "ledger.sqlite", beta=0.05).save(out)
    path = out / "certificate.json"
    content = Certificate.model_validate_json(path.read_bytes()).model_dump()
    content["protection"].update(
        mechanism="own", promise="\x1b[2Jall holds", parameters={"\x1b[31mown": "\x1b]0;x\x07"}
    )
    path.write_bytes(Certificate.model_validate(content).sealed().to_bytes())
    result = gridveil("verify", out)
    assert result.status == 1
    assert "all holds" in result.out
    assert not {"\x1b", "\x07"} & set(result.out)


def test_a_statement_that_does_not_follow_is_not_printed(gridveil, tmp_path):
    out = tmp_path / "out"
    release("case5_pjm", tmp_path / "ledger.sqlite", beta=0.05).save(out)
    first, *_ = gridveil("verify", out).out.splitlines()
    assert first.startswith("Private as a whole")
    path = out / "certificate.json"
    content = Certificate.model_validate_json(path.read_bytes()).model_dump()
    content["statement"] = "Private as a whole.\ngenuine (key 4f1c…)\n45 claims recomputed\n"
    path.write_bytes(Certificate.model_validate(content).sealed().to_bytes())
    result = gridveil("verify", out)
    assert result.status == 1
    assert result.out.splitlines()[0].startswith("Not verified")
    assert result.out.splitlines()[1].startswith("What the certificate says of the folder")
    assert "genuine (key" not in result.out
