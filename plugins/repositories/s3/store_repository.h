/// Model repositories in object stores, and plain folders beside them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/models/repository.h"
#include "repositories/common/filesystem_repository.h"
#include "repositories/s3/store_source.h"

namespace atl::s3 {

struct StoreRepositorySettings {
  /// Its paths may be URLs.
  filesystem::RepositorySettings folders = {};
  std::string cache_directory = {};
  uint64_t cache_bytes = 0;  ///< 0: no limit but the disk's
  CredentialSource credentials = {};
  Addressing addressing = Addressing::kAuto;
  std::string ca_file = {};
  int64_t silence_ns = 10 * kNsPerSecond;
  ListingRules listing = {};
};

/// Lists by the store, and reads from copies on this machine's disk, which open() makes. [any]
class StoreRepository final : public Repository {
 public:
  StoreRepository(StoreRepositorySettings settings, Clock& clock, Log& log);

  /// \param missing  as of FilesystemRepository::check()
  /// Errors: those of parse_store_url(), ObjectStore::make(), ObjectCache::open(), of StoreCalls::start(), of
  /// FilesystemRepository::check().
  Status start(ExecutorFactory& executors, std::vector<Status>* missing);
  /// Whoever waits for a store does so no longer. [any]
  void interrupt() noexcept { calls_.interrupt(); }
  void stop() noexcept { calls_.stop(); }

  Result<std::vector<RepositoryEntry>> list() noexcept override;
  Result<RepositoryModel> open(std::string_view name) noexcept override;
  Result<std::vector<RepositoryStamp>> stamps(std::string_view name) noexcept override;
  Result<PrivateModel> open_files(std::string_view name,
                                  const std::vector<RepositoryFile>& files) noexcept override {
    return folders_.open_files(name, files);
  }
  Result<RepositoryModel> open_at(std::string_view name, const std::string& path) noexcept override {
    return folders_.open_at(name, path);
  }
  bool is_complete() const noexcept override;
  Result<std::shared_ptr<const void>> hold(const RepositoryModel& model) noexcept override;
  std::string remark(std::string_view name) const noexcept override;

 private:
  /// Where a model is.
  struct Home {
    StoreSource* source = nullptr;  ///< null: in a plain folder
    std::string name;               ///< in its repository
    std::shared_ptr<const StoreListing> listing = {};
    const StoreModel* model = nullptr;  ///< of the listing
    std::string away = {};
  };

  Status list_stores(std::vector<RepositoryEntry>& entries);
  void look();
  Result<Home> find_model(std::string_view identifier);
  Result<RepositoryModel> open_model(std::string_view identifier);
  Result<RepositoryModel> read_model(const Home& home, std::string_view identifier, bool* is_changed);
  Result<std::shared_ptr<const CachedModel>> fetch(const Home& home, bool* is_changed);
  Status download(const Home& home, ModelDraft& draft, bool* is_changed);
  Status check_model(const Home& home) const;
  std::string config_of(const StoreModel& model) const;

  const StoreRepositorySettings settings_;
  Clock& clock_;
  Log& log_;
  filesystem::FilesystemRepository folders_;
  bool has_folders_ = false;
  std::shared_ptr<ObjectCache> cache_;
  StoreCalls calls_;
  std::vector<std::unique_ptr<StoreSource>> sources_;
  std::mutex look_mutex_;  ///< held while stores are listed
  std::mutex opened_mutex_;
  /// The newest copy of each model, by its identifier, until it is held: so long it stays in the cache.
  std::map<std::string, std::shared_ptr<const CachedModel>, std::less<>> opened_;
};

}  // namespace atl::s3
