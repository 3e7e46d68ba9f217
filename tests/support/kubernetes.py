"""A cluster's API server, as much of it as a launcher needs; its pods are processes of this machine, each on a loopback address of its own."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import threading
import time
import urllib.parse

from .server import BUILD

RESOURCE = re.compile(r"/(?:api|apis/(?P<group>[^/]+))/v1/namespaces/(?P<namespace>[^/]+)/(?P<kind>[a-z]+)(?:/(?P<name>[^/]+)(?P<log>/log)?)?")
KINDS = {(None, "pods"), (None, "secrets"), ("coordination.k8s.io", "leases")}
WATCH_STEP_S = 0.02


class Fault:
    """What becomes of the next `count` calls whose "METHOD PATH?QUERY" the pattern is found in: an answer; it is done and the answer is lost;
    or, of a watch, half a line and the end, or silence for ever."""

    def __init__(self, pattern, status=None, message="", headers=(), count=1, breaks=False, is_silent=False,
                 loses_answer=False):
        self.pattern, self.status, self.message, self.headers = re.compile(pattern), status, message, dict(headers)
        self.count, self.breaks, self.is_silent, self.loses_answer = count, breaks, is_silent, loses_answer


class Cluster:
    """One namespace. Everything is under one lock; each change of a pod is an event."""

    def __init__(self, folder, pki=None):
        """pki: a folder of certificates; callers have to show one"""
        self.folder = pathlib.Path(folder)
        self.scheme = "https" if pki else "http"
        self.folder.mkdir()
        self.lock = threading.RLock()
        self.pods, self.secrets, self.leases, self.processes, self.events = {}, {}, {}, {}, []
        self.version, self.oldest, self.addresses = 100, 100, 0
        self.calls, self.faults, self.pods_max, self.token = [], [], 100, None
        self.changed = threading.Condition(self.lock)
        cluster = self

        class Handler(_Handler):
            owner = cluster

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if pki:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=pki / "ca.crt")
            context.load_cert_chain(pki / "server.crt", pki / "server.key")
            context.verify_mode = ssl.CERT_REQUIRED
            # A handshake is its connection's own matter: it happens with the first read.
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.is_open = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.lock:
            self.is_open = False
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    # --- what a test does ---

    def fail(self, pattern, status=None, **fault):
        with self.lock:
            self.faults.append(Fault(pattern, status, **fault))

    def forget_events(self):
        """Whoever watches from before has to list everything anew."""
        with self.lock:
            self.version += 1
            self.oldest = self.version
            self.events.clear()

    def kill(self, name):
        os.killpg(self.processes[name].pid, signal.SIGKILL)

    def running(self):
        with self.lock:
            return sorted(name for name, pod in self.pods.items() if pod["status"]["phase"] == "Running")

    # --- pods; under the lock ---

    def record(self, kind, pod):
        self.version += 1
        pod["metadata"]["resourceVersion"] = str(self.version)
        self.events.append((self.version, json.dumps({"type": kind, "object": pod})))
        self.changed.notify_all()

    def add(self, pod):
        metadata = pod["metadata"]
        metadata.update(uid=f"uid-{self.version}", namespace="serving", creationTimestamp="2026-01-01T00:00:00Z")
        pod["status"] = {"phase": "Pending"}
        self.pods[metadata["name"]] = pod
        self.record("ADDED", pod)
        if len(self.pods) > self.pods_max:
            message = f"0/{self.pods_max} nodes are available: {self.pods_max} Insufficient cpu."
            pod["status"]["conditions"] = [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
            self.record("MODIFIED", pod)
        else:
            self.start(pod)

    def write_lease(self, lease):
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.leases[lease["metadata"]["name"]] = lease

    def waits(self, pod, reason, message):
        pod["status"]["containerStatuses"] = [{"name": "server", "state": {"waiting": {"reason": reason, "message": message}}}]
        self.record("MODIFIED", pod)

    def start(self, pod):
        name = pod["metadata"]["name"]
        container = pod["spec"]["containers"][0]
        if container["image"].startswith("missing"):
            return self.waits(pod, "ImagePullBackOff", f'Back-off pulling image "{container["image"]}"')
        secret = self.secrets.get(container["envFrom"][0]["secretRef"]["name"])
        if secret is None:
            return self.waits(pod, "CreateContainerConfigError", f'secret "{name}" not found')
        self.addresses += 1
        address = f"127.7.{self.addresses // 250}.{self.addresses % 250 + 1}"
        environment = {**secret["stringData"], "ATOLL_POD_IP": address}
        words = [re.sub(r"\$\$|\$\((\w+)\)", lambda m: environment.get(m[1], m[0]) if m[1] else "$", word)
                 for word in container["command"]]
        try:
            with open(self.folder / f"{name}.log", "wb") as log:
                self.processes[name] = process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                    env={**os.environ, **environment, "PATH": f"{BUILD}/bin:{os.environ['PATH']}"})
        except FileNotFoundError as error:
            return self.ended(pod, 128, "StartError", str(error))
        pod["spec"]["nodeName"] = "n0"
        pod["status"].update(phase="Running", podIP=address, containerStatuses=[{"name": "server", "state": {"running": {}}}])
        self.record("MODIFIED", pod)
        threading.Thread(target=self._wait, args=(pod, process), daemon=True).start()

    def _wait(self, pod, process):
        code = process.wait()
        with self.lock:
            if self.pods.get(pod["metadata"]["name"]) is not pod:
                return
            if "deletionTimestamp" in pod["metadata"]:
                return self.drop(pod)
            self.ended(pod, code if code >= 0 else 128 - code, "Error")

    def ended(self, pod, code, reason, message=""):
        state = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
        pod["status"].update(phase="Failed", containerStatuses=[{"name": "server", "state": state}])
        self.record("MODIFIED", pod)

    def delete(self, pod):
        process = self.processes.get(pod["metadata"]["name"])
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if process is None or process.poll() is not None:
            return self.drop(pod)
        self.record("MODIFIED", pod)
        process.send_signal(signal.SIGTERM)

    def drop(self, pod):
        name = pod["metadata"]["name"]
        del self.pods[name]
        self.secrets.pop(name, None)  # which the pod owns
        self.record("DELETED", pod)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None
    loses_answer = False

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        if self.loses_answer:
            self.close_connection = True
            return
        text = json.dumps(body).encode() if not isinstance(body, bytes) else body
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(text), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, status, message, headers=()):
        self.answer(status, {"kind": "Status", "status": "Failure", "code": status, "message": message}, headers)

    def do(self):
        cluster = self.owner
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        match = RESOURCE.fullmatch(url.path)
        with cluster.lock:
            cluster.calls.append(f"{self.command} {self.path}")
            fault = next((one for one in cluster.faults if one.count > 0 and one.pattern.search(cluster.calls[-1])), None)
            if fault is not None:
                fault.count -= 1
        if fault is not None and fault.status:
            return self.refuse(fault.status, fault.message, fault.headers)
        if cluster.token and self.headers.get("Authorization") != f"Bearer {cluster.token}":
            return self.refuse(401, "Unauthorized")
        if match is None or match["namespace"] != "serving" or (match["group"], match["kind"]) not in KINDS:
            return self.refuse(404, f"{url.path} not found")
        if query.get("watch"):
            return self.watch(query, fault)
        self.loses_answer = fault is not None and fault.loses_answer
        with cluster.lock:
            self.answer_call(match, query, body)

    do_GET = do_POST = do_PUT = do_DELETE = do

    def answer_call(self, match, query, body):
        cluster = self.owner
        objects = getattr(cluster, match["kind"])
        name = match["name"] or (body or {}).get("metadata", {}).get("name")
        if self.command == "POST":
            if name in objects:
                return self.refuse(409, f'{match["kind"]} "{name}" already exists')
            if match["kind"] == "pods":
                cluster.add(body)
            elif match["kind"] == "leases":
                cluster.write_lease(body)
            else:
                objects[name] = body
                if name in cluster.pods and name not in cluster.processes and len(cluster.pods) <= cluster.pods_max:
                    cluster.start(cluster.pods[name])
            return self.answer(201, body)
        if match["name"] is None:
            return self.list(query)
        if name not in objects:
            return self.refuse(404, f'{match["kind"]} "{name}" not found')
        if match["log"]:
            lines = (cluster.folder / f"{name}.log").read_bytes().splitlines(True)
            return self.answer(200, b"".join(lines[-int(query["tailLines"]):]))
        if self.command == "PUT":
            if body["metadata"]["resourceVersion"] != objects[name]["metadata"]["resourceVersion"]:
                return self.refuse(409, "the object has been modified")
            cluster.write_lease(body)
            return self.answer(200, body)
        if self.command == "DELETE":
            uid = body.get("preconditions", {}).get("uid")
            if uid not in (None, objects[name]["metadata"]["uid"]):
                return self.refuse(409, "the UID in the precondition does not match")
            pod = objects[name]
            cluster.delete(pod)
            return self.answer(200, pod)
        return self.answer(200, objects[name])

    def list(self, query):
        """Two pods a page, so that pages are met."""
        selected = [pod for name, pod in sorted(self.owner.pods.items()) if self.is_selected(pod, query)]
        first = int(query.get("continue", 0))
        more = {"continue": str(first + 2)} if first + 2 < len(selected) else {}
        self.answer(200, {"kind": "PodList", "items": selected[first:first + 2],
                          "metadata": {"resourceVersion": str(self.owner.version), **more}})

    @staticmethod
    def is_selected(pod, query):
        wanted = dict(label.split("=") for label in query["labelSelector"].split(","))
        return all(pod["metadata"]["labels"].get(name) == value for name, value in wanted.items())

    def watch(self, query, fault):
        cluster = self.owner
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        seen = int(query["resourceVersion"])
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while True:
                with cluster.lock:
                    if not cluster.is_open:
                        return
                    if seen < cluster.oldest:
                        expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
                        return self.write_line(json.dumps({"type": "ERROR", "object": expired}))
                    lines = [(version, text) for version, text in cluster.events if version > seen]
                    if fault is not None and fault.is_silent:
                        lines = []
                    if not lines:
                        cluster.changed.wait(WATCH_STEP_S)
                for version, text in lines:
                    seen = version
                    if not self.is_selected(json.loads(text)["object"], query):
                        continue
                    if fault is not None and fault.breaks:
                        self.wfile.write(text[:len(text) // 2].encode())
                        return
                    self.write_line(text)

    def write_line(self, text):
        self.wfile.write(text.encode() + b"\n")
        self.wfile.flush()


def eventually_running(cluster, count, timeout=60):
    """The names of the pods that run, once there are so many."""
    deadline = time.monotonic() + timeout
    while len(cluster.running()) != count:
        assert time.monotonic() < deadline, f"{cluster.running()}, expected {count}"
        time.sleep(0.02)
    return cluster.running()
