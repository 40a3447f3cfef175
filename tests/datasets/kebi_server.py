"""A set that stands for the KEBI sets, in the formats of their copies, and a server for it."""

import contextlib
import gzip
import hashlib
import http.server
import threading

import numpy as np

from lrrf_jax.datasets._kebi_registry import KebiSet

LABELS = 11  # so that L10 and L11 sort after L2
_RNG = np.random.default_rng(0)
X = np.round(_RNG.normal(size=(40, 3)), 6)
X[3, 1], X[4, 2] = 0.0, -1.32455e-07
Y = np.argsort(_RNG.random((40, LABELS)), axis=1) + 1


def _row(x, ranking):
    return ",".join([*map(repr, map(float, x)), *ranking])


def _lines(rows):
    return ("\n".join(rows) + "\n").encode()


def sha256(table):
    """The hash of the registry, worked out number by number."""
    numbers = b"".join(np.float32(value + 0.0).tobytes() for row in table for value in row)
    return hashlib.sha256(f"{len(table)} {len(table[0])}\n".encode() + numbers).hexdigest()


def known_set():
    waves = [sum(np.cos(i) * float(np.float32(x)) for i, x in enumerate(c)) / 40 for c in X.T]
    return KebiSet("A", 40, 3, LABELS, sha256(Y), sha256(X), waves)


def orders():
    return [[j for _, j in sorted(zip(row, range(1, LABELS + 1), strict=True))] for row in Y]


def positions_csv():
    header = ",".join([*("A1", "A2", "A3"), *(f"L{j + 1}" for j in range(LABELS))])
    return _lines([header, *(_row(x, map(str, y)) for x, y in zip(X, Y, strict=True))])


def positions_text():
    return positions_csv().split(b"\n", 1)[1]


def orderings_text():
    """No header, the labels in order, and numbers as Java writes them."""
    rows = [_row(x, map(str, order)) for x, order in zip(X, orders(), strict=True)]
    return _lines(rows).replace(b"e-07", b"E-7").rstrip(b"\n")


def letters_text():
    """A header, letters, and line ends of Windows."""
    names = ["".join("abcdefghijk"[j - 1]) for j in range(1, LABELS + 1)]
    rows = [
        _row(x, [">".join(names[j - 1] for j in order)])
        for x, order in zip(X, orders(), strict=True)
    ]
    return _lines(["A1,A2,A3,ranking", *rows]).replace(b"\n", b"\r\n").replace(b",0.0,", b",0,")


def xarff():
    names = ",".join(f"L{j + 1}" for j in range(LABELS))
    head = ["@relation toy", *(f"@attribute A{j} NUMERIC" for j in (1, 2, 3))]
    head += [f"@attribute L RANKING {{{names}}}", "@data"]
    rows = [
        _row(x, [">".join(f"L{j}" for j in order)]) for x, order in zip(X, orders(), strict=True)
    ]
    return _lines([*head, *rows])


COPIES = {
    "toy.csv": positions_csv(),
    "toy.csv.gz": gzip.compress(positions_csv()),
    "positions/toy.txt": positions_text(),
    "orderings/toy.txt": orderings_text(),
    "letters/toy.txt": letters_text(),
    "toy.xarff": xarff(),
}


@contextlib.contextmanager
def serve(files, cut=()):
    """Serve bytes by path on this machine; yields the address and the paths asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.lstrip("/")
            asked.append(path)
            if path not in files:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(files[path])))
            self.end_headers()
            body = files[path]
            self.wfile.write(body[: len(body) // 2] if path in cut else body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
