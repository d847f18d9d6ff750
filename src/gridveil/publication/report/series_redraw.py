"""Makes the page of a released series again, from the files of its folder, to compare the two."""

import numpy as np

from gridveil.network.case_file import CaseFile
from gridveil.publication.case_file import read_published
from gridveil.publication.certificate import Certificate
from gridveil.publication.page_data import read_positions
from gridveil.publication.report.series_page import series_page
from gridveil.publication.series.tables import SeriesTables


def redrawn_series_page(
    certificate: Certificate, case: CaseFile, tables: SeriesTables, positions: bytes
) -> bytes:
    """Return the page that a released series must have.

    Args:
        certificate: The certificate.
        case: The released network as it was read, with its loads.
        tables: The tables.
        positions: The file of positions.

    Raises:
        GridveilError: One of the files cannot be read.
    """
    with np.errstate(all="ignore"):  # a hostile file may hold any numbers
        published = read_published(case)
        place = read_positions(positions, published.network)
        return series_page(certificate, published, tables, place)
