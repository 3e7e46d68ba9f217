/// Says which call takes long while it still runs, and ends what hangs when its time is over.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "atoll/core/clock.h"

namespace atl::runtime {

/// Calls are few and rare (a step of a plugin, not a request): each takes a lock and asks the clock. [any]
class CallWatch {
 public:
  /// Told each line, with no lock held. [any]
  using Say = std::function<void(std::string_view line)>;
  /// When what runs has to have ended, on the watch's clock; 0: nobody has asked for the end. [any]
  using EndsBy = std::function<int64_t()>;
  /// Told what was still going on, with no lock held; may end the process. [any]
  using End = std::function<void(std::string_view what)>;

  CallWatch(const Clock& clock, Say say) : clock_(clock), say_(std::move(say)) {}
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
  ~CallWatch();

  /// Makes the thread that looks, named "watch". Without one (none is to be had) nothing is told.
  void start() noexcept;
  /// A call that was begun before the end's time ends everything then; one that was begun after it, a while later.
  void ends(EndsBy by, End end);
  /// What the thread does over and over while there are calls.
  void look();

  /// One call, for as long as it is in scope.
  class Call {
   public:
    /// \param watch  null: nobody watches
    /// \param what  as it follows after "still in": "start of plugin 'x' (role/name)"
    Call(CallWatch* watch, std::string what);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();

   private:
    friend class CallWatch;
    CallWatch* const watch_;
    const std::string what_;
    int64_t begun_ns_ = 0;
    int lines_ = 0;
    std::list<Call*>::iterator place_;
  };

 private:
  void run() noexcept;
  std::string still(const Call& call, int64_t now_ns) const;

  const Clock& clock_;
  const Say say_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::list<Call*> calls_;
  EndsBy ends_by_;
  End end_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace atl::runtime
