/// What in a folder can be served, and why the rest cannot. Looks at names, and into two kinds of text; runs
/// nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "model_kinds.h"

namespace atl::serve {

/// A name in a folder that is made, and what it leads to.
struct FolderLink {
  std::string name;
  std::filesystem::path target;  ///< absolute, without links
};

/// A model without a configuration of its own.
struct LooseModel {
  std::string name;
  std::filesystem::path source;
  const ModelKind* kind = nullptr;
  std::vector<FolderLink> files;  ///< of the version that is made of it
};

struct Discovery {
  std::filesystem::path folder;  ///< the real path of what was looked through
  /// Whether the folder is a repository that is served as it is, so that models which come later are found.
  bool is_repository = false;
  std::vector<FolderLink> folders;  ///< models with a configuration or versions
  std::vector<LooseModel> loose;
  /// Why something is not served, a line each: "notes.txt: not served: ...".
  std::vector<std::string> remarks;
};

/// Why models of a backend cannot be served; empty: they can.
using BackendRefusal = std::function<std::string(std::string_view backend)>;

/// Looks at a repository, a folder with loose models, a model's own folder or a single file. Hidden names (leading
/// '.') are passed over. Errors: NOT_FOUND, INVALID_ARGUMENT the path cannot be read, or is no text.
Result<Discovery> discover(const std::filesystem::path& path, const BackendRefusal& refusal);

/// The name of a model made of a file's: what is no letter, digit, '_', '-' or '.' becomes '_'.
std::string model_name_of(std::string_view stem);

/// Whether the text of a Python program defines a class TritonPythonModel at its outermost level.
bool defines_python_model(std::string_view text);

}  // namespace atl::serve
