"""Prints where things are: `cmake -DAtoll_DIR=$(python -m atoll_server_sdk --cmake-dir) ...`."""

import argparse

import atoll_server_sdk

parser = argparse.ArgumentParser(prog="python -m atoll_server_sdk", description="Prints a folder of the SDK.")
which = parser.add_mutually_exclusive_group(required=True)
which.add_argument("--prefix", action="store_const", dest="folder", const=atoll_server_sdk.FOLDER,
                   help="the whole SDK, for CMAKE_PREFIX_PATH")
which.add_argument("--cmake-dir", action="store_const", dest="folder", const=atoll_server_sdk.CMAKE_DIR,
                   help="the CMake package, for Atoll_DIR")
which.add_argument("--template-dir", action="store_const", dest="folder", const=atoll_server_sdk.TEMPLATE_DIR,
                   help="the template of a plugin, to be copied")
print(parser.parse_args().folder)
