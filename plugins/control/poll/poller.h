/// Looks at the repository again and again, and has the catalog follow it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/core/stop_executor.h"
#include "atoll/models/model.h"
#include "atoll/models/repository.h"
#include "atoll/models/repository_poll.h"
#include "control/poll/model_watch.h"

namespace atl::control {

struct PollOptions {
  int64_t interval_ns = 15 * kNsPerSecond;  ///< from the end of one poll to the next; 0: only at start
  int64_t settle_ns = kNsPerSecond;         ///< how long a change must not have changed further
};

/// On a thread of its own. One poll at a time: the next one waits until what the last one began is loaded or
/// has failed. While it polls or waits for a load it holds a pass of the instance's gate.
class Poller final : public RepositoryPoll {
 public:
  Poller(Host& host, PollOptions options) : host_(host), options_(options), watch_(options.settle_ns) {}
  virtual ~Poller() = default;

  /// Begins with a first poll. Returns at once. The services outlive stop().
  /// Errors: RESOURCE_EXHAUSTED no thread to be had.
  Status start(ModelCatalog& catalog, Repository& repository);
  /// When the gate is empty.
  void stop() { stop_executor(executor_); }

  // --- RepositoryPoll ---
  void poll(Done done) noexcept override;

 private:
  // All of these on the executor.
  void poll();
  Status scan(bool all, Sights* sights);
  Sight scan_model(const std::string& model, bool twice);
  void report(const Decision& decision);
  void loaded(const std::vector<ModelLoadResult>& results);
  void finish(bool all, const Status& status);

  Host& host_;
  const PollOptions options_;
  ModelCatalog* catalog_ = nullptr;
  Repository* repository_ = nullptr;
  ModelWatch watch_;
  Sights sights_;                    ///< of the last poll
  std::set<std::string> unsettled_;  ///< likewise
  int64_t next_poll_ns_ = 0;         ///< before it only what is unsettled is looked at
  std::string list_failure_;         ///< logged once
  bool startup_complete_ = false;
  bool is_busy_ = false;        ///< a poll, or a load that it began
  std::vector<Done> asked_;     ///< who wait for a poll
  std::vector<Done> answered_;  ///< who wait for the end of this one
  TimerId timer_ = 0;           ///< of the next poll
  SerialExecutorPtr executor_;  // last: its tasks use all of the above
};

}  // namespace atl::control
