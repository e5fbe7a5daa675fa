"""A proxy before a PostgreSQL server that cuts a connection at a COMMIT: before it arrives, or before its answer."""

import contextlib
import socket
import threading
from collections.abc import Generator
from typing import Literal

Cut = Literal["before", "after"]


class CuttingProxy:
    def __init__(self, port: int) -> None:
        self._server = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        #: how the next COMMIT is cut off; none: it is not
        self.next_cut: Cut | None = None
        #: new connections are refused
        self.shut = False
        #: with a cut, `shut` follows
        self.shut_then = False
        self.cuts = 0
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.shut:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._server))
            except OSError:
                # It is started again.
                client.close()
                continue
            self._open += [client, server]
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        """Client to server."""
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                cut = self.next_cut if data.endswith(b"COMMIT\0") else None
                if cut is None:
                    server.sendall(data)
                    continue
                self.next_cut, self.cuts, self.shut = None, self.cuts + 1, self.shut_then
                # The client is gone first, so that no answer reaches it.
                self._end(client)
                if cut == "after":
                    server.sendall(data)
                self._end(server, gently=True)
        self._end(client)
        self._end(server)

    def _pump(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)
        self._end(client)
        self._end(server)

    @staticmethod
    def _end(ended: socket.socket, *, gently: bool = False) -> None:
        with contextlib.suppress(OSError):
            ended.shutdown(socket.SHUT_WR if gently else socket.SHUT_RDWR)

    def close(self) -> None:
        for each in (self._listening, *self._open):
            self._end(each)
            each.close()


@contextlib.contextmanager
def cutting(port: int) -> Generator[CuttingProxy]:
    proxy = CuttingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
