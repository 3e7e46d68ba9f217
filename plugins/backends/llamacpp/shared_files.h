/// GGUF files that are in memory, found by those who want the same ones: a model and its adapters have one copy of the weights.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backends/llamacpp/engine/llama_model_file.h"
#include "backends/llamacpp/probe/file_trials.h"

namespace atl::llamacpp {

/// Keeps nothing alive. [any]
class SharedFiles {
 public:
  /// The file if somebody has it, as it is on the disk now; else it is loaded, by one of those who ask at a time.
  /// Errors: those of LlamaModelFile::load() and GgufIdentity::of().
  Result<std::shared_ptr<LlamaModelFile>> get(const LlamaApi& api, const std::string& path, bool maps_file) {
    Result<GgufIdentity> identity = GgufIdentity::of(path);
    if (!identity.ok()) return std::move(identity).status();
    const std::shared_ptr<Place> place = place_of({*identity, maps_file});
    std::lock_guard lock(place->loading);
    if (std::shared_ptr<LlamaModelFile> there = place->file.lock()) return there;
    auto loaded = LlamaModelFile::load(api, path, {.checks_weights = false, .maps_file = maps_file});
    if (!loaded.ok()) return std::move(loaded).status();
    std::shared_ptr<LlamaModelFile> file = std::move(loaded).value();
    place->file = file;
    return file;
  }

 private:
  struct Place {
    std::mutex loading;  ///< guards the following
    std::weak_ptr<LlamaModelFile> file;
  };
  using Key = std::pair<GgufIdentity, bool>;

  std::shared_ptr<Place> place_of(const Key& key) {
    std::lock_guard lock(mutex_);
    // Nobody is at such a place, and nobody comes to one without the lock.
    std::erase_if(places_,
                  [](const auto& one) { return one.second.use_count() == 1 && one.second->file.expired(); });
    std::shared_ptr<Place>& place = places_[key];
    if (place == nullptr) place = std::make_shared<Place>();
    return place;
  }

  std::mutex mutex_;  ///< guards the following
  std::map<Key, std::shared_ptr<Place>> places_;
};

}  // namespace atl::llamacpp
