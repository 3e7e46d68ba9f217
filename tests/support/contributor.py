"""Servers with a fixture plugin that brings calls to a frontend."""

import contextlib
import re
import signal

from .server import BUILD, DEFAULT_MANIFEST, Server

PLUGINS = BUILD / "tests" / "extensions" / "plugins"
BACKLOG = 1 << 20


class Contributor:
    def __init__(self, plugin, frontend, limits):
        """frontend: the instance's name. limits: options of the frontend, as lines"""
        self.plugin = plugin
        self.frontend = frontend
        self.limits = f"max_stream_backlog_bytes = {BACKLOG}\n{limits}"

    def manifest_text(self, instances):
        """instances: {name of the instance: its name in answers}"""
        text = DEFAULT_MANIFEST.read_text().replace("[atoll]\n", f'[atoll]\nplugin_path = ["{PLUGINS}"]\n')
        text, frontends = re.subn(rf'(\[plugin\.{self.frontend}\]\nuse = .*\n)', lambda found: found[1] + self.limits, text)
        assert frontends == 1
        text += ('\n[plugin.keys]\nuse = "security/keys"\nrestricted_apis = ["fixture.closed:x-key=secret"]\n'
                 'restricted_protocols = ["fixture.closed:x-key=secret"]\n')
        for instance, name in instances.items():
            text += f'\n[plugin.{instance}]\nuse = "{self.plugin}"\nname = "{name}"\n'
        return text

    @contextlib.contextmanager
    def running(self, tmp_path, instances, **options):
        """options: of Server"""
        repository = tmp_path / "models"
        repository.mkdir()
        manifest = tmp_path / "atoll.toml"
        manifest.write_text(self.manifest_text(instances))
        with Server(repository, "plugin.onnxruntime.enabled=false", manifest=manifest, **options) as server:
            server.manifest = manifest
            yield server.wait_ready().wait_active()

    def reload(self, server, instances, generation):
        server.manifest.write_text(self.manifest_text(instances))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line(rf"reloaded: generation {generation}\b")
