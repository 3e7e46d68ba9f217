/// An event loop on a clock that the test moves.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "atoll/testing/fake_host.h"
#include "backends/python/worker_loop.h"

namespace atl::python {

/// The host's workers run when the test says so.
class SteppedLoop {
 public:
  SteppedLoop() : loop(host.clock()) { (void)loop.start(threads_).ok(); }

  /// What has happened so far is dealt with when it returns.
  void settle() {
    // The loop looks at descriptors before it runs what is posted, and at what is due after it: in the second turn both are done.
    for (int turn = 0; turn < 2; ++turn) loop.call([] {});
  }
  void advance(int64_t by_ns) {
    host.fake_clock().advance(by_ns);
    settle();
  }

  test::FakeHost host;

 private:
  test::ThreadExecutors threads_;

 public:
  WorkerLoop loop;
};

inline void save(const std::filesystem::path& file, const std::string& text = "x = 1\n") {
  std::ofstream(file) << text;
}

}  // namespace atl::python
