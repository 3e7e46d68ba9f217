/// Decides what a repository's changes mean for what is served. Pure: it is told what was seen, and when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "atoll/models/repository.h"

namespace atl::control {

/// What one poll of the repository showed of a model directory.
struct Sight {
  std::vector<RepositoryStamp> stamps;
  std::string problem;  ///< not empty: it cannot be loaded from, and why
  friend bool operator==(const Sight&, const Sight&) = default;
};
/// By model name; a model that is not there has none.
using Sights = std::map<std::string, Sight>;

struct Decision {
  std::vector<std::string> load;
  std::vector<std::string> unload;
  std::set<std::string> unsettled;     ///< changed too short a time ago; to be looked at again before long
  std::vector<std::string> disturbed;  ///< a problem came up that keeps a loaded model from being looked at
};

/// A change is followed when it has not changed further for a while, so nothing is loaded that is still being
/// copied, and nothing is unloaded that is just being exchanged. What is there at the first poll is loaded at
/// once.
class ModelWatch {
 public:
  explicit ModelWatch(int64_t settle_ns) : settle_ns_(settle_ns) {}

  /// \param retry    models whose load failed are to be loaded although nothing changed
  /// \param at_once  changes are followed that may still be going on
  Decision decide(const Sights& sights, int64_t now_ns, bool retry, bool at_once = false);
  /// How a load that decide() decided on ended.
  void loaded(const std::string& model, bool well);

 private:
  struct Model {
    std::optional<Sight> seen;   ///< at the last poll; none: it was not there
    int64_t seen_ns = 0;         ///< since when it looks so
    std::optional<Sight> tried;  ///< what was loaded, well or not
    bool served = false;
    bool failed = false;  ///< the last load
  };
  /// \returns false if nothing more is to be known of the model.
  bool decide(const std::string& name, Model& model, bool settled, bool retry, Decision* decision);

  const int64_t settle_ns_;
  bool first_ = true;
  std::map<std::string, Model> models_;
};

}  // namespace atl::control
