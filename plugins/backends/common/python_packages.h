/// Where the packages of the user's Python lie. Only folders are looked at; no Python is started.
#pragma once

#include <string>
#include <vector>

namespace atl::backends {

/// What the search begins with. Paths that are not absolute are passed over: what they mean depends on where the server was started.
struct PythonSearch {
  std::string own_file;     ///< of the plugin, or of another file in PREFIX/lib/atoll/plugins/ROLE
  std::string virtual_env;  ///< $VIRTUAL_ENV
  std::string path;         ///< $PATH
  std::string user_base;    ///< $PYTHONUSERBASE, or ~/.local

  /// From the process's environment. \param own_file  absolute [control]
  static PythonSearch of_process(std::string own_file);
};

/// The folders that are there, each once, in the order in which packages are to be looked for:
///   1. the one that holds this server, if a wheel has installed it there: FOLDER/atoll_server/lib/atoll/plugins/ROLE/NAME.so
///   2. $VIRTUAL_ENV/lib/python3.*/site-packages
///   3. those of the first `python3` in PATH that is a Python's own program: of its virtual environment, or else the user's
///      (~/.local), and those of the system, which Debian calls dist-packages. (Scripts that choose a Python, such as
///      pyenv's, are passed over: they would have to be run.)
/// Of several versions of Python in one folder the newest comes first.
std::vector<std::string> python_package_folders(const PythonSearch& search);

}  // namespace atl::backends
