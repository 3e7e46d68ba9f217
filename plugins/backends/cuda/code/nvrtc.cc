#include "backends/cuda/code/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>

#include "atoll/core/text.h"

namespace atl::cuda_backend {

using Program = struct NvrtcProgram*;

/// The library's, by its names.
struct Nvrtc::Functions {
  std::string library;
  const char* (*nvrtcGetErrorString)(int result) = nullptr;
  int (*nvrtcGetNumSupportedArchs)(int* count) = nullptr;
  int (*nvrtcGetSupportedArchs)(int* capabilities) = nullptr;
  int (*nvrtcCreateProgram)(Program* program, const char* source, const char* name, int header_count,
                            const char* const* headers, const char* const* header_names) = nullptr;
  int (*nvrtcDestroyProgram)(Program* program) = nullptr;
  int (*nvrtcCompileProgram)(Program program, int option_count, const char* const* options) = nullptr;
  int (*nvrtcGetProgramLogSize)(Program program, size_t* bytes) = nullptr;
  int (*nvrtcGetProgramLog)(Program program, char* log) = nullptr;
  int (*nvrtcGetCUBINSize)(Program program, size_t* bytes) = nullptr;
  int (*nvrtcGetCUBIN)(Program program, char* code) = nullptr;
  int (*nvrtcGetPTXSize)(Program program, size_t* bytes) = nullptr;
  int (*nvrtcGetPTX)(Program program, char* code) = nullptr;
};

namespace {

constexpr int kOutOfMemory = 1;
constexpr int kInvalidInput = 3;
constexpr int kInvalidOption = 5;
constexpr int kCompilation = 6;
constexpr size_t kLogBytesMax = 64 * 1024;

/// \return the first name that is missing; null: none
template <class Functions>
const char* bind(void* library, Functions& functions) {
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(functions.nvrtcGetErrorString, "nvrtcGetErrorString");
  find(functions.nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  find(functions.nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs");
  find(functions.nvrtcCreateProgram, "nvrtcCreateProgram");
  find(functions.nvrtcDestroyProgram, "nvrtcDestroyProgram");
  find(functions.nvrtcCompileProgram, "nvrtcCompileProgram");
  find(functions.nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
  find(functions.nvrtcGetProgramLog, "nvrtcGetProgramLog");
  find(functions.nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
  find(functions.nvrtcGetCUBIN, "nvrtcGetCUBIN");
  find(functions.nvrtcGetPTXSize, "nvrtcGetPTXSize");
  find(functions.nvrtcGetPTX, "nvrtcGetPTX");
  return missing;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// One program of the compiler, which is destroyed with this.
template <class Functions>
class Compilation {
 public:
  explicit Compilation(const Functions& functions) noexcept : nvrtc_(functions) {}
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
  ~Compilation() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }

  Status create(const std::string& source, const std::string& name) {
    return check(nvrtc_.nvrtcCreateProgram(&program_, source.c_str(), name.c_str(), 0, nullptr, nullptr),
                 name);
  }
  Status compile(const std::vector<std::string>& options, const std::string& name) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    const int result = nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(texts.size()), texts.data());
    if (result == 0) return {};
    return check(result, cat(name, ": ", log()));
  }
  Result<std::string> code(bool is_ptx) {
    size_t bytes = 0;
    ATOLL_RETURN_IF_ERROR(check(
        (is_ptx ? nvrtc_.nvrtcGetPTXSize : nvrtc_.nvrtcGetCUBINSize)(program_, &bytes), "size of the code"));
    std::string code(bytes, '\0');
    ATOLL_RETURN_IF_ERROR(
        check((is_ptx ? nvrtc_.nvrtcGetPTX : nvrtc_.nvrtcGetCUBIN)(program_, code.data()), "code"));
    // PTX comes with its NUL.
    while (is_ptx && code.ends_with('\0')) code.pop_back();
    return code;
  }

 private:
  std::string log() const {
    size_t bytes = 0;
    if (nvrtc_.nvrtcGetProgramLogSize(program_, &bytes) != 0) return {};
    std::string text(bytes, '\0');
    if (bytes == 0 || nvrtc_.nvrtcGetProgramLog(program_, text.data()) != 0) return {};
    text.resize(std::min(text.find('\0'), text.size()));
    if (text.size() > kLogBytesMax) text.replace(kLogBytesMax, std::string::npos, "...");
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  Status check(int result, std::string_view what) const {
    if (result == 0) return {};
    const bool is_input = result == kCompilation || result == kInvalidOption || result == kInvalidInput;
    const Code code = is_input                 ? Code::kInvalidArgument
                      : result == kOutOfMemory ? Code::kResourceExhausted
                                               : Code::kInternal;
    return make_status(code, nvrtc_.library, ": ", nvrtc_.nvrtcGetErrorString(result), ": ", what);
  }

  const Functions& nvrtc_;
  Program program_ = nullptr;
};

/// What the compiler makes code for, ascending; empty: it does not say.
template <class Functions>
std::vector<int> capabilities_of(const Functions& functions) {
  int count = 0;
  if (functions.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0) return {};
  std::vector<int> capabilities(static_cast<size_t>(count));
  if (functions.nvrtcGetSupportedArchs(capabilities.data()) != 0) return {};
  std::sort(capabilities.begin(), capabilities.end());
  return capabilities;
}

}  // namespace

Nvrtc::Nvrtc(std::unique_ptr<Functions> functions) noexcept : functions_(std::move(functions)) {}
Nvrtc::Nvrtc(Nvrtc&&) noexcept = default;
Nvrtc& Nvrtc::operator=(Nvrtc&&) noexcept = default;
Nvrtc::~Nvrtc() = default;

Result<Nvrtc> Nvrtc::open(std::string_view libraries) noexcept {
  std::string reasons;
  while (!libraries.empty()) {
    const size_t comma = std::min(libraries.find(','), libraries.size());
    const std::string name(trimmed(libraries.substr(0, comma)));
    libraries.remove_prefix(std::min(comma + 1, libraries.size()));
    if (name.empty()) continue;
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      auto functions = std::make_unique<Functions>();
      functions->library = name;
      const char* missing = bind(library, *functions);
      if (missing == nullptr) return Nvrtc(std::move(functions));
      reasons += cat(reasons.empty() ? "" : "; ", name, ": has no ", missing);
      dlclose(library);
    } else {
      reasons += cat(reasons.empty() ? "" : "; ", dlerror());
    }
  }
  return make_status(Code::kFailedPrecondition, "CUDA source cannot be compiled without NVRTC (",
                     reasons.empty() ? "no library is named" : reasons, ")");
}

Result<std::string> Nvrtc::compile(const std::string& source, const std::string& name, int32_t capability,
                                   std::span<const std::string> options) const noexcept {
  const std::vector<int> known = capabilities_of(*functions_);
  // A compiler that does not know the device gives PTX for the newest that it knows, which the driver compiles.
  const bool is_known = known.empty() || std::binary_search(known.begin(), known.end(), capability);
  const auto newer = std::upper_bound(known.begin(), known.end(), capability);
  if (!is_known && newer == known.begin()) {
    return invalid_argument(name, ": ", functions_->library, " makes no code for compute capability ",
                            capability / 10, ".", capability % 10, ", expected at least ", known.front() / 10,
                            ".", known.front() % 10);
  }
  std::vector<std::string> all = {is_known ? cat("--gpu-architecture=sm_", capability)
                                           : cat("--gpu-architecture=compute_", *(newer - 1))};
  const auto is_standard = [](const std::string& option) {
    return option.starts_with("-std") || option.starts_with("--std");
  };
  if (std::none_of(options.begin(), options.end(), is_standard)) all.emplace_back("--std=c++17");
  all.insert(all.end(), options.begin(), options.end());
  Compilation compilation(*functions_);
  ATOLL_RETURN_IF_ERROR(compilation.create(source, name));
  ATOLL_RETURN_IF_ERROR(compilation.compile(all, name));
  return compilation.code(/*is_ptx=*/!is_known);
}

}  // namespace atl::cuda_backend
