"""Makes the page of a release again, from the files of its folder, to compare the two."""

import numpy as np

from gridveil.network.case_file import CaseFile
from gridveil.publication.case_file import read_published
from gridveil.publication.certificate import Certificate
from gridveil.publication.page_data import read_history, read_positions
from gridveil.publication.report.detail import SHORT, Detail
from gridveil.publication.report.page import report_page


def redrawn_page(
    certificate: Certificate,
    case: CaseFile,
    positions: bytes,
    history: bytes | None,
    detail: Detail = SHORT,
) -> bytes:
    """Return the page that a release must have.

    Args:
        certificate: The certificate.
        case: The released network as it was read, with its loads.
        positions: The file of positions.
        history: The file of the agents' history, if there is one.
        detail: Sizes up to which the page shows everything one by one.

    Raises:
        GridveilError: One of the files cannot be read.
    """
    with np.errstate(all="ignore"):  # a hostile file may hold any numbers
        published = read_published(case)
        place = read_positions(positions, published.network)
        agents = None if history is None else read_history(history)
        return report_page(certificate, published, place, agents, detail)
