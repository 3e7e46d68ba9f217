"""OpenAI's client for Node.js, as etc/dev/fetch-openai-node brings it."""

from support.server import ROOT

FOLDER = ROOT / "build" / "peers" / "openai-node"
PROGRAM = FOLDER / "node"
