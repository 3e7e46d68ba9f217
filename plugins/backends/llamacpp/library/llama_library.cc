#include "backends/llamacpp/library/llama_library.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "backends/llamacpp/library/cpu_flags.h"

namespace atl::llamacpp {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReasonBytesMax = 500;

std::mutex g_open;  // guards the following two
LlamaApi g_api;
std::string g_folder;

std::mutex g_log_use;  // guards g_log: a message may come from any thread while the plugin stops
Log* g_log = nullptr;
thread_local std::string t_reason;

void note_reason(std::string_view line) {
  // That it failed is known; the lines before say why.
  if (!t_reason.empty() && line.find("failed to load model") != std::string_view::npos) return;
  if (t_reason.size() + line.size() > kReasonBytesMax) return;
  if (!t_reason.empty()) t_reason += "; ";
  t_reason += line;
}

void on_message(ggml_log_level level, const char* text, void*) {
  std::string_view line = text == nullptr ? "" : text;
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
  if (line.empty()) return;
  const bool is_problem = level == GGML_LOG_LEVEL_ERROR || level == GGML_LOG_LEVEL_WARN;
  if (level == GGML_LOG_LEVEL_ERROR) note_reason(line);
  std::lock_guard lock(g_log_use);
  if (g_log == nullptr) return;
  // What goes wrong reaches whoever asked as a Status; here are the details.
  if (is_problem) {
    g_log->debug("llama.cpp: ", line);
  } else if (g_log->enabled(LogLevel::kTrace)) {
    g_log->write(LogLevel::kTrace, cat("llama.cpp: ", line));
  }
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Status unusable(const std::string& what) {
  return make_status(Code::kFailedPrecondition, "llama.cpp cannot be used: ", what);
}

Result<void*> open_file(const fs::path& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* reason = ::dlerror();
  return unusable(reason == nullptr ? file.string() : reason);
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Status find_functions(const fs::path& folder, LlamaApi& api) {
  Result<void*> llama = open_file(folder / "libllama.so");
  if (!llama.ok()) return std::move(llama).status();
  Result<void*> chat = open_file(folder / "libatoll_llamacpp_chat.so");
  if (!chat.ok()) return std::move(chat).status();
  const char* missing = nullptr;
#define ATOLL_LLAMA_FIND(name) \
  if (!find(*llama, #name, api.name)) missing = #name;
  ATOLL_LLAMA_FUNCTIONS(ATOLL_LLAMA_FIND)
#undef ATOLL_LLAMA_FIND
#define ATOLL_LLAMA_FIND(name) \
  if (!find(*chat, #name, api.name)) missing = #name;
  ATOLL_LLAMA_CHAT_FUNCTIONS(ATOLL_LLAMA_FIND)
#undef ATOLL_LLAMA_FIND
  if (missing != nullptr) return unusable(cat(folder.string(), " has no function ", missing));
  return {};
}

Status check_cpu(const fs::path& folder) {
  const std::string needed = text_of(folder / "cpu_flags");
  const std::string missing = missing_cpu_flags(needed, cpu_flags_of(text_of("/proc/cpuinfo")));
  if (missing.empty()) return {};
  return unusable(cat("the libraries in ", folder.string(), " were compiled for a CPU with ", missing,
                      ", which this one lacks; to get those for this CPU: etc/dev/fetch-llamacpp --compile"));
}

Status open_folder(const fs::path& folder, LlamaApi& api) {
  ATOLL_RETURN_IF_ERROR(check_cpu(folder));
  ATOLL_RETURN_IF_ERROR(find_functions(folder, api));
  const std::string_view version = api.llama_version();
  // A development build of a version says so behind its number.
  if (!version.starts_with(kLlamaVersion)) {
    return unusable(cat(folder.string(), " has version ", version, ", expected ", kLlamaVersion));
  }
  api.llama_log_set(&on_message, nullptr);
  api.ggml_backend_load_all_from_path(folder.c_str());
  api.llama_backend_init();
  if (api.ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == nullptr)
    return unusable(cat("none of the libraries in ", folder.string(), " runs on this CPU"));
  return {};
}

}  // namespace

Result<const LlamaApi*> open_llama(const std::vector<std::string>& folders) noexcept try {
  std::lock_guard lock(g_open);
  if (!g_folder.empty()) return &g_api;
  std::error_code ignored;
  std::string looked;
  for (const std::string& folder : folders) {
    looked += cat(looked.empty() ? "" : ", ", folder);
    if (!fs::exists(fs::path(folder) / "libllama.so", ignored)) continue;
    LlamaApi api;
    ATOLL_RETURN_IF_ERROR(open_folder(folder, api));
    g_api = api;
    g_folder = folder;
    return &g_api;
  }
  return unusable(cat("there is none in ", looked,
                      "; to get it: etc/dev/build release backends/llamacpp, or set the option library of "
                      "backends/llamacpp"));
} catch (const std::exception& error) {
  return unusable(error.what());
}

std::string llama_folder() {
  std::lock_guard lock(g_open);
  return g_folder;
}

void set_llama_log(Log& log) noexcept {
  std::lock_guard lock(g_log_use);
  g_log = &log;
}

void forget_llama_log(Log& log) noexcept {
  std::lock_guard lock(g_log_use);
  if (g_log == &log) g_log = nullptr;
}

std::string take_llama_reason() { return std::exchange(t_reason, {}); }

}  // namespace atl::llamacpp
