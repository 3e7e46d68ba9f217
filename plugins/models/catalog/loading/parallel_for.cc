#include "models/catalog/loading/parallel_for.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace atl::models {
namespace {

constexpr size_t kWorkersMax = 7;  // the pool bounds it further

/// Outlives the call: a worker may start when everything is done.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void(size_t)>* step = nullptr;
  size_t count = 0;
  size_t next = 0;
  size_t ended = 0;

  void work() {
    std::unique_lock lock(mutex);
    while (next < count) {
      size_t index = next++;
      lock.unlock();
      (*step)(index);
      lock.lock();
      if (++ended == count) changed.notify_all();
    }
  }
};

}  // namespace

void parallel_for(WorkerPool& workers, Gate& gate, size_t count, const std::function<void(size_t)>& step) {
  auto shared = std::make_shared<Shared>();
  shared->step = &step;
  shared->count = count;
  for (size_t i = 1; i < std::min(count, kWorkersMax + 1); ++i) {
    auto pass = std::make_shared<Pass>(gate);
    if (!*pass) break;
    workers.run(make_task([shared, pass] { shared->work(); }));
  }
  shared->work();
  std::unique_lock lock(shared->mutex);
  shared->changed.wait(lock, [&] { return shared->ended == shared->count; });
}

}  // namespace atl::models
