"""One of these tests needs OpenAI's client for Node.js, which etc/dev/fetch-openai-node brings."""

from support.left_out import of_openai_node

collect_ignore_glob = list(of_openai_node())
