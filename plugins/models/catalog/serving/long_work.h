/// Tells what takes long in models: loads and unloads, which say that they begin, and executions, which are looked at from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/fault_notes.h"
#include "atoll/core/host.h"
#include "atoll/core/stop_executor.h"

namespace atl::models {

/// Looks once a second, on a thread of its own, so that a request pays nothing. An instance that is in the same execution at two looks
/// has been in it for at least the time between them. [any]
class LongWork {
 public:
  /// What an instance does at a look. \param what  as a line begins with: "model 'm' version 1, instance m_0_0"
  /// \param execution  which one it is in: another number for each; 0: in none
  using See =
      std::function<void(const void* instance, uint64_t execution, const std::function<std::string()>& what)>;
  /// Shows each instance to `see`; those that are not shown any more are forgotten.
  using Visit = std::function<void(const See& see)>;

  explicit LongWork(Host& host) : host_(host) {}
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  /// Begins to look. Without a thread (none is to be had) nothing is told.
  void start(Visit visit);
  /// Nothing is visited any more when it returns.
  void stop() { stop_executor(thread_); }
  /// What start()'s thread does each second.
  void look();
  /// Loads and unloads that run now: "loading model 'm' version 1 for 12 s (creating instance m_0_0)".
  std::vector<std::string> running() const;

  /// One load or unload, on one thread, for as long as it is in scope; a crash meanwhile is told to have been in it.
  class Task {
   public:
    /// \param work, notes  null: nobody watches; nothing is noted
    /// \param kind  "loading" \param what  "model 'm' version 1"
    Task(LongWork* work, FaultNotes* notes, std::string_view kind, std::string what);
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task();
    /// What it is at from here on: "creating instance m_0_0".
    void at(std::string step);
    /// "loading model 'm' version 1"
    const std::string& text() const { return text_; }

   private:
    friend class LongWork;
    LongWork* const work_;
    const std::string kind_, what_, text_;
    std::string step_;
    int64_t begun_ns_ = 0;
    int64_t next_ns_ = 0;
    std::list<Task*>::iterator place_;
    const FaultNote note_;
  };

 private:
  struct Seen {
    uint64_t execution = 0;
    int64_t since_ns = 0;
    int64_t next_ns = 0;
    uint64_t look = 0;
  };
  void look_again();
  void see(const void* instance, uint64_t execution, const std::function<std::string()>& what);

  Host& host_;
  mutable std::mutex mutex_;  // guards the tasks
  std::list<Task*> tasks_;
  // The rest is the thread's.
  Visit visit_;
  std::map<const void*, Seen> seen_;
  uint64_t looks_ = 0;
  int64_t now_ns_ = 0;
  std::vector<std::string> lines_;
  SerialExecutorPtr thread_;  ///< last: it has ended before the others go
};

}  // namespace atl::models
