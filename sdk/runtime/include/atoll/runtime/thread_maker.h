/// Threads that take nothing over from the thread that asks for them.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace atl::runtime {

/// Makes threads from a thread of its own. A new thread inherits the nice value, the CPUs and the memory node
/// of the one that makes it, and without a privilege no thread can lower its nice value again: an executor
/// that a niced worker makes would answer requests at the worker's priority. [any]
class ThreadMaker {
 public:
  /// Throws as make().
  ThreadMaker();
  /// Not while make() runs.
  ~ThreadMaker();
  ThreadMaker(const ThreadMaker&) = delete;
  ThreadMaker& operator=(const ThreadMaker&) = delete;

  /// Throws std::system_error, as the constructor of std::thread does, or std::bad_alloc.
  std::thread make(std::function<void()> function);

  /// Runs the step on the maker's thread, soon; again some milliseconds later as often as it returns false.
  /// It must be brief, and every false one must come to an end. Throws std::bad_alloc; then the step does not run.
  void run(std::function<bool()> step);

 private:
  void serve();

  std::mutex mutex_;  // guards steps_ and ending_
  std::condition_variable changed_;
  std::list<std::function<bool()>> steps_;
  bool ending_ = false;
  std::thread thread_;
};

/// The process's own, made at the first call: by a thread at the process's priority that may run everywhere.
ThreadMaker& thread_maker();

}  // namespace atl::runtime
