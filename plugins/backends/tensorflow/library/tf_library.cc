#include "backends/tensorflow/library/tf_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "backends/common/engine_folders.h"
#include "backends/common/python_packages.h"

namespace atl::tensorflow {
namespace {

namespace fs = std::filesystem;

// A function that both libprotobuf and TensorFlow have under this name.
constexpr char kProtobufFunction[] = "_ZN6google8protobuf8internal20RepeatedPtrFieldBase14InternalExtendEi";

std::mutex g_open;  // guards the following two while they are filled
TfApi g_api;
bool g_is_open = false;

Status unusable(const std::string& what) {
  return make_status(Code::kFailedPrecondition, "TensorFlow cannot be used: ", what);
}

/// Where the function of the process lies; empty: it cannot be told.
std::string_view file_of(const char* function) {
  Dl_info info;
  void* const address = ::dlsym(RTLD_DEFAULT, function);
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Status open_file(const std::string& file, TfApi& api) {
  Result<int> flags = open_flags(ProcessSymbols::of_process());
  if (!flags.ok()) return std::move(flags).status();
  void* const library = ::dlopen(file.c_str(), *flags);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return unusable(reason == nullptr ? file : reason);
  }
  const char* missing = nullptr;
#define ATOLL_TF_FIND(name, result, parameters) \
  if (!find(library, #name, api.name)) missing = #name;
  ATOLL_TF_FUNCTIONS(ATOLL_TF_FIND)
#undef ATOLL_TF_FIND
  if (missing != nullptr) return unusable(cat(file, " has no function ", missing));
  const char* const version = api.TF_Version();
  if (version == nullptr || !std::string_view(version).starts_with("2.")) {
    return unusable(cat(file, ": found version ", version == nullptr ? "none" : version, ", expected 2.x"));
  }
  return {};
}

}  // namespace

const TfApi& tf() noexcept { return g_api; }

std::vector<std::string> library_files(const std::string& own_file) {
  std::vector<std::string> files;
  for (const std::string& packages :
       backends::python_package_folders(backends::PythonSearch::of_process(own_file)))
    files.push_back((fs::path(packages) / "tensorflow" / kLibraryName).string());
  for (const std::string& folder : backends::engine_folders("tensorflow", own_file))
    files.push_back((fs::path(folder) / kLibraryName).string());
  return files;
}

void quiet_tensorflow() noexcept {
  constexpr int kKeepExisting = 0;
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "2", kKeepExisting);  // errors only
}

ProcessSymbols ProcessSymbols::of_process() noexcept {
  ProcessSymbols symbols;
  symbols.has_protobuf = ::dlsym(RTLD_DEFAULT, kProtobufFunction) != nullptr;
  symbols.has_other_malloc = file_of("malloc") != file_of("gnu_get_libc_version");
  return symbols;
}

Result<int> open_flags(const ProcessSymbols& symbols) noexcept {
  constexpr int kUsual = RTLD_NOW | RTLD_LOCAL;
  if (!symbols.has_protobuf) return kUsual;
  if (kIsSanitized) return kUsual;  // a sanitizer refuses the other one
  if (!symbols.has_other_malloc) return kUsual | RTLD_DEEPBIND;
  return unusable(
      "the program is linked with libprotobuf, beside which TensorFlow loads only with symbols of its own, and it runs "
      "with an allocator of its own (LD_PRELOAD), beside which it does not; start it without the allocator");
}

Result<TfApi> open_first_library(const std::vector<std::string>& files) noexcept try {
  std::error_code ignored;
  std::string looked;
  for (const std::string& file : files) {
    looked += cat(looked.empty() ? "" : ", ", file);
    if (!fs::exists(file, ignored)) continue;
    TfApi api;
    ATOLL_RETURN_IF_ERROR(open_file(file, api));
    return api;
  }
  return unusable(
      cat("there is none of ", looked,
          "; to get it: pip install tensorflow-cpu, or etc/dev/build release backends/tensorflow, or set "
          "the option library of backends/tensorflow"));
} catch (const std::exception& error) {
  return unusable(error.what());
}

Result<const TfApi*> open_tensorflow(const std::vector<std::string>& files) noexcept {
  std::lock_guard lock(g_open);
  if (!g_is_open) {
    Result<TfApi> opened = open_first_library(files);
    if (!opened.ok()) return std::move(opened).status();
    g_api = *opened;
    g_is_open = true;
  }
  return &g_api;
}

}  // namespace atl::tensorflow
