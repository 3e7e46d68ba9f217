/// The parts of the request path, each alone, on google-benchmark: time, and allocations a request (calls of
/// the allocator, counted). `--benchmark_filter`, `--benchmark_repetitions` and the others are that
/// library's.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "frontends/common/codec/v2_infer_request.h"
#include "request_path.h"

namespace {

/// Of this thread. Of trivial type, as it is used by the allocator itself.
thread_local uint64_t allocations = 0;

void* counted(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace atl::bench {
namespace {

/// The allocations between two points, as a counter of the benchmark.
class Allocations {
 public:
  explicit Allocations(benchmark::State& state) : state_(state), before_(allocations) {}
  ~Allocations() {
    state_.counters["allocations"] =
        benchmark::Counter(static_cast<double>(allocations - before_), benchmark::Counter::kAvgIterations);
  }

 private:
  benchmark::State& state_;
  uint64_t before_;
};

ServedIdentity& served() {
  static ServedIdentity instance;
  return instance;
}

void parse(benchmark::State& state) {
  const std::string message = grpc_message();
  const frontends::ByteSpan slice(reinterpret_cast<const uint8_t*>(message.data()), message.size());
  frontends::V2InferRequest reader;
  frontends::RegionUses regions;
  Request request;
  Allocations counter(state);
  for (auto _ : state) {
    Status status = reader.parse({&slice, 1}, request.arena());
    if (status.ok()) status = reader.fill(request, regions);
    if (!status.ok()) state.SkipWithError("the message is refused");
    reader.reset();
    request.reset();
  }
}
BENCHMARK(parse)->Name("parse a ModelInferRequest");

void find(benchmark::State& state) {
  ModelCatalog& catalog = served().catalog();
  Allocations counter(state);
  for (auto _ : state) {
    Result<ModelRef> found = catalog.acquire(ServedIdentity::kModel, -1);
    if (!found.ok()) state.SkipWithError("the model is not served");
  }
}
BENCHMARK(find)->Name("find a model and let it go")->Threads(1)->Threads(2)->UseRealTime();

void whole(benchmark::State& state, std::unique_ptr<Path> (*make)(ServedIdentity&)) {
  std::unique_ptr<Path> path = make(served());
  path->warm_up(served());
  Allocations counter(state);
  for (auto _ : state) {
    if (path->run() == 0) state.SkipWithError("the request is refused");
  }
}
BENCHMARK_CAPTURE(whole, grpc, grpc_path)->Name("parse to respond, gRPC");
BENCHMARK_CAPTURE(whole, http, http_binary_path)->Name("parse to respond, HTTP binary");
BENCHMARK_CAPTURE(whole, json, http_json_path)->Name("parse to respond, HTTP JSON");

}  // namespace
}  // namespace atl::bench

BENCHMARK_MAIN();
