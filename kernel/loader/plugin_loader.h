/// Opens and closes plugin files.
#pragma once

#include <ltdl.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "atoll/abi/plugin.h"
#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "atoll/runtime/call_watch.h"
#include "atoll/runtime/memory_map.h"
#include "atoll/runtime/shared_object.h"

namespace atl::kernel {

/// Sanitizers symbolise addresses at exit, so their builds keep every plugin mapped.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kPluginsStayMapped = true;
#else
inline constexpr bool kPluginsStayMapped = false;
#endif

/// One mapped plugin file; instances of the same file share it.
class PluginLibrary {
 public:
  const atoll_plugin_v1_t& descriptor() const { return *descriptor_; }
  std::span<const atoll_provided_v1> provides() const {
    return {descriptor_->provides, descriptor_->provides_count};
  }
  std::span<const atoll_need_v1> needs() const { return {descriptor_->needs, descriptor_->needs_count}; }
  std::span<const atoll_option_v1> options() const {
    return {descriptor_->options, descriptor_->options_count};
  }
  const std::string& path() const { return path_; }
  const runtime::FileIdentity& identity() const { return identity_; }
  bool has(uint32_t flag) const { return (descriptor_->flags & flag) != 0; }

 private:
  friend class PluginLoader;
  std::string path_;
  std::string spelled_;  // the path as the dynamic linker was told it
  runtime::FileIdentity identity_;
  lt_dlhandle handle_ = nullptr;
  const atoll_plugin_v1_t* descriptor_ = nullptr;
  runtime::MappedFile mapped_;
  bool pinned_ = false;
};

/// [control] of its server. The files that are open are the process's, as libltdl's tables are: the loaders of
/// several servers share them, under a lock of their own.
class PluginLoader {
 public:
  enum class Closed {
    kUnloaded,     ///< gone from the memory map
    kShared,       ///< other instances use the file
    kResident,     ///< stays mapped as intended: RESIDENT, pinned, or a sanitizer build
    kStillMapped,  ///< closed, but the dynamic linker kept it; counts as resident until the process ends
  };

  /// \param calls  watches the loading of files; null: nobody does
  explicit PluginLoader(Log& log, runtime::CallWatch* calls = nullptr);
  ~PluginLoader();
  PluginLoader(const PluginLoader&) = delete;
  PluginLoader& operator=(const PluginLoader&) = delete;

  /// Maps the file and checks its descriptor; the file's static initialisers run, no function of the
  /// descriptor does. \param use  "role/name"; empty: whatever plugin the file holds. Errors: those of
  /// inspect_shared_object() and runtime::check_descriptor(), and the dynamic linker's own words.
  Result<std::shared_ptr<PluginLibrary>> open(const std::string& path, std::string_view use);
  /// This very file is open: opening it again runs none of its code.
  bool has_open(const std::string& path) const;
  /// Lets one use go; the last one closes the file.
  Closed close(std::shared_ptr<PluginLibrary> library);
  runtime::CallWatch* calls() const { return calls_; }
  /// Keeps the file mapped for ever: something of it may still run.
  void pin(PluginLibrary& library);

 private:
  /// What is open in this process, and the spellings of files that stayed mapped after they were closed.
  struct Opened {
    std::mutex mutex;
    std::map<std::pair<dev_t, ino_t>, std::shared_ptr<PluginLibrary>> libraries;
    std::set<std::string> kept_spellings;
  };
  static Opened& opened();
  Result<std::shared_ptr<PluginLibrary>> map_file(const std::string& path,
                                                  const runtime::FileIdentity& identity);
  Status find_descriptor(PluginLibrary& library, std::string_view use);
  std::string unused_spelling(const std::string& path) const;
  static void name_in_faults(const PluginLibrary& library);
  Closed close_now(PluginLibrary& library);

  Log& log_;
  runtime::CallWatch* const calls_;
  lt_dladvise advise_ = nullptr;
};

/// One use of a library, closed with this object.
class LibraryUse {
 public:
  LibraryUse() = default;
  LibraryUse(PluginLoader& loader, std::shared_ptr<PluginLibrary> library)
      : loader_(&loader), library_(std::move(library)) {}
  LibraryUse(LibraryUse&&) = default;
  LibraryUse& operator=(LibraryUse&& other) {
    close();
    loader_ = other.loader_;
    library_ = std::move(other.library_);
    return *this;
  }
  ~LibraryUse() { close(); }
  PluginLoader::Closed close() {
    return library_ ? loader_->close(std::move(library_)) : PluginLoader::Closed::kUnloaded;
  }
  void pin() { loader_->pin(*library_); }
  const PluginLibrary* operator->() const { return library_.get(); }
  const PluginLibrary* get() const { return library_.get(); }

 private:
  PluginLoader* loader_ = nullptr;
  std::shared_ptr<PluginLibrary> library_;
};

}  // namespace atl::kernel
