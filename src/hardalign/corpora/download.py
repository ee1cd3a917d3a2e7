"""A download that goes on where an earlier one stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ASK_AGAIN = (408, 416, 429)
"""The answers to a faulty request (4xx) that another request may mend."""

BLOCK = 1 << 13
"""Bytes that are written at once, and most that are lost where the connection breaks off."""


class RefusedError(Exception):
    """The server will not give the file, however often it is asked."""


@dataclass(frozen=True)
class ResumingDownload:
    """A downloader for pooch, which calls it again where it fails and checks what it brings.

    pooch's own downloader begins from the beginning each time. This one keeps what has arrived,
    also when the program is ended, and asks for the rest only.
    """

    partial: Path
    """Where the file grows. Nobody else may write there meanwhile."""
    timeout: float
    """Seconds without a sign of the server."""

    def __call__(self, url: str, output_file: str, _pooch: object) -> None:
        """Bring the file whole to ``output_file``.

        Raises:
            RefusedError: asking again is of no use.
            requests.RequestException: anything else that is wrong with the network.
        """
        import requests

        have = self.partial.stat().st_size if self.partial.exists() else 0
        # Positions count bytes of the file, so it must not be compressed on its way.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout) as response:
            status = response.status_code
            if status == 416:  # nothing stands after what we have, which then is not this file
                self.partial.unlink(missing_ok=True)
            if 400 <= status < 500 and status not in ASK_AGAIN:
                raise RefusedError(f"the server answers {status} {response.reason}")
            response.raise_for_status()
            # A server that knows no ranges answers 200 and sends all.
            with self.partial.open("ab" if status == 206 else "wb") as file:
                for block in response.iter_content(BLOCK):
                    file.write(block)
        self.partial.replace(output_file)
