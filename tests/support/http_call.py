"""One HTTP request, and what is answered."""

import http.client
import json
import urllib.parse
from dataclasses import dataclass

WAIT_S = 60


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage  # whatever the case of a name
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


def call(method, url, body=None, headers=None):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=WAIT_S)
    try:
        connection.request(method, parts.path, body, headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()
