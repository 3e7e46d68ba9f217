"""The server that the cases of tests/clients want, whatever language they are written in."""

from . import models
from .server import DEFAULT_MANIFEST, Server

KEYS = '\n[plugin.keys]\nuse = "security/keys"\nrestricted_protocols = ["logging:admin-key=secret"]\n'
STUCK = 'parameters { key: "execute_delay_ms" value { string_value: "3600000" } } instance_group [ { count: 4 } ]'


def serve_cases(folder, grpc_frontend, *settings):
    repository = folder / "models"
    models.write_model(repository, "echo", models.identity_config("echo", "TYPE_INT32"))
    models.write_model(repository, "stuck", models.identity_config("stuck", "TYPE_INT32", extra=STUCK))
    models.write_model(repository, "repeat", models.REPEAT_CONFIG)
    manifest = folder / "atoll.toml"
    manifest.write_text(DEFAULT_MANIFEST.read_text() + KEYS)
    wanted = ('plugin.repeat.use="backends/repeat"', 'plugin.grpc.response_compression="low"', 'plugin.grpc.max_message_bytes="16MiB"',
              'plugin.grpc.http2_min_recv_ping_interval_without_data="5s"',
              "plugin.grpc.keepalive_permit_without_calls=true", "plugin.grpc.http2_max_ping_strikes=1")
    return Server(repository, *wanted, *settings, manifest=manifest, grpc_frontend=grpc_frontend)
