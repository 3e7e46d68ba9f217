#include "backends/onnxruntime/library/library_use.h"

#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "backends/onnxruntime/ort_api.h"

namespace atl::ort {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kStaysMapped = true;  // the sanitizers' reports need the code
#else
constexpr bool kStaysMapped = false;
#endif

struct InUse {
  OpenLibrary library;
  std::string option;  ///< empty: it was looked for
  uint32_t users = 0;
  bool is_kept = false;
};

// Of static storage and without destructors that would have to run at exit.
constinit std::mutex g_mutex;
constinit InUse* g_in_use = nullptr;
constinit const OrtApi* g_api = nullptr;

bool is_same(const InUse& in_use, const std::string& file) {
  if (file == in_use.option || file == in_use.library.file) return true;
  std::error_code ignored;
  return !file.empty() && std::filesystem::equivalent(file, in_use.library.file, ignored);
}

Result<OpenLibrary> open_named(const std::string& file) {
  auto opened = open_library(file);
  if (opened.ok()) return opened;
  const bool is_there = opened.status().code() != Code::kNotFound;
  return invalid_argument("option library: ", opened.status().message(), is_there ? "; " : "",
                          is_there ? way_to_get_one() : "");
}

}  // namespace

Result<OrtLibrary> OrtLibrary::begin(const std::string& file, const LibraryPlaces& places,
                                     std::vector<std::string>& passed_over) noexcept {
  std::lock_guard lock(g_mutex);
  if (g_in_use == nullptr) {
    auto opened = file.empty() ? open_first_library(places, passed_over) : open_named(file);
    if (!opened.ok()) return std::move(opened).status();
    g_in_use = new InUse{std::move(opened).value(), file};
    g_api = g_in_use->library.api;  // only here: users read it without the lock
  } else if (!is_same(*g_in_use, file)) {
    return make_status(Code::kFailedPrecondition, "option library: found '", file, "', expected '",
                       g_in_use->library.file,
                       "': ONNX Runtime is in use from there, and there is one a process");
  }
  ++g_in_use->users;
  return OrtLibrary();
}

OrtLibrary::~OrtLibrary() {
  if (!holds_) return;
  std::lock_guard lock(g_mutex);
  if (--g_in_use->users != 0 || g_in_use->is_kept) return;
  if (kStaysMapped) g_in_use->library.object.leave_open();
  g_api = nullptr;
  delete std::exchange(g_in_use, nullptr);
}

std::string OrtLibrary::version() const {
  std::lock_guard lock(g_mutex);
  return g_in_use->library.version;
}

std::string OrtLibrary::text() const {
  std::lock_guard lock(g_mutex);
  return cat(g_in_use->library.version, " of ", g_in_use->library.file);
}

void keep_library_open() noexcept {
  std::lock_guard lock(g_mutex);
  if (g_in_use != nullptr) g_in_use->is_kept = true;
}

const OrtApi& api() noexcept { return *g_api; }

Status runtime_usable() noexcept {
  std::lock_guard lock(g_mutex);
  return g_api != nullptr ? Status() : make_status(Code::kFailedPrecondition, "no ONNX Runtime is in use");
}

}  // namespace atl::ort
