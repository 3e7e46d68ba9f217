#include "models/catalog/states/version_state.h"

namespace atl::models {
namespace {

using enum VersionState;

constexpr std::string_view kNames[] = {"unknown",   "loading",  "retrying", "ready",
                                       "unloading", "unloaded", "failed"};

}  // namespace

std::string_view version_state_name(VersionState state) noexcept {
  return kNames[static_cast<uint32_t>(state)];
}

ModelState to_model_state(VersionState state) noexcept {
  switch (state) {
    case kUnknown:
      break;
    case kLoading:
    case kRetrying:
      return ModelState::kLoading;
    case kReady:
      return ModelState::kReady;
    case kUnloading:
      return ModelState::kUnloading;
    case kUnloaded:
    case kFailed:
      return ModelState::kUnavailable;
  }
  return ModelState::kUnknown;
}

bool may_follow(VersionState from, VersionState to) noexcept {
  switch (to) {
    case kUnknown:
      return false;
    case kLoading:
      return from == kUnknown || from == kUnloading || from == kUnloaded;
    case kRetrying:
      return from == kFailed;
    case kReady:
      return from == kLoading || from == kRetrying;
    case kUnloading:
      return from == kReady;
    case kUnloaded:
    case kFailed:
      return from != kUnknown && from != kReady;
  }
  return false;
}

}  // namespace atl::models
