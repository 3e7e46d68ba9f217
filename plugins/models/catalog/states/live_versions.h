/// The objects of versions that were published, until they are destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/catalog/loading/load_order.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// Versions whose instances a load took away: who is told when they are gone.
struct LeavingVersions {
  size_t left = 0;  ///< so many are still there
  std::vector<LoadDone> callbacks = {};
};

/// Not locked: guarded by its owner.
class LiveVersions {
 public:
  /// \returns the object's number
  uint64_t add(const std::string& model, const ServedModel& version);
  /// The object gives way to one of the same version that shares its instances: its end is not the version's.
  void succeed(uint64_t object) { succeeded_.insert(object); }
  /// Of an object that was succeeded; `departure` may be null, and is the new one then.
  void await(uint64_t object, std::shared_ptr<LeavingVersions>& departure);
  /// Right before it is destroyed.
  void ending(uint64_t object) { live_.erase(object); }
  /// Right after. \param callbacks  gets those that waited for it \returns whether its version has ended with it
  bool ended(uint64_t object, std::vector<LoadDone>* callbacks);
  /// References that requests hold, by model.
  std::map<std::string, uint64_t> holders() const;
  template <class See>
  void each(See&& see) const {
    for (const auto& [object, live] : live_) see(*live.version);
  }

 private:
  struct Live {
    std::string model;
    const ServedModel* version = nullptr;
  };
  uint64_t last_object_ = 0;
  std::map<uint64_t, Live> live_;
  std::set<uint64_t> succeeded_;  ///< and not destroyed
  std::map<uint64_t, std::shared_ptr<LeavingVersions>>
      departures_;  ///< of these, those that somebody waits for
};

}  // namespace atl::models
