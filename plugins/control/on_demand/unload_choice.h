/// Which models are to make room: a pure function, and what it says about its choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atl::control {

/// A loaded model.
struct LoadedModel {
  std::string name;
  int64_t idle_ns = 0;  ///< since it was last seen at work, or loaded
  uint64_t bytes = 0;   ///< estimated
  bool pinned = false;
};

struct UnloadChoice {
  std::string name;
  std::string reason;  ///< one line for the log: why this one, and which others were considered
};

/// Those that nobody asked for longer than `unload_after_ns`, the longest idle first; none if that is 0.
std::vector<UnloadChoice> choose_idle(std::vector<LoadedModel> models, int64_t unload_after_ns);

/// The least recently used ones, as many as it takes so that what stays and `needed_bytes` more are within
/// the budget; none if that is 0. \param newcomer  what the room is for: never chosen, it may be loaded or
/// not
std::vector<UnloadChoice> choose_for_room(std::vector<LoadedModel> models, uint64_t budget_bytes,
                                          uint64_t needed_bytes, const std::string& newcomer);

}  // namespace atl::control
