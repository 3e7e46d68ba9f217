/// A cache made for Triton.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/triton/foreign_library.h"
#include "caches/triton/answer_library.h"
#include "triton/core/tritoncache.h"

namespace atl::caches {

/// From its CacheInitialize to its CacheFinalize, when its library is closed.
class ForeignCache final : public AnswerLibrary {
 public:
  struct Wanted {
    std::string name;                      ///< libtritoncache_<name>.so
    std::vector<std::string> directories;  ///< each with a folder for every cache
    std::map<std::string, std::string> settings;
  };

  /// [control] Errors: INVALID_ARGUMENT there is no such file, or it lacks an entry point; those of the dynamic linker and of
  /// CacheInitialize; INTERNAL that gave no cache. Each names the cache.
  /// \param log  outlives it
  /// The path of its file. Errors: INVALID_ARGUMENT there is none.
  static Result<std::string> find(const Wanted& wanted);
  static Result<std::unique_ptr<ForeignCache>> open(const Wanted& wanted, Log& log);
  ForeignCache(const ForeignCache&) = delete;
  ForeignCache& operator=(const ForeignCache&) = delete;
  ~ForeignCache() override;

  const std::string& path() const noexcept { return library_.path(); }

  /// Errors: also INTERNAL it has found the key, and given not one buffer or none that it copied.
  Result<std::string> look_up(const std::string& key) override;
  /// Errors: also INTERNAL it did not copy what it was to keep.
  Status insert(const std::string& key, std::string_view bytes) override;

 private:
  struct EntryPoints {
    decltype(&TRITONCACHE_CacheInitialize) initialize = nullptr;
    decltype(&TRITONCACHE_CacheFinalize) finalize = nullptr;
    decltype(&TRITONCACHE_CacheLookup) look_up = nullptr;
    decltype(&TRITONCACHE_CacheInsert) insert = nullptr;
  };

  explicit ForeignCache(Log& log) noexcept : log_(log) {}
  Status find_entries();
  Status initialize(const std::map<std::string, std::string>& settings);

  Log& log_;
  triton::ForeignLibrary library_;
  EntryPoints entries_;
  TRITONCACHE_Cache* cache_ = nullptr;  ///< null: it is not initialised
};

}  // namespace atl::caches
