"""HTTP/2 by hand: connections on which any frames are sent, as no client library would."""

import contextlib
import socket
import struct
import threading

TIMEOUT_S = 60


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header without indexing and without Huffman coding."""
    def text(data):
        if len(data) < 127:
            return bytes([len(data)]) + data
        return b"\x7f" + varint(len(data) - 127) + data
    return b"\x00" + text(name) + text(value)


def call_headers(path, *extra):
    block = b"\x83\x86"  # POST, http
    for name, value in ((b":path", path.encode()), (b":authority", b"test"), (b"te", b"trailers"),
                        (b"content-type", b"application/grpc"), *extra):
        block += literal(name, value)
    return block


class Raw:
    """A connection on which any frames are sent."""

    def __init__(self, server):
        host, port = server.address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        self.buffer = b""
        self.reader = None
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))

    def send(self, data):
        self.socket.sendall(data)

    def frames(self):
        """What comes until the server closes."""
        while True:
            while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
                try:
                    more = self.socket.recv(65536)
                except ConnectionError:
                    return
                if not more:
                    return
                self.buffer += more
            end = 9 + int.from_bytes(self.buffer[:3], "big")
            one, self.buffer = self.buffer[:end], self.buffer[end:]
            yield one[3], one[4], int.from_bytes(one[5:9], "big"), one[9:]

    def ignore_answers(self):
        """Reads what comes until the server closes, on the thread that is returned."""
        def read():
            with contextlib.suppress(OSError):
                for _ in self.frames():
                    pass
        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()
        return self.reader

    def hang_up(self):
        self.socket.shutdown(socket.SHUT_RDWR)

    def end_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def ping(self):
        """Waits until the server has seen all that was sent."""
        self.send(frame(PING, 0, 0, b"marker!!"))
        for kind, flags, _, payload in self.frames():
            if kind == PING and flags & 1 and payload == b"marker!!":
                return
        raise ConnectionError("closed")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.reader:
            # While a thread waits in recv(), close() leaves the connection open.
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            self.reader.join()
        self.socket.close()
