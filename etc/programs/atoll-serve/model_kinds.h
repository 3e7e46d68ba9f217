/// Which files are models, and what serves them.
#pragma once

#include <span>
#include <string_view>

namespace atl::serve {

/// One kind of model that lies about as a file or a folder, without a configuration.
struct ModelKind {
  std::string_view ending;  ///< of the file's name; empty: a folder that holds `marker`
  std::string_view marker;
  std::string_view backend;
  std::string_view file;       ///< its name in a version's folder
  std::string_view companion;  ///< ending of a file of the same stem that belongs to it; empty: none
  std::string_view companion_file;
  bool names_file;  ///< whether the configuration has to say the file's name
};

/// Ordered: of two that would have one name the first is served.
std::span<const ModelKind> model_kinds() noexcept;

/// Null: files with such a name are no models.
const ModelKind* kind_of_file(std::string_view name) noexcept;

/// Whether a model's version may hold a file of this name: "model.onnx".
bool is_version_file(std::string_view name) noexcept;

}  // namespace atl::serve
