/// The models that have requests, found without a look at the thousands that have none.
#pragma once

#include <mutex>

#include "atoll/models/model.h"
#include "models/catalog/serving/reader_shards.h"

namespace atl::models {

class ServedModel;

/// A model comes with its first request, and goes when count() finds it without any and nobody holds it, or when it ends. The list goes through the
/// models themselves, so that a request needs no memory to enter its model. [any]
class ActiveModels {
 public:
  /// Does nothing for one that is here. \param model  calls remove() before it ends
  void add(ServedModel& model) noexcept;
  /// Does nothing for one that is not here.
  void remove(ServedModel& model) noexcept;
  /// The sums over all that are here. \param shards  those that guard the models' references
  RequestsNow count(ReaderShards& shards) noexcept;

 private:
  std::mutex mutex_;
  ServedModel* first_ = nullptr;
};

}  // namespace atl::models
