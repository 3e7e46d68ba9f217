#include "backends/onnxruntime/library/library_places.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "backends/common/engine_folders.h"

namespace atl::ort {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "libonnxruntime.so";

/// {1, 31, 1} of "libonnxruntime.so.1.31.1". Nothing: it is the name of another file.
std::optional<std::vector<uint32_t>> version_in(std::string_view name) {
  if (!name.starts_with(kName)) return std::nullopt;
  std::vector<uint32_t> version;
  for (std::string_view rest = name.substr(kName.size()); !rest.empty();) {
    if (!rest.starts_with('.')) return std::nullopt;
    rest.remove_prefix(1);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc()) return std::nullopt;
    version.push_back(number);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
  return version;
}

/// The library with the highest version in its name; empty: there is none.
std::string newest_in(const fs::path& folder) {
  std::string newest;
  std::vector<uint32_t> highest;
  std::error_code error, ignored;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    auto version = version_in(entry->path().filename().string());
    if (!version || !entry->is_regular_file(ignored)) continue;
    if (!newest.empty() && *version <= highest) continue;
    newest = entry->path().string();
    highest = std::move(*version);
  }
  return newest;
}

}  // namespace

LibraryPlaces LibraryPlaces::of_process(const std::string& own_file) {
  return {backends::PythonSearch::of_process(own_file), backends::engine_folders("onnxruntime", own_file)};
}

Result<OpenLibrary> open_first_library(const LibraryPlaces& places,
                                       std::vector<std::string>& passed_over) noexcept {
  std::string empty;
  auto try_folder = [&](const fs::path& folder) -> std::optional<OpenLibrary> {
    const std::string file = newest_in(folder);
    if (file.empty()) {
      empty += cat(empty.empty() ? "" : ", ", folder.string());
      return std::nullopt;
    }
    auto opened = open_library(file);
    if (opened.ok()) return std::move(opened).value();
    passed_over.emplace_back(opened.status().message());
    return std::nullopt;
  };
  for (const std::string& packages : backends::python_package_folders(places.python)) {
    if (auto opened = try_folder(fs::path(packages) / "onnxruntime" / "capi")) return std::move(*opened);
  }
  for (const std::string& engine : places.engines) {
    if (auto opened = try_folder(engine)) return std::move(*opened);
  }
  std::string found;
  for (const std::string& line : passed_over) found += cat(line, "; ");
  return make_status(Code::kUnavailable, "no ONNX Runtime can be used: ", found,
                     empty.empty() ? "" : cat("there is none in ", empty, "; "), way_to_get_one(),
                     ", or set the option library of backends/onnxruntime");
}

}  // namespace atl::ort
