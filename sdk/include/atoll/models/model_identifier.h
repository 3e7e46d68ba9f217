/// Identifiers of models where several repositories may have models of one name (the option `namespacing` of
/// models/catalog): "<repository>::<name>", for example "/srv/models::resnet". Files that a client brought
/// have no repository: "::<name>".
///
/// The catalog takes an identifier wherever it takes a name:
///
///     catalog->acquire("/srv/models::resnet", ModelCatalog::kLatest);
///
/// The functions below only cut texts; they do not look whether a model exists.
#pragma once

#include <string>
#include <string_view>

namespace atl {

/// Stands between repository and name. A repository's path has none in it; the name begins behind the first
/// one.
inline constexpr std::string_view kModelNamespaceEnd = "::";

/// Whether the text has a repository part, be it an empty one.
inline bool is_model_identifier(std::string_view text) noexcept {
  return text.find(kModelNamespaceEnd) != std::string_view::npos;
}

/// The model's own name: "resnet"; the text itself if it is no identifier. Borrowed from the text.
inline std::string_view model_name_of(std::string_view identifier) noexcept {
  const size_t end = identifier.find(kModelNamespaceEnd);
  return end == std::string_view::npos ? identifier : identifier.substr(end + kModelNamespaceEnd.size());
}

/// The repository: "/srv/models"; empty if there is none. Borrowed from the text.
inline std::string_view model_namespace_of(std::string_view identifier) noexcept {
  const size_t end = identifier.find(kModelNamespaceEnd);
  return end == std::string_view::npos ? std::string_view() : identifier.substr(0, end);
}

/// The opposite of the two.
inline std::string model_identifier_of(std::string_view repository, std::string_view name) {
  return std::string(repository).append(kModelNamespaceEnd).append(name);
}

}  // namespace atl
