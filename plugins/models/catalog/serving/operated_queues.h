/// Service "atoll.model_queues/1": the schedulers of the versions that are served, for those who operate the server.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model.h"
#include "atoll/models/model_queues.h"

namespace atl::models {

class OperatedQueues final : public ModelQueues {
 public:
  /// \param catalog  gives ServedModels by the names that callers use; outlives this object
  explicit OperatedQueues(ModelCatalog& catalog) noexcept : catalog_(catalog) {}
  OperatedQueues(const OperatedQueues&) = delete;
  OperatedQueues& operator=(const OperatedQueues&) = delete;
  virtual ~OperatedQueues() = default;

  Result<ModelQueue> describe(std::string_view name, int64_t version) noexcept override;
  Result<uint64_t> cancel_waiting(std::string_view name, int64_t version, uint64_t level) noexcept override;
  Status set_draining(std::string_view name, int64_t version, bool draining) noexcept override;
  std::vector<DrainedVersion> draining() noexcept override;

 private:
  using Version = std::pair<std::string, int64_t>;

  ModelCatalog& catalog_;
  std::mutex mutex_;  ///< guards what follows
  std::set<Version> drained_;
};

}  // namespace atl::models
