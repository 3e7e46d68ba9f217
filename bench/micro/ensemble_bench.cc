/// What an ensemble adds to its members, in this process: nanoseconds, allocations and bytes copied a request, of one
/// model, and of chains of one to eight steps of it, with tensors of 64 B and of 1 MB.
///
///     ensemble_bench [REQUESTS] [REPETITIONS]
///
/// The catalog, the default scheduler and the ensemble scheduler are the real ones; the model writes nothing, so what
/// is copied is copied by the server. Bytes are those of calls of memcpy and memmove with at least the tensor's
/// size; allocations are calls of the allocator. Times are medians of the repetitions with their spread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "schedulers/ensemble/ensemble_provider.h"
#include "served_models.h"

namespace {

// Of this process, which has one thread while it is measured.
uint64_t allocations = 0, copied_bytes = 0, least_bytes = UINT64_MAX;

}  // namespace

extern "C" {
void* __real_malloc(size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __real_memmove(void* to, const void* from, size_t bytes);
void* __wrap_malloc(size_t bytes) {
  ++allocations;
  return __real_malloc(bytes);
}
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __real_aligned_alloc(alignment, bytes);
}
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  if (bytes >= least_bytes) copied_bytes += bytes;
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  if (bytes >= least_bytes) copied_bytes += bytes;
  return __real_memmove(to, from, bytes);
}
}

// Not inline, or the compiler takes malloc's memory for given back by delete.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace atl::bench {
namespace {

constexpr int kStepsMax = 8;

std::string chain_config(int steps) {
  std::string text = model_config("platform: \"ensemble\"") + "ensemble_scheduling { ";
  for (int i = 0; i < steps; ++i) {
    const std::string from = i == 0 ? "INPUT0" : cat("t", i),
                      to = i == steps - 1 ? "OUTPUT0" : cat("t", i + 1);
    text += "step { model_name: \"member\" model_version: -1 input_map { key: \"INPUT0\" value: \"" + from +
            "\" } output_map { key: \"OUTPUT0\" value: \"" + to + "\" } } ";
  }
  return text + "}";
}

/// With ensembles of one step and more of one model.
class Chains {
 public:
  Chains() {
    served.host().registry().publish<SchedulerProvider>("ensemble", ensembles_);
    served.start();
    served.load("member", model_config("backend: \"free\""));
    for (int i = 1; i <= kStepsMax; ++i) served.load(cat("chain", i), chain_config(i));
  }

 private:
  ensemble::EnsembleSettings settings() {
    ensemble::EnsembleSettings settings;
    settings.tensor_memory_bytes = uint64_t{1} << 30;
    settings.pool = &pool_;
    settings.memory = &memory_;
    return settings;
  }
  ensemble::BlockPool pool_{uint64_t{64} << 20};
  schedulers::StateMemory memory_;
  ensemble::EnsembleProvider ensembles_{settings()};

 public:
  ServedModels served;  // ends first
};

struct Cost {
  double ns = 0, allocations = 0, copied_bytes = 0;
};

Cost measure(ServedModels& served, const std::string& name, size_t bytes, int requests) {
  ModelRef model = served.acquire(name);
  Client client(bytes);
  for (int i = 0; i < 200; ++i) {
    if (!client.infer(*model.get())) served.run_ready();
  }
  least_bytes = bytes;
  const uint64_t allocations_before = allocations, copied_before = copied_bytes;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < requests; ++i) {
    if (!client.infer(*model.get())) fail("a request went to another thread");
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begun;
  least_bytes = UINT64_MAX;
  return {took.count() / requests, static_cast<double>(allocations - allocations_before) / requests,
          static_cast<double>(copied_bytes - copied_before) / requests};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 7;
  Chains chains;
  std::printf("%-28s%26s%14s%16s\n", "", "ns a request (spread)", "allocations", "bytes copied");
  for (size_t bytes : {size_t{64}, size_t{1} << 20}) {
    std::vector<double> one, eight;
    for (int steps = 0; steps <= kStepsMax; steps = steps == 3 ? kStepsMax : steps + 1) {
      const std::string name = steps == 0 ? "member" : cat("chain", steps);
      std::vector<double> ns;
      Cost cost;
      for (int i = 0; i < repetitions; ++i) {
        cost = measure(chains.served, name, bytes, requests);
        ns.push_back(cost.ns);
      }
      if (steps == 1) one = ns;
      if (steps == kStepsMax) eight = ns;
      const auto [least, most] = std::minmax_element(ns.begin(), ns.end());
      std::printf("%-10s of %8zu B    %8.0f (%.0f to %.0f)%14.2f%16.0f\n", name.c_str(), bytes, median(ns),
                  *least, *most, cost.allocations, cost.copied_bytes);
    }
    std::vector<double> step;
    for (size_t i = 0; i < one.size(); ++i) step.push_back((eight[i] - one[i]) / (kStepsMax - 1));
    const auto [least, most] = std::minmax_element(step.begin(), step.end());
    std::printf("a further step of %8zu B, its member within: %.0f ns (%.0f to %.0f)\n", bytes, median(step),
                *least, *most);
  }
  return 0;
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) { return atl::bench::run(argc, argv); }
