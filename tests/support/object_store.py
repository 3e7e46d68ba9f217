"""An object store that speaks S3, in this process: it checks signatures, and breaks in all ways that it is told to."""

import contextlib
import datetime
import hashlib
import hmac
import http.server
import pathlib
import threading
import urllib.parse
from xml.sax.saxutils import escape

KEY, SECRET, REGION = "AKIDTEST", "secret/of+the/test", "eu-test-1"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}


def signature(secret, method, path, query, headers, names, scope):
    """Signature Version 4, of what a request has."""
    quote = lambda text: urllib.parse.quote(text, safe="-._~")  # noqa: E731
    pairs = sorted((quote(name), quote(value)) for name, value in query)
    canonical = "\n".join([method, path, "&".join(f"{name}={value}" for name, value in pairs),
                           "".join(f"{name}:{headers[name].strip()}\n" for name in names), ";".join(names),
                           headers["x-amz-content-sha256"]])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, message="no"):
        self.send(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())

    def is_signed(self, path, query):
        store = self.server.store
        if store.is_public:
            return True
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            credential, names, found = (part.strip().split("=", 1)[1] for part in
                                        headers["authorization"].removeprefix("AWS4-HMAC-SHA256").split(","))
            key, *scope = credential.split("/")
            now = datetime.datetime.now(datetime.timezone.utc)
            sent = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
            return (key == KEY and scope[1:] == [REGION, "s3", "aws4_request"] and abs((now - sent).total_seconds()) < 900 and
                    "host" in names.split(";") and
                    hmac.compare_digest(found, signature(SECRET, self.command, path, query, headers, names.split(";"), scope)))
        except (KeyError, IndexError, ValueError):
            return False

    def do_GET(self):
        store = self.server.store
        path, _, text = self.path.partition("?")
        query = urllib.parse.parse_qsl(text, keep_blank_values=True)
        bucket, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
        with store.lock:
            store.requests.append(f"list {bucket}" if not key else f"get {key}")
            is_busy = store.busy > 0
            store.busy -= is_busy
        if store.ended.is_set():  # a connection that was kept
            self.close_connection = True
        elif store.silent.is_set():
            store.ended.wait()
            self.close_connection = True
        elif is_busy:
            self.refuse(503, "SlowDown")
        elif not self.is_signed(path, query):
            self.refuse(403, "SignatureDoesNotMatch")
        elif bucket != store.bucket:
            self.refuse(404, "NoSuchBucket")
        elif key:
            self.send_object(key)
        else:
            self.send_listing(dict(query))

    def send_listing(self, query):
        store = self.server.store
        if store.listing is not None:
            return self.send(200, store.listing.encode())
        with store.lock:
            keys = sorted(key for key in store.objects if key.startswith(query.get("prefix", "")))
            after = query.get("continuation-token", "")
            page = [key for key in keys if key > after][:store.page_keys]
            rows = "".join(f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>"
                           f"<ETag>{escape(store.etag(key))}</ETag><Size>{len(store.objects[key])}</Size></Contents>" for key in page)
        more = bool(page) and page[-1] != keys[-1]
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        self.send(200, (f'<?xml version="1.0"?><ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}'
                        "</ListBucketResult>").encode())

    def send_object(self, key):
        store = self.server.store
        with store.lock:
            if key in store.changing:
                store.objects[key] = store.objects[key][::-1] + b"!"
            content, etag = store.objects.get(key), key in store.objects and store.etag(key)
        if content is None:
            return self.refuse(404, "NoSuchKey")
        if self.headers.get("If-Match") not in (None, etag):
            return self.refuse(412, "PreconditionFailed")
        begin, status, headers = 0, 200, [("ETag", etag)]
        if requested := self.headers.get("Range"):
            begin = int(requested.removeprefix("bytes=").rstrip("-"))
            status = 206
            headers.append(("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}"))
            store.resumed.append(begin)
        with store.lock:
            cut = store.cuts.pop(0) if store.cuts else store.cut_always
        if cut is None:
            return self.send(status, content[begin:], headers)
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(content) - begin))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[begin:begin + cut])
        self.close_connection = True


class ObjectStore:
    """One bucket. Use as a context manager."""

    bucket = "models"

    def __init__(self):
        self.objects = {}
        self.lock = threading.RLock()
        self.requests = []       # "list BUCKET", "get KEY"
        self.resumed = []        # where ranges began
        self.page_keys = 2
        self.is_public = False
        self.listing = None      # what is answered to a listing, in place of it
        self.busy = 0            # so many requests are answered 503
        self.cuts = []           # bodies of the next objects end after so many bytes
        self.cut_always = None   # likewise those of all that come after
        self.changing = set()    # keys whose object changes just when it is asked for
        self.silent = threading.Event()
        self.ended = threading.Event()
        self.port = 0
        self.server = None

    def etag(self, key):
        return f'"{hashlib.md5(self.objects[key]).hexdigest()}"'

    def put(self, key, content):
        with self.lock:
            self.objects[key] = content

    def put_folder(self, folder, prefix=""):
        """Files of a folder of this machine."""
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                self.put(prefix + path.relative_to(folder).as_posix(), path.read_bytes())

    def remove(self, prefix):
        with self.lock:
            for key in [key for key in self.objects if key.startswith(prefix)]:
                del self.objects[key]

    def url(self, prefix=""):
        return f"s3://127.0.0.1:{self.port}/{self.bucket}{'/' if prefix else ''}{prefix}"

    def count(self, kind):
        with self.lock:
            return sum(request.startswith(kind) for request in self.requests)

    def start(self):
        """At the port that it had, if it had one."""
        self.ended.clear()
        self.silent.clear()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.server.store = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self):
        """From now on connections are refused, and those that are silent end."""
        self.ended.set()
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self.server = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.stop()
