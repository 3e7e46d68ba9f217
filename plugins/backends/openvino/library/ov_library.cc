#include "backends/openvino/library/ov_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/runtime/shared_object.h"
#include "backends/common/engine_folders.h"

namespace atl::openvino {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "libopenvino_c.so";

// Of static storage and without destructors that would have to run at exit.
constinit std::mutex g_mutex;  // guards the following; g_api is written once, before anybody reads it
constinit OvApi g_api;
constinit std::string* g_text = nullptr;
constinit OvCore* g_core = nullptr;

Status unusable(std::string_view what) {
  return make_status(Code::kFailedPrecondition, "OpenVINO cannot be used: ", what);
}

/// The file in the folder whose name says that it is the C API; empty: there is none.
std::string file_in(const fs::path& folder) {
  std::error_code error, ignored;
  std::string found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kName) && entry->is_regular_file(ignored) && entry->path().string() > found)
      found = entry->path().string();
  }
  return found;
}

/// What the library says of itself; empty: it says nothing.
std::string version_of(const OvApi& functions) {
  OvVersion version = {nullptr, nullptr};
  if (functions.ov_get_openvino_version(&version) != 0) return {};
  std::string text = version.build_number == nullptr ? "" : version.build_number;
  functions.ov_version_free(&version);
  return text;
}

Status open_file(const std::string& file, OvApi& functions, std::string& text) {
  if (auto identity = runtime::inspect_shared_object(file); !identity.ok())
    return std::move(identity).status();
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return make_status(Code::kFailedPrecondition, reason == nullptr ? file : reason);
  }
  const char* missing = nullptr;
  OvApi found;
#define ATOLL_OV_FIND(name, ...)                                                \
  found.name = reinterpret_cast<decltype(found.name)>(::dlsym(library, #name)); \
  if (found.name == nullptr) missing = #name;
  ATOLL_OV_FUNCTIONS(ATOLL_OV_FIND)
#undef ATOLL_OV_FIND
  if (missing != nullptr)
    return make_status(Code::kFailedPrecondition, file, ": found no function ", missing);
  const std::string version = version_of(found);
  if (!version.starts_with(kOpenVinoVersion)) {
    return make_status(Code::kFailedPrecondition, file, ": found OpenVINO ", version, ", expected ",
                       kOpenVinoVersion, "x");
  }
  functions = found;
  text = cat(version, " of ", file);
  return {};
}

/// \param looked  gets what was looked at, for a message
Result<std::vector<std::string>> candidates(const OvPlaces& places, std::string& looked) {
  std::vector<std::string> files;
  const auto look = [&](const fs::path& folder) {
    std::string file = file_in(folder);
    if (!file.empty()) files.push_back(std::move(file));
    if (file.empty()) looked += cat(looked.empty() ? "" : ", ", folder.string());
  };
  if (!places.option.empty()) {
    std::error_code ignored;
    if (!fs::is_directory(places.option, ignored)) return std::vector<std::string>{places.option};
    look(places.option);
    return files;
  }
  for (const std::string& engine : places.engines) look(engine);
  for (const std::string& packages : backends::python_package_folders(places.python))
    look(fs::path(packages) / "openvino" / "libs");
  return files;
}

/// The CPU device keeps the kernels that it has made for shapes: 1,024 of them in a process, with 0.2 MB or more each, whatever
/// compilations are freed. It reads the bound when it is opened.
void bound_kernel_cache() {
  constexpr char kBoundVariable[] = "ONEDNN_PRIMITIVE_CACHE_CAPACITY";
  constexpr int kKeepExisting = 0;
  if (std::getenv("DNNL_PRIMITIVE_CACHE_CAPACITY") == nullptr) ::setenv(kBoundVariable, "128", kKeepExisting);
}

}  // namespace

OvPlaces OvPlaces::of_process(std::string option, const std::string& own_file) {
  return {std::move(option), backends::PythonSearch::of_process(own_file),
          backends::engine_folders("openvino", own_file)};
}

Status open_openvino(const OvPlaces& places) noexcept try {
  std::lock_guard lock(g_mutex);
  if (g_text != nullptr) return {};
  bound_kernel_cache();
  std::string looked, passed_over;
  auto files = candidates(places, looked);
  if (!files.ok()) return std::move(files).status();
  for (const std::string& file : *files) {
    std::string text;
    Status status = open_file(file, g_api, text);
    if (status.ok()) {
      g_text = new std::string(std::move(text));
      return {};
    }
    passed_over += cat(status.message(), "; ");
  }
  return unusable(cat(passed_over, looked.empty() ? "" : cat("there is none in ", looked, "; "),
                      "to get it: etc/dev/build release backends/openvino, or pip install 'openvino==",
                      kOpenVinoVersion, "*', or set the option library of backends/openvino"));
} catch (const std::exception& error) {
  return unusable(error.what());
}

std::string openvino_text() {
  std::lock_guard lock(g_mutex);
  return g_text == nullptr ? std::string() : *g_text;
}

const OvApi& api() noexcept { return g_api; }

Result<Handle<OvCore>> make_core() noexcept {
  Handle<OvCore> core;
  ATOLL_RETURN_IF_ERROR(make(core, api().ov_core_create));
  // Weights are read and not mapped: whoever cuts a file off that is mapped would end the server.
  const OvProperty no_mapping = {"ENABLE_MMAP", "NO"};
  ATOLL_RETURN_IF_ERROR(check(api().ov_core_set_properties(core.get(), "", 1, &no_mapping)));
  return core;
}

Result<const OvCore*> shared_core() noexcept {
  std::lock_guard lock(g_mutex);
  if (g_core == nullptr) {
    auto core = make_core();
    if (!core.ok()) return std::move(core).status();
    g_core = core->release();  // as long as the library, which is never closed
  }
  return static_cast<const OvCore*>(g_core);
}

std::string plain_reason(std::string_view text) {
  std::string reason;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("Exception from ")) continue;
    const size_t place = line.find(" failed at src/");  // "Check 'rank == 2' failed at src/x.cpp:52:"
    if (place != std::string_view::npos) line = line.substr(0, place + std::string_view(" failed").size());
    reason += cat(reason.empty() ? "" : "; ", line);
  }
  return reason.empty() ? "no reason was given" : reason;
}

Status check(OvStatus status) noexcept {
  if (status == 0) return {};
  const char* const text = api().ov_get_last_err_msg();
  Status failure = internal_error(plain_reason(text == nullptr ? "" : text));
  if (text != nullptr) api().ov_free(text);
  return failure;
}

}  // namespace atl::openvino
