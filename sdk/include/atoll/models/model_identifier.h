/// Identifiers of models where several repositories may have models of one name ("namespacing"):
/// "<repository>::<name>". The catalog takes one wherever it takes a name. Files that a client brought have
/// no repository: "::<name>".
#pragma once

#include <string>
#include <string_view>

namespace atl {

inline constexpr std::string_view kModelNamespaceEnd = "::";

inline bool is_model_identifier(std::string_view text) noexcept {
  return text.find(kModelNamespaceEnd) != std::string_view::npos;
}

/// The model's own name; the text itself if it is no identifier.
inline std::string_view model_name_of(std::string_view identifier) noexcept {
  const size_t end = identifier.find(kModelNamespaceEnd);
  return end == std::string_view::npos ? identifier : identifier.substr(end + kModelNamespaceEnd.size());
}

/// The repository; empty if there is none.
inline std::string_view model_namespace_of(std::string_view identifier) noexcept {
  const size_t end = identifier.find(kModelNamespaceEnd);
  return end == std::string_view::npos ? std::string_view() : identifier.substr(0, end);
}

inline std::string model_identifier_of(std::string_view repository, std::string_view name) {
  return std::string(repository).append(kModelNamespaceEnd).append(name);
}

}  // namespace atl
