"""The page of a forecast: what to expect in words and as a table."""

from pathlib import Path

from gridveil.files import write_atomically
from gridveil.publication.forecast.outlook import Outlook
from gridveil.publication.report.html import escape, html_page, table


def forecast_page(outlook: Outlook) -> bytes:
    """Return the page; one that was made from raw loads says so in its title and at its top."""
    title, *texts = outlook.text()
    mark = "alarm" if outlook.is_private else "whole"
    body = (
        f'<header><p class="{mark}">{escape(outlook.marking)}</p><h1>{escape(outlook.network)}</h1>'
        f"<p>{escape(title)}</p>{''.join(f'<p>{escape(text)}</p>' for text in texts)}</header>"
        f"<section><h2>This and other settings</h2>{table(*outlook.table())}</section>"
    )
    kind = "PRIVATE forecast" if outlook.is_private else "forecast"
    return html_page(f"{kind}: {outlook.network}", body)


def write_forecast(path: Path, outlook: Outlook) -> None:
    """Write the page of a forecast, for its owner's eyes only where it was made from raw loads."""
    write_atomically(path, forecast_page(outlook), private=outlook.is_private)
