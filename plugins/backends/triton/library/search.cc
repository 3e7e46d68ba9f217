#include "backends/triton/library/search.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "atoll/triton/foreign_library.h"

namespace atl::triton {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPython = "python";
constexpr std::string_view kScript = "model.py";
constexpr std::string_view kEnvironment = "pb_exec_env_model.py.tar.gz";

/// A folder that is looked into.
struct Place {
  std::string folder;
  std::string backend_directory;  ///< that it is in; empty: it is the model's
};

std::string library_name(std::string_view backend) { return cat("libtriton_", backend, ".so"); }

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::vector<Place> places_of(const LibrarySearch& search, std::string_view backend) {
  std::vector<Place> places;
  if (search.in_models) places = {{search.version_directory, {}}, {search.model_directory, {}}};
  for (const std::string& directory : search.directories) {
    places.push_back({cat(directory, "/", backend), directory});
  }
  return places;
}

const Place* first_with(const std::vector<Place>& places, std::string_view file) {
  for (const Place& place : places) {
    if (is_file(cat(place.folder, "/", file))) return &place;
  }
  return nullptr;
}

LibraryFile library_in(const LibrarySearch& search, const Place& place, std::string_view name) {
  LibraryFile found;
  found.path = cat(place.folder, "/", name);
  found.artifacts = place.folder;
  found.backend_directory = place.backend_directory;
  if (found.backend_directory.empty() && !search.directories.empty()) {
    found.backend_directory = search.directories.front();
  }
  return found;
}

/// What the reference server says, byte for byte.
Status nothing_found(const LibrarySearch& search, std::string_view name, const std::vector<Place>& places) {
  std::string searched;
  for (const Place& place : places) searched += cat("'", place.folder, "' ");
  return invalid_argument("unable to find backend library '", name, "' for model '", search.model,
                          "', searched: ", searched);
}

/// \param place  of its script
Result<LibraryFile> python_based(const LibrarySearch& search, const Place& place) {
  std::vector<Place> places = places_of(search, search.backend);
  for (const Place& python : places_of(search, kPython)) {
    if (!python.backend_directory.empty()) places.push_back(python);
  }
  const std::string name = library_name(kPython);
  const Place* library = first_with(places, name);
  if (library == nullptr) return nothing_found(search, name, places);
  LibraryFile found = library_in(search, *library, name);
  found.artifacts = place.folder;
  found.script = cat(place.folder, "/", kScript);
  if (std::string path = cat(place.folder, "/", kEnvironment); is_file(path))
    found.environment = std::move(path);
  return found;
}

}  // namespace

Result<LibraryFile> find_library(const LibrarySearch& search) {
  if (!is_plain_name(search.backend)) {
    return invalid_argument("backend name '", search.backend, "' of model '", search.model,
                            "' is not a name of a folder");
  }
  const std::string name = search.runtime.empty() ? library_name(search.backend) : search.runtime;
  if (!is_plain_name(name)) {
    return invalid_argument("backend library name '", name, "' escapes backend directory of backend '",
                            search.backend, "', for model '", search.model,
                            "', check model config runtime field");
  }
  const std::vector<Place> places = places_of(search, search.backend);
  if (name != kScript) {
    if (const Place* place = first_with(places, name); place != nullptr) {
      return library_in(search, *place, name);
    }
    if (!search.runtime.empty()) return nothing_found(search, name, places);
  }
  // A model's own model.py is its code, not a backend.
  std::vector<Place> shared;
  for (const Place& place : places) {
    if (!place.backend_directory.empty()) shared.push_back(place);
  }
  if (const Place* place = first_with(shared, kScript); place != nullptr) return python_based(search, *place);
  if (!search.runtime.empty()) return nothing_found(search, name, shared);
  return not_found("unable to find backend library for backend '", search.backend,
                   "', try specifying runtime on the model configuration.");
}

}  // namespace atl::triton
