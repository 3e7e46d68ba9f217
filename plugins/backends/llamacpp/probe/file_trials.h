/// Trying files in a program of their own before the server loads them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "atoll/core/status.h"
#include "backends/llamacpp/engine/gguf_facts.h"

namespace atl::llamacpp {

/// A file as it is now: one that was written anew is another one.
struct GgufIdentity {
  uint64_t device = 0, inode = 0, size_bytes = 0;
  int64_t modified_ns = 0;

  auto operator<=>(const GgufIdentity&) const = default;
  /// Errors: NOT_FOUND, INVALID_ARGUMENT with the path and the reason.
  static Result<GgufIdentity> of(const std::string& path);
};

struct TrialSettings {
  std::string program;  ///< atoll-llamacpp-probe
  std::string engine_folder;
  int64_t timeout_ns = 0;     ///< also of CPU time
  uint64_t memory_bytes = 0;  ///< of addresses, beside three times the file's size
};

/// What is tried: a model's file, and one of an adapter to go with it.
struct TriedFiles {
  std::string model;
  std::string adapter;  ///< empty: none

  /// What a failure is about.
  const std::string& subject() const noexcept { return adapter.empty() ? model : adapter; }
};

/// Runs the program on the files. Blocks until it has ended, or the time is over, when it is killed.
/// Errors: INVALID_ARGUMENT how it ended, with the last line that it wrote; UNAVAILABLE it could not be started.
Result<GgufFacts> run_trial(const TrialSettings& settings, const TriedFiles& files, uint64_t file_bytes);

/// Files that passed are remembered as long as the object lives. [any]
class FileTrials {
 public:
  /// Tries the files, unless they have passed already. \returns what the model's file says
  /// Errors: those of run_trial() and GgufIdentity::of().
  Result<GgufFacts> facts_of(const TrialSettings& settings, const TriedFiles& files);

 private:
  /// Of the model's file, and of the adapter's.
  using Identities = std::pair<GgufIdentity, GgufIdentity>;
  static Result<Identities> identities_of(const TriedFiles& files);

  static constexpr size_t kRememberedMax = 1024;

  std::mutex mutex_;  ///< guards the following
  std::map<Identities, GgufFacts> passed_;
};

}  // namespace atl::llamacpp
