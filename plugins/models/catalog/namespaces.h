/// Models of the same name in several repositories: known by identifiers "<repository>::<name>", where the
/// repository tells them apart (its option `namespacing`). Files that a client brought have no repository.
#pragma once

#include <string>
#include <string_view>

namespace atl::models {

inline constexpr std::string_view kNamespaceEnd = "::";

inline bool is_identifier(std::string_view text) noexcept {
  return text.find(kNamespaceEnd) != std::string_view::npos;
}

/// The model's own name; the text itself if it is no identifier.
inline std::string_view name_of(std::string_view identifier) noexcept {
  const size_t end = identifier.find(kNamespaceEnd);
  return end == std::string_view::npos ? identifier : identifier.substr(end + kNamespaceEnd.size());
}

/// The repository; empty if there is none.
inline std::string_view namespace_of(std::string_view identifier) noexcept {
  const size_t end = identifier.find(kNamespaceEnd);
  return end == std::string_view::npos ? std::string_view() : identifier.substr(0, end);
}

inline std::string identifier_of(std::string_view repository, std::string_view name) {
  return std::string(repository).append(kNamespaceEnd).append(name);
}

}  // namespace atl::models
