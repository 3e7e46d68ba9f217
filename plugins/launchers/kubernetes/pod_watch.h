/// The pods of a keeper, as its cluster knows them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/status.h"
#include "launchers/kubernetes/cluster_calls.h"

namespace atl::launchers {

/// Whoever wants to know. On the executor. None of the functions may destroy the watch.
class PodWatchListener {
 public:
  virtual void pod_changed(const PodView& pod) = 0;
  /// It was there, and is not any more.
  virtual void pod_gone(const std::string& name) = 0;
  /// Everything that was there when the list of that number began was told.
  virtual void pods_listed(uint64_t number) = 0;
  /// Whether the cluster answers, by a call or an event.
  virtual void cluster_answered(const Status& status) = 0;

 protected:
  ~PodWatchListener() = default;
};

/// Lists the pods, then watches them from there on. Where the cluster cannot tell what has changed, it lists them anew, and tells
/// the difference. All functions are called on one executor.
class PodWatch {
 public:
  /// \param pods_path  of the namespace's pods \param query  that selects those of the keeper
  PodWatch(std::string pods_path, std::string query, ClusterCalls& calls, PodWatchListener& listener,
           Clock& clock)
      : pods_path_(std::move(pods_path)),
        query_(std::move(query)),
        calls_(calls),
        listener_(listener),
        clock_(clock) {}
  PodWatch(const PodWatch&) = delete;
  PodWatch& operator=(const PodWatch&) = delete;

  void start(SerialExecutor& executor) noexcept { executor_ = &executor; }
  /// The number of a list that begins from now on. It is asked for with others that are wanted at the same time.
  uint64_t want_list();
  /// A list that begins now, or later, has at least that number.
  uint64_t next_number() const noexcept { return number_ + 1; }
  /// Null: it knows of none.
  const PodView* find(std::string_view name) const;

 private:
  enum class Step { kIdle, kSoon, kListing, kWatching };

  void begin_list();
  void list_page(const std::string& continues);
  void listed_page(Result<HttpAnswer> answer);
  void listed();
  void begin_watch();
  void watched(WatchEvent event);
  void watch_ended(Result<HttpAnswer> answer);
  void again(bool lists, int64_t asked_ns);
  void at(int64_t time_ns, void (PodWatch::*then)());

  const std::string pods_path_, query_;
  ClusterCalls& calls_;
  PodWatchListener& listener_;
  Clock& clock_;
  SerialExecutor* executor_ = nullptr;
  Step step_ = Step::kIdle;
  TimerId timer_ = 0;
  uint64_t number_ = 0;  ///< of the newest list that has begun
  bool lists_again_ = false;
  uint32_t failures_ = 0;
  int64_t watch_begun_ns_ = 0;
  std::string version_;  ///< from which the next watch goes on
  std::map<std::string, PodView, std::less<>> pods_,
      found_;  ///< as they are known; and as the list has them so far
};

}  // namespace atl::launchers
