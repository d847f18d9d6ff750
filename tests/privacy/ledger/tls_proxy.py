"""A door to a PostgreSQL server that speaks TLS, with a certificate of the test's choice."""

import socket
import ssl
import struct
import threading
from contextlib import suppress

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


class TLSProxy:
    """Listens on an address and passes what it deciphers on to the server."""

    def __init__(self, port: int, certificate: str, key: str, host: str = "127.0.0.2") -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._server_port = port
        self._door = socket.create_server((host, 0))
        self.host, self.port = self._door.getsockname()
        self.requests: list[bytes] = []
        """What clients ask for first: TLS, or a connection in the clear."""
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._door.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with suppress(OSError):
            self.requests.append(client.recv(8))
            if self.requests[-1] != _SSL_REQUEST:
                client.close()
                return
            client.sendall(b"S")
            inside = self._context.wrap_socket(client, server_side=True)
            server = socket.create_connection(("127.0.0.1", self._server_port))
            threading.Thread(target=_copy, args=(server, inside), daemon=True).start()
            _copy(inside, server)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.close()
