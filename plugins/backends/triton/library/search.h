/// Where the shared object of a model's backend is.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl::triton {

/// Whose backend is looked for, and where.
struct LibrarySearch {
  std::string model;
  std::string backend;  ///< the configuration's
  std::string runtime;  ///< the configuration's; empty: "libtriton_<backend>.so", else "model.py"
  std::string version_directory;
  std::string model_directory;
  std::vector<std::string> directories;  ///< each with a folder for every backend
  bool in_models = true;                 ///< the model's own folders come before them
};

struct LibraryFile {
  std::string path;         ///< the shared object
  std::string artifacts;    ///< folder of the backend's files: of the script, if there is one, else of `path`
  std::string script;       ///< model.py of a backend written in Python, which the library runs; else empty
  std::string environment;  ///< packed Python environment beside the script; empty: none
  std::string
      backend_directory;  ///< of `directories`: the library's; if it is in none, the first; else empty
};

/// Looks into the folders of the version and of the model and then into the backend's in each of `directories`; the
/// first hit counts. A backend whose folder there holds model.py, and no library, is run by libtriton_python.so, from
/// the same folders or from "python" in one of `directories`. [worker] Reads nothing but folders.
/// Errors: NOT_FOUND there is none and `runtime` is empty; INVALID_ARGUMENT what `runtime` names is not there; names of
/// backend or library lead elsewhere; the Python backend is missing.
Result<LibraryFile> find_library(const LibrarySearch& search);

}  // namespace atl::triton
