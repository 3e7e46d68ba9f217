// One caller of the server inside its own process, through the C API with allocator and callbacks: the identity model, 16 bytes.
//     in_process_bench [PATH/libtritonserver.so [BACKEND_DIRECTORY BACKEND]]
// Prints quantiles of the time from the call until the request is answered and released, and the allocations of all that, three
// times. Budget: 2.5 us at the median, no allocation. With a directory of backends the model is run by one of them, through another
// library that has the same functions, too.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "one_caller.h"
#include "triton/core/tritonserver.h"

namespace {

void* library = nullptr;
constexpr char kInput[16] = {'w', 'h', 'a', 't', ' ', 'i', 's', ' ', 's', 'e', 'n', 't'};
char output[sizeof kInput];
// Of the request that is under way: its release, and its final response.
std::atomic<int> parts{0};

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
void add_part() {
  parts.fetch_add(1, std::memory_order_release);
  parts.notify_one();
}
// Not without end on the processor: a server whose other thread answers may want it.
void wait_for_parts() {
  for (int seen; (seen = parts.load(std::memory_order_acquire)) != 2;) {
    parts.wait(seen, std::memory_order_acquire);
  }
}
void released(TRITONSERVER_InferenceRequest*, const uint32_t, void*) { add_part(); }
void completed(TRITONSERVER_InferenceResponse* response, const uint32_t, void*) {
  static auto* remove =
      function<decltype(TRITONSERVER_InferenceResponseDelete)>("TRITONSERVER_InferenceResponseDelete");
  check(remove(response));
  add_part();
}

TRITONSERVER_Server* make_server(const std::filesystem::path& models, const char* backends) {
  TRITONSERVER_ServerOptions* options = nullptr;
  TRITONSERVER_Server* server = nullptr;
  CALL(TRITONSERVER_ServerOptionsNew, &options);
  CALL(TRITONSERVER_ServerOptionsSetModelRepositoryPath, options, models.c_str());
  CALL(TRITONSERVER_ServerOptionsSetModelControlMode, options, TRITONSERVER_MODEL_CONTROL_NONE);
  CALL(TRITONSERVER_ServerOptionsSetLogInfo, options, false);
  if (backends != nullptr) CALL(TRITONSERVER_ServerOptionsSetBackendDirectory, options, backends);
  CALL(TRITONSERVER_ServerNew, &server, options);
  CALL(TRITONSERVER_ServerOptionsDelete, options);
  return server;
}

TRITONSERVER_InferenceRequest* make_request(TRITONSERVER_Server* server,
                                            TRITONSERVER_ResponseAllocator* allocator) {
  const int64_t shape[] = {sizeof kInput};
  TRITONSERVER_InferenceRequest* request = nullptr;
  CALL(TRITONSERVER_InferenceRequestNew, &request, server, "m", -1);
  CALL(TRITONSERVER_InferenceRequestAddInput, request, "INPUT0", TRITONSERVER_TYPE_UINT8, shape, 1);
  CALL(TRITONSERVER_InferenceRequestAppendInputData, request, "INPUT0", kInput, sizeof kInput,
       TRITONSERVER_MEMORY_CPU, 0);
  CALL(TRITONSERVER_InferenceRequestSetReleaseCallback, request, released, nullptr);
  CALL(TRITONSERVER_InferenceRequestSetResponseCallback, request, allocator, nullptr, completed, nullptr);
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  // Seen by backends that were linked with no library, as that of a program that is linked with it.
  library = ::dlopen(argc > 1 ? argv[1] : ATOLL_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  const bool is_foreign = argc > 3;
  const atl::bench::IdentityRepository models(is_foreign ? argv[3] : "identity");
  TRITONSERVER_Server* server = make_server(models.path, is_foreign ? argv[2] : nullptr);
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  CALL(TRITONSERVER_ResponseAllocatorNew, &allocator, allocate, give_back, nullptr);
  TRITONSERVER_InferenceRequest* request = make_request(server, allocator);
  auto* infer = function<decltype(TRITONSERVER_ServerInferAsync)>("TRITONSERVER_ServerInferAsync");
  if (atl::bench::allocations() == 0) std::printf("allocations are not counted\n");
  for (int round = 0; round < 3; ++round) {
    atl::bench::measure([&] {
      parts.store(0, std::memory_order_relaxed);
      check(infer(server, request, nullptr));
      wait_for_parts();
    });
    if (std::memcmp(output, kInput, sizeof output) != 0) std::printf("the answer is not what was sent\n");
  }
  CALL(TRITONSERVER_InferenceRequestDelete, request);
  CALL(TRITONSERVER_ResponseAllocatorDelete, allocator);
  CALL(TRITONSERVER_ServerDelete, server);
}
