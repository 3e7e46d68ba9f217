/// What services that come, are replaced and go mean for models.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/events.h"
#include "models/catalog/serving/scheduler_choice.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// Borrows its texts.
struct ChangedService {
  std::string_view interface_id;
  std::string_view instance;
  ServiceChanged::Kind kind = ServiceChanged::Kind::kPublished;
};

/// "backend 'onnx' was removed".
std::string removal_text(const ChangedService& change);

/// What becomes of a version; the later one wins.
enum class Effect : uint32_t { kNone, kReschedule, kRebuild, kTakeDown };
struct Consequence {
  Effect effect = Effect::kNone;
  const Dependency* cause = nullptr;  ///< the version's
  std::string scheduler = {};         ///< that it gets instead; kReschedule
};

/// \param offers  the schedulers that there are now; looked at if it is one that changed
Consequence consequence_of(const ChangedService& change, const ModelParts& parts,
                           std::span<SchedulerOffer> offers);
bool may_help(const ChangedService& change, const Want& want);
/// What brings a version back that went with one of its dependencies.
Want want_of(const Dependency& gone);

/// The last change of each service. Not locked: guarded by its owner.
class ServiceChanges {
 public:
  void note(const ChangedService& change);
  /// Grows with every change.
  uint64_t last() const noexcept { return last_; }
  /// Those that are newer than last() was then. The texts are this object's.
  std::vector<ChangedService> since(uint64_t then) const;
  /// The dependency without which the version goes and that has gone; null: none. The version serves with
  /// what it holds until it is taken down.
  const Dependency* lost(const ModelParts& parts) const;

 private:
  struct Noted {
    uint64_t number = 0;
    ServiceChanged::Kind kind = ServiceChanged::Kind::kPublished;
  };
  uint64_t last_ = 0;
  std::map<std::pair<std::string, std::string>, Noted> changes_;  ///< by interface and instance
};

}  // namespace atl::models
