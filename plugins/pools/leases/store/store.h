/// The records in a file, so that they outlive the process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "pools/leases/book/records.h"

namespace atl::pools {

struct DropPool {
  std::string name;
};
struct DropInstance {
  std::string pool;
  uint32_t number = 0;
};
struct DropLease {
  std::string id;
};
struct DropLeaseName {
  std::string owner;
  std::string name;
};
/// A record as it is from now on, or one that is no more. What does not exist is dropped without a word.
using Change = std::variant<PoolRecord, DropPool, InstanceRecord, DropInstance, LeaseRecord, DropLease,
                            LeasedModel, LeaseName, DropLeaseName>;

struct StoredState {
  std::vector<PoolRecord> pools;          ///< by name
  std::vector<InstanceRecord> instances;  ///< by pool and number
  std::vector<LeaseRecord> leases;        ///< in the order in which they were created
  std::vector<LeasedModel> models;
  std::vector<LeaseName> names;
};

/// A database of SQLite that this process alone has open, "pools.sqlite" in a directory. [one thread at a time]
class Store {
 public:
  static constexpr int kSchema = 3;

  /// Makes the directory and the file where they are not there.
  /// \param directory  empty: nothing outlives the process
  /// Errors, after which nothing was changed: UNAVAILABLE another process has it open; FAILED_PRECONDITION a newer
  /// server has written it, or it is something else; DATA_LOSS it is damaged; INVALID_ARGUMENT the directory cannot
  /// be used; RESOURCE_EXHAUSTED the disk is full. Other users cannot read the file: it has the keys of servers.
  static Result<std::unique_ptr<Store>> open(const std::string& directory);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// Where write() says once that it fails, and once that it works again: clients may try as often as they like. \param log  outlives this
  void set_log(Log& log) noexcept { log_ = &log; }
  /// Errors: DATA_LOSS there is something that nobody wrote.
  Result<StoredState> load();
  /// All of them or, on failure, none. On the disk when this returns.
  /// Errors, without the file's name, as clients get them: UNAVAILABLE the disk is full, or it fails; DATA_LOSS it is damaged.
  Status write(std::span<const Change> changes);
  Status write(const Change& change) { return write({&change, 1}); }
  /// ":memory:" where nothing outlives the process.
  const std::string& file() const noexcept;

 private:
  class Database;
  explicit Store(std::unique_ptr<Database> database);
  Status apply(std::span<const Change> changes);

  std::unique_ptr<Database> database_;
  Log* log_ = nullptr;
  bool is_failing_ = false;
};

}  // namespace atl::pools
