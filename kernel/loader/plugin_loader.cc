#include "kernel/loader/plugin_loader.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>

#include "atoll/runtime/descriptor_check.h"
#include "atoll/runtime/exports.h"
#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/problems.h"

namespace atl::kernel {
namespace {

size_t symbol_size(const void* symbol) {
  Dl_info info;
  void* entry = nullptr;
  if (::dladdr1(symbol, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return 0;
  return static_cast<const ElfW(Sym)*>(entry)->st_size;
}

}  // namespace

// Never destroyed: files outlive the end of main.
PluginLoader::Opened& PluginLoader::opened() {
  static auto* opened = new Opened;
  return *opened;
}

PluginLoader::PluginLoader(Log& log, runtime::CallWatch* calls) : log_(log), calls_(calls) {
  std::lock_guard lock(opened().mutex);
  ::lt_dlinit();
  ::lt_dladvise_init(&advise_);
  ::lt_dladvise_local(&advise_);
  if (kPluginsStayMapped) ::lt_dladvise_resident(&advise_);
}

PluginLoader::~PluginLoader() {
  std::lock_guard lock(opened().mutex);
  ::lt_dladvise_destroy(&advise_);
  // No lt_dlexit(): it would lose the handles of resident files, which are needed when the process loads
  // again.
}

// The dynamic linker and libltdl both answer a path they have seen with what they mapped for it then, even
// after the file was replaced. So a path in use is spelled differently, "dir/./name" or "dir//name" (bits of
// a counter), which both take for a new file and which, unlike a private copy or /proc/self/fd, keeps
// $ORIGIN, debuggers and profilers working and the pages shared. The counter starts at 0 again once the
// earlier spellings are unmapped.
std::string PluginLoader::unused_spelling(const std::string& path) const {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  for (uint64_t number = 0;; ++number) {
    std::string spelled = folder + "/";
    for (uint64_t bits = number; bits != 0; bits >>= 1) spelled += (bits & 1) != 0 ? "./" : "/";
    spelled += name;
    bool used = opened().kept_spellings.contains(spelled);
    for (const auto& [key, library] : opened().libraries) used |= library->spelled_ == spelled;
    if (!used) return spelled;
  }
}

Result<std::shared_ptr<PluginLibrary>> PluginLoader::map_file(const std::string& path,
                                                              const runtime::FileIdentity& identity) {
  auto library = std::make_shared<PluginLibrary>();
  library->path_ = path;
  library->identity_ = identity;
  library->spelled_ = unused_spelling(path);
  // libltdl binds lazily and answers every failure with "file not found"; this probe binds now and says why
  // not.
  Result<runtime::SharedObject> probe = runtime::SharedObject::open_as(library->spelled_, path);
  if (!probe.ok()) return std::move(probe).status();
  library->handle_ = ::lt_dlopenadvise(library->spelled_.c_str(), advise_);
  if (library->handle_ == nullptr) {
    const char* why = ::lt_dlerror();
    return make_status(Code::kFailedPrecondition, path, ": ",
                       why == nullptr ? "libltdl gave no reason" : why);
  }
  return library;
}

void PluginLoader::name_in_faults(const PluginLibrary& library) {
  runtime::name_object(library.descriptor_,
                       cat("plugin ", library.descriptor_->name, " (", library.path_, ")"));
}

Status PluginLoader::find_descriptor(PluginLibrary& library, std::string_view use) {
  auto* symbol = static_cast<const atoll_plugin_v1_t*>(::lt_dlsym(library.handle_, ATOLL_PLUGIN_SYMBOL));
  if (symbol == nullptr) {
    for (uint32_t major = 2; major < 100; ++major) {
      if (::lt_dlsym(library.handle_, cat("atoll_plugin_v", major).c_str()) == nullptr) continue;
      return make_status(Code::kFailedPrecondition, library.path_, ": its plugin ABI is ", major,
                         ", this server's is ", ATOLL_ABI_MAJOR);
    }
    return make_status(Code::kFailedPrecondition, library.path_, ": not a plugin: it does not export ",
                       ATOLL_PLUGIN_SYMBOL);
  }
  library.mapped_ = runtime::mapped_file_at(symbol).value_or("");
  Status checked = runtime::check_descriptor(symbol, symbol_size(symbol), use);
  if (!checked.ok()) {
    return Status(Code::kFailedPrecondition,
                  runtime::prefix_lines(cat(library.path_, ": "), checked.message()));
  }
  library.descriptor_ = symbol;
  auto exports = runtime::exports_beside(symbol, ATOLL_PLUGIN_SYMBOL);
  if (!exports.empty())
    log_.warning(library.path_, ": ", runtime::exports_text(exports, ATOLL_PLUGIN_SYMBOL));
  name_in_faults(library);
  if (library.has(ATOLL_PLUGIN_RESIDENT)) ::lt_dlmakeresident(library.handle_);
  return {};
}

Result<std::shared_ptr<PluginLibrary>> PluginLoader::open(const std::string& path, std::string_view use) {
  std::lock_guard lock(opened().mutex);
  Result<runtime::FileIdentity> identity = runtime::inspect_shared_object(path);
  if (!identity.ok()) return std::move(identity).status();
  std::pair key(identity->device, identity->inode);
  if (auto known = opened().libraries.find(key); known != opened().libraries.end()) {
    if (known->second->identity_ != identity.value()) {
      return make_status(
          Code::kFailedPrecondition, path,
          ": was written to while it is mapped; replace a plugin by renaming a new file over it");
    }
    Status checked = runtime::check_descriptor(known->second->descriptor_, 0, use);
    if (!checked.ok()) return make_status(Code::kFailedPrecondition, path, ": ", checked.message());
    return known->second;
  }
  Result<std::shared_ptr<PluginLibrary>> library = map_file(path, identity.value());
  if (!library.ok()) return library;
  Status status = find_descriptor(*library.value(), use);
  Result<runtime::FileIdentity> after = runtime::inspect_shared_object(path);
  if (status.ok() && (!after.ok() || after.value() != identity.value())) {
    status = make_status(Code::kFailedPrecondition, path, ": was replaced while it was being loaded");
  }
  if (!status.ok()) {
    close_now(*library.value());
    return status;
  }
  opened().libraries.emplace(key, library.value());
  return library;
}

void PluginLoader::pin(PluginLibrary& library) {
  std::lock_guard lock(opened().mutex);
  library.pinned_ = true;
  ::lt_dlmakeresident(library.handle_);
}

PluginLoader::Closed PluginLoader::close_now(PluginLibrary& library) {
  bool stays = kPluginsStayMapped || library.pinned_ ||
               (library.descriptor_ != nullptr && library.has(ATOLL_PLUGIN_RESIDENT));
  if (stays) {
    opened().kept_spellings.insert(library.spelled_);
    return Closed::kResident;
  }
  // Before: a thread that was left behind may fault as soon as the code is gone.
  if (library.descriptor_ != nullptr) runtime::forget_object(library.descriptor_);
  ::lt_dlclose(library.handle_);
  if (library.mapped_.empty() || !runtime::is_mapped(library.mapped_)) return Closed::kUnloaded;
  if (library.descriptor_ != nullptr) name_in_faults(library);
  opened().kept_spellings.insert(library.spelled_);
  log_.warning(library.path_,
               ": was closed but is still mapped (unique symbols or thread locals keep it); it counts as "
               "resident until the server is restarted");
  return Closed::kStillMapped;
}

bool PluginLoader::has_open(const std::string& path) const {
  std::lock_guard lock(opened().mutex);
  Result<runtime::FileIdentity> identity = runtime::inspect_shared_object(path);
  if (!identity.ok()) return false;
  auto known = opened().libraries.find({identity->device, identity->inode});
  return known != opened().libraries.end() && known->second->identity_ == identity.value();
}

PluginLoader::Closed PluginLoader::close(std::shared_ptr<PluginLibrary> library) {
  if (library == nullptr) return Closed::kUnloaded;
  std::lock_guard lock(opened().mutex);
  auto known = opened().libraries.find({library->identity_.device, library->identity_.inode});
  if (library.use_count() > 2) return Closed::kShared;
  Closed closed = close_now(*library);
  // A resident file stays known: opened again, it must be the same mapping.
  if (closed != Closed::kResident && known != opened().libraries.end()) opened().libraries.erase(known);
  return closed;
}

}  // namespace atl::kernel
