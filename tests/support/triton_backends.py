"""Directories of backends made for Triton, and servers that run them."""

import shutil

from .server import BUILD, DEFAULT_MANIFEST

EXAMPLES = BUILD / "lib" / "atoll" / "triton_backends"
# Of the unit tests: backends whose behaviour the names of their models say ("hangs_model").
FIXTURES = BUILD / "plugins" / "backends" / "triton" / "fixtures"


def put_backend(directory, example, name, source=EXAMPLES):
    """Puts a backend into a directory of backends, in the place of one of that name. The name is none of the manifest's."""
    folder = directory / name
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / "new"
    shutil.copy(source / example / f"libtriton_{example}.so", new)
    new.rename(folder / f"libtriton_{name}.so")
    return folder / f"libtriton_{name}.so"


def write_manifest(folder, *directories, options=""):
    """The default manifest with the plugin, and with what answers backends that ask the server. options: further lines of it"""
    path = folder / "atoll.toml"
    listed = ", ".join(f'"{directory}"' for directory in directories)
    path.write_text(DEFAULT_MANIFEST.read_text() +
                    '\n[plugin.c_api]\nuse = "frontends/c_api"\n'
                    f'\n[plugin.triton]\nuse = "backends/triton"\ndirectories = [{listed}]\n{options}\n')
    return path
