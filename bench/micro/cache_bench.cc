/// What the local response cache costs and saves, in this process: nanoseconds a request of a model that costs nothing,
/// without the cache, answered from it, and looked up in vain and kept.
///
///     cache_bench [REQUESTS] [REPETITIONS]
///
/// The catalog, the default scheduler and the cache are the real ones. "hit" minus "without" is what a hit adds to a
/// request whose model is free; "miss" minus "without", what looking for the answer and keeping it costs. Medians of the
/// repetitions with their spread; the kinds take turns.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "caches/local/local_cache.h"
#include "served_models.h"

namespace atl::bench {
namespace {

enum Kind { kWithout, kHit, kMiss, kKinds };
constexpr const char* kNames[] = {"without", "hit", "miss"};

class Cached {
 public:
  Cached() : cache_(served.host(), {uint64_t{64} << 20, 0}) {
    if (!cache_.start().ok()) fail("the cache does not start");
    served.host().registry().publish<ResponseCache>("cache", cache_);
    served.start();
    served.load("without", model_config("backend: \"free\""));
    served.load("cached", model_config("backend: \"free\" response_cache { enable: true }"));
  }
  ~Cached() { served.stop(); }

  ServedModels served;

 private:
  caches::LocalCache cache_;
};

double measure(ServedModels& served, Kind kind, size_t bytes, int requests) {
  static uint64_t asked = 0;
  ModelRef model = served.acquire(kind == kWithout ? "without" : "cached");
  Client client(bytes);
  const auto next = [&] {
    if (kind == kMiss) std::memcpy(client.input().data(), &++asked, sizeof asked);
  };
  for (int i = 0; i < 200; ++i) {
    next();
    if (!client.infer(*model.get())) served.run_ready();
  }
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < requests; ++i) {
    next();
    if (!client.infer(*model.get())) fail("a request went to another thread");
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begun;
  return took.count() / requests;
}

int run(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 7;
  Cached cached;
  std::printf("%-28s%s\n", "", "ns a request (spread)");
  for (size_t bytes : {size_t{64}, size_t{4096}, size_t{65536}}) {
    std::vector<double> ns[kKinds];
    for (int i = 0; i < repetitions; ++i) {
      for (int kind = 0; kind < kKinds; ++kind)
        ns[kind].push_back(measure(cached.served, static_cast<Kind>(kind), bytes, requests));
    }
    for (int kind = 0; kind < kKinds; ++kind) {
      std::sort(ns[kind].begin(), ns[kind].end());
      std::printf("%-10s of %8zu B    %8.0f (%.0f to %.0f)\n", kNames[kind], bytes,
                  ns[kind][ns[kind].size() / 2], ns[kind].front(), ns[kind].back());
    }
  }
  return 0;
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) { return atl::bench::run(argc, argv); }
