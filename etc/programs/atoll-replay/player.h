/// Sends the requests of a recording at their times, and looks at what becomes of them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorded_traffic.h"
#include "replay_options.h"
#include "sender.h"
#include "summary.h"

namespace atl::replay {

/// Open loop: when a request goes out depends on the recording alone and not on answers, but that a sequence's next request
/// waits for the answer to the one before, and that there is a bound on how many are under way.
class Player {
 public:
  /// \param traffic, sender, interrupted  outlive this
  /// \param tell  gets a line for each of the first failures and differences; called one at a time
  Player(const RecordedTraffic& traffic, Sender& sender, const ReplayOptions& options,
         const std::atomic<bool>& interrupted, std::function<void(const std::string&)> tell)
      : traffic_(traffic),
        sender_(sender),
        options_(options),
        interrupted_(interrupted),
        tell_(std::move(tell)) {}
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Returns when all is answered, or soon after it was interrupted; the sender has been stopped then.
  Summary play();

 private:
  using Time = std::chrono::steady_clock::time_point;

  /// The requests of a sequence whose time has come, behind one that is under way.
  struct Chain {
    bool is_busy = false;
    std::deque<const RecordedCall*> waiting;
  };

  bool is_chained(const RecordedCall& call) const noexcept {
    return !call.sequence.empty() && !(call.stream != 0 && sender_.keeps_streams());
  }
  void start(const RecordedCall& call);
  void send(const RecordedCall& call);
  /// [sender]
  void on_outcome(const RecordedCall& call, const recording::v1::Request& request, Time sent,
                  Outcome outcome);
  void count(const RecordedCall& call, const recording::v1::Request& request, int64_t latency_ns,
             const Outcome& outcome);
  void compare(const RecordedCall& call, const recording::v1::Request& request, const Outcome& outcome);
  void say(const RecordedCall& call, const std::string& what);
  /// Sends those whose predecessor has been answered.
  void send_ready(std::unique_lock<std::mutex>& lock);
  /// Waits until the time, or for room. \returns false: interrupted
  bool wait_until(Time due);
  bool wait_for_fewer_than(int64_t in_flight);

  const RecordedTraffic& traffic_;
  Sender& sender_;
  const ReplayOptions& options_;
  const std::atomic<bool>& interrupted_;
  const std::function<void(const std::string&)> tell_;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::unordered_map<std::string, Chain> chains_;
  std::deque<const RecordedCall*> ready_;  ///< their predecessors in their chains have been answered
  int64_t in_flight_ = 0;
  uint64_t told_ = 0;
  Summary summary_;
};

}  // namespace atl::replay
