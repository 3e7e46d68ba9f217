// One caller of the server inside its own process, through the C API with allocator and callbacks: the identity model, 16 bytes.
//     in_process_bench [PATH/libtritonserver.so]
// Prints quantiles of the time from the call to its final response, and the allocations of all that. Budget: 2.5 us at the
// median, no allocation.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "triton/core/tritonserver.h"

// Every allocation of the process comes by here: the program's names go before those of the libraries.
extern "C" void* __libc_malloc(size_t size);
static std::atomic<uint64_t> allocations{0};
extern "C" void* malloc(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

namespace {

constexpr int kWarmUp = 10'000;
constexpr int kRequests = 200'000;
constexpr const char* kConfig =
    "backend: \"identity\"\n"
    "input { name: \"INPUT0\" data_type: TYPE_UINT8 dims: 16 }\n"
    "output { name: \"OUTPUT0\" data_type: TYPE_UINT8 dims: 16 }\n"
    "instance_group { kind: KIND_CPU }\n";

void* library = nullptr;
char output[16];
std::atomic<bool> done{false};

template <class Function>
Function* function(const char* name) {
  void* symbol = ::dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(1);
  }
  return reinterpret_cast<Function*>(symbol);
}
#define CALL(name, ...) check(function<decltype(name)>(#name)(__VA_ARGS__))

void check(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n",
               function<decltype(TRITONSERVER_ErrorMessage)>("TRITONSERVER_ErrorMessage")(error));
  std::exit(1);
}

TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator*, const char*, size_t, TRITONSERVER_MemoryType,
                             int64_t, void*, void** buffer, void**, TRITONSERVER_MemoryType* type,
                             int64_t* id) {
  *buffer = output;
  *type = TRITONSERVER_MEMORY_CPU;
  *id = 0;
  return nullptr;
}
TRITONSERVER_Error* give_back(TRITONSERVER_ResponseAllocator*, void*, void*, size_t, TRITONSERVER_MemoryType,
                              int64_t) {
  return nullptr;
}
void released(TRITONSERVER_InferenceRequest*, const uint32_t, void*) {}
void completed(TRITONSERVER_InferenceResponse* response, const uint32_t, void*) {
  static auto* remove =
      function<decltype(TRITONSERVER_InferenceResponseDelete)>("TRITONSERVER_InferenceResponseDelete");
  check(remove(response));
  done.store(true, std::memory_order_release);
}

TRITONSERVER_Server* make_server(const std::filesystem::path& models) {
  TRITONSERVER_ServerOptions* options = nullptr;
  TRITONSERVER_Server* server = nullptr;
  CALL(TRITONSERVER_ServerOptionsNew, &options);
  CALL(TRITONSERVER_ServerOptionsSetModelRepositoryPath, options, models.c_str());
  CALL(TRITONSERVER_ServerOptionsSetModelControlMode, options, TRITONSERVER_MODEL_CONTROL_NONE);
  CALL(TRITONSERVER_ServerOptionsSetLogInfo, options, false);
  CALL(TRITONSERVER_ServerNew, &server, options);
  CALL(TRITONSERVER_ServerOptionsDelete, options);
  return server;
}

TRITONSERVER_InferenceRequest* make_request(TRITONSERVER_Server* server,
                                            TRITONSERVER_ResponseAllocator* allocator) {
  static const char input[16] = {};
  const int64_t shape[] = {sizeof input};
  TRITONSERVER_InferenceRequest* request = nullptr;
  CALL(TRITONSERVER_InferenceRequestNew, &request, server, "m", -1);
  CALL(TRITONSERVER_InferenceRequestAddInput, request, "INPUT0", TRITONSERVER_TYPE_UINT8, shape, 1);
  CALL(TRITONSERVER_InferenceRequestAppendInputData, request, "INPUT0", input, sizeof input,
       TRITONSERVER_MEMORY_CPU, 0);
  CALL(TRITONSERVER_InferenceRequestSetReleaseCallback, request, released, nullptr);
  CALL(TRITONSERVER_InferenceRequestSetResponseCallback, request, allocator, nullptr, completed, nullptr);
  return request;
}

void measure(TRITONSERVER_Server* server, TRITONSERVER_InferenceRequest* request) {
  using Clock = std::chrono::steady_clock;
  auto* infer = function<decltype(TRITONSERVER_ServerInferAsync)>("TRITONSERVER_ServerInferAsync");
  std::vector<double> times_us(kRequests);
  uint64_t before = 0;
  for (int i = -kWarmUp; i < kRequests; ++i) {
    if (i == 0) before = allocations.load();
    done.store(false, std::memory_order_relaxed);
    const auto begun = Clock::now();
    check(infer(server, request, nullptr));
    while (!done.load(std::memory_order_acquire)) {
    }
    if (i >= 0) times_us[i] = std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
  }
  const uint64_t made = allocations.load() - before;
  std::sort(times_us.begin(), times_us.end());
  std::printf("p10 %.2f us, p50 %.2f us, p90 %.2f us, p99 %.2f us; %llu allocations in %d requests\n",
              times_us[kRequests / 10], times_us[kRequests / 2], times_us[kRequests * 9 / 10],
              times_us[kRequests * 99 / 100], static_cast<unsigned long long>(made), kRequests);
}

}  // namespace

int main(int argc, char** argv) {
  library = ::dlopen(argc > 1 ? argv[1] : ATOLL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  char pattern[] = "/tmp/in_process_bench_XXXXXX";
  const std::filesystem::path models = ::mkdtemp(pattern);
  std::filesystem::create_directories(models / "m/1");
  std::ofstream(models / "m/config.pbtxt") << kConfig;
  TRITONSERVER_Server* server = make_server(models);
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  CALL(TRITONSERVER_ResponseAllocatorNew, &allocator, allocate, give_back, nullptr);
  TRITONSERVER_InferenceRequest* request = make_request(server, allocator);
  if (allocations.load() == 0) std::printf("allocations are not counted\n");
  for (int round = 0; round < 3; ++round) measure(server, request);
  CALL(TRITONSERVER_InferenceRequestDelete, request);
  CALL(TRITONSERVER_ResponseAllocatorDelete, allocator);
  CALL(TRITONSERVER_ServerDelete, server);
  std::filesystem::remove_all(models);
}
