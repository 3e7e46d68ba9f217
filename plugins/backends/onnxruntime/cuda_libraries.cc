#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "backends/onnxruntime/gpu_source.h"

namespace atl::ort {
namespace {

// Each may need those before it. cuDNN's other parts are found by its own means, beside it.
constexpr std::string_view kLibraries[] = {
    "libcudart.so.", "libnvJitLink.so.", "libcublasLt.so.", "libcublas.so.",
    "libnvrtc.so.",  "libcurand.so.",    "libcufft.so.",    "libcudnn.so.",
};

Status open_file(const std::string& path) {
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr) return {};
  const char* const reason = dlerror();
  return make_status(Code::kFailedPrecondition, reason == nullptr ? path.c_str() : reason);
}

bool is_version(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

/// The folder's files named for one library, the shortest name first: that which others ask for.
std::vector<std::string> versions_in(const std::filesystem::path& folder, std::string_view stem) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(stem) && is_version(std::string_view(name).substr(stem.size()))) {
      found.push_back(entry->path().string());
    }
  }
  std::ranges::sort(found, {}, [](const std::string& path) { return std::pair(path.size(), path); });
  return found;
}

}  // namespace

Status open_libraries(const std::vector<std::string>& paths) noexcept {
  std::vector<std::filesystem::path> folders;
  for (const std::string& path : paths) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
      return not_found("option cuda_libraries: found '", path,
                       "', expected a file or a folder that is there");
    }
    if (std::filesystem::is_directory(status)) {
      folders.emplace_back(path);
    } else {
      ATOLL_RETURN_IF_ERROR(open_file(path));
    }
  }
  for (std::string_view stem : kLibraries) {
    for (const std::filesystem::path& folder : folders) {
      const std::vector<std::string> found = versions_in(folder, stem);
      if (!found.empty()) ATOLL_RETURN_IF_ERROR(open_file(found.front()));
    }
  }
  return {};
}

}  // namespace atl::ort
