/// Backends, what they say of themselves, and their memory.
#include "atoll/triton/backend.h"

#include <cstdlib>
#include <limits>

#include "testing/executed_request.h"

namespace atl::triton {
namespace {

std::string json_of(TRITONSERVER_Message* message) {
  const char* base = nullptr;
  size_t size = 0;
  EXPECT_DONE(TRITONSERVER_MessageSerializeToJson(message, &base, &size));
  return {base, size};
}

TEST(CBackend, TellsWhatItIs) {
  TRITONBACKEND_Backend backend;
  backend.name = "identity";
  backend.directory = "/backends/identity";
  const char* text = nullptr;
  EXPECT_DONE(TRITONBACKEND_BackendName(&backend, &text));
  EXPECT_STREQ(text, "identity");
  auto type = static_cast<TRITONBACKEND_ArtifactType>(7);
  EXPECT_DONE(TRITONBACKEND_BackendArtifacts(&backend, &type, &text));
  EXPECT_EQ(type, TRITONBACKEND_ARTIFACT_FILESYSTEM);
  EXPECT_STREQ(text, "/backends/identity");
  TRITONBACKEND_MemoryManager* manager = nullptr;
  EXPECT_DONE(TRITONBACKEND_BackendMemoryManager(&backend, &manager));
  EXPECT_EQ(manager, &backend.memory);
  void* state = &backend;
  EXPECT_DONE(TRITONBACKEND_BackendState(&backend, &state));
  EXPECT_EQ(state, nullptr);
  EXPECT_DONE(TRITONBACKEND_BackendSetState(&backend, &backend));
  EXPECT_DONE(TRITONBACKEND_BackendState(&backend, &state));
  EXPECT_EQ(state, &backend);
}

TEST(CBackend, ItsConfigurationIsBorrowed) {
  TRITONBACKEND_Backend backend;
  backend.config_json = R"({"cmdline":{}})";
  TRITONSERVER_Message *first = nullptr, *second = nullptr;
  EXPECT_DONE(TRITONBACKEND_BackendConfig(&backend, &first));
  EXPECT_EQ(text_of(TRITONSERVER_MessageDelete(first)), "the message is borrowed, and not to be deleted");
  EXPECT_DONE(TRITONBACKEND_BackendConfig(&backend, &second));
  EXPECT_EQ(first, second);
  EXPECT_EQ(json_of(second), backend.config_json);
}

TEST(CBackend, ThePolicyIsSetWhileItIsInitialized) {
  TRITONBACKEND_Backend backend;
  TRITONBACKEND_ExecutionPolicy policy;
  EXPECT_DONE(TRITONBACKEND_BackendExecutionPolicy(&backend, &policy));
  EXPECT_EQ(policy, TRITONBACKEND_EXECUTION_BLOCKING);
  EXPECT_REFUSED(TRITONBACKEND_BackendSetExecutionPolicy(&backend, TRITONBACKEND_EXECUTION_DEVICE_BLOCKING));
  backend.is_initializing = true;
  for (int wrong : {-1, 2})
    EXPECT_REFUSED(
        TRITONBACKEND_BackendSetExecutionPolicy(&backend, static_cast<TRITONBACKEND_ExecutionPolicy>(wrong)));
  EXPECT_DONE(TRITONBACKEND_BackendSetExecutionPolicy(&backend, TRITONBACKEND_EXECUTION_DEVICE_BLOCKING));
  EXPECT_DONE(TRITONBACKEND_BackendExecutionPolicy(&backend, &policy));
  EXPECT_EQ(policy, TRITONBACKEND_EXECUTION_DEVICE_BLOCKING);
}

TEST(CBackend, Attributes) {
  TRITONBACKEND_BackendAttribute attribute;
  const uint64_t ids[] = {0, 2, uint64_t{1} << 31};
  const auto gpu = TRITONSERVER_INSTANCEGROUPKIND_GPU;
  EXPECT_DONE(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(&attribute, gpu, 3, ids, 2));
  EXPECT_DONE(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
      &attribute, TRITONSERVER_INSTANCEGROUPKIND_CPU, 0, nullptr, 0));
  EXPECT_DONE(TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(&attribute, true));
  EXPECT_TRUE(attribute.traits.parallel_instances);
  EXPECT_REFUSED(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(&attribute, gpu, 1, nullptr, 1));
  EXPECT_REFUSED(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(&attribute, gpu, 1, ids, 3));
  EXPECT_REFUSED(
      TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(&attribute, gpu, uint64_t{1} << 32, ids, 1));
  EXPECT_REFUSED(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(nullptr, gpu, 1, ids, 1));
  EXPECT_REFUSED(TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(nullptr, true));
  for (int wrong : {-1, 4}) {
    EXPECT_REFUSED(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
        &attribute, static_cast<TRITONSERVER_InstanceGroupKind>(wrong), 1, ids, 1));
  }
  const auto& groups = attribute.traits.preferred_groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].kind, InstanceKind::kGpu);
  EXPECT_EQ(groups[0].count, 3u);
  EXPECT_EQ(groups[0].gpus, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(groups[1].kind, InstanceKind::kCpu);
  EXPECT_EQ(groups[1].count, 0u);
}

/// The CPU's.
class Heap final : public MemoryManager {
 public:
  virtual ~Heap() = default;
  Result<void*> allocate(MemoryKind kind, int64_t, uint64_t size_bytes) noexcept override {
    if (kind == MemoryKind::kGpu) return unimplemented("GPU memory allocation not supported");
    if (size_bytes > 100) return make_status(Code::kResourceExhausted, "full");
    return std::malloc(size_bytes);
  }
  Status free(void* data, MemoryKind kind, int64_t) noexcept override {
    if (kind != MemoryKind::kCpu) return invalid_argument("it was not allocated so");
    std::free(data);
    return {};
  }
};

TEST(CBackend, Memory) {
  Heap heap;
  TRITONBACKEND_MemoryManager manager{&heap};
  void* data = nullptr;
  EXPECT_DONE(TRITONBACKEND_MemoryManagerAllocate(&manager, &data, TRITONSERVER_MEMORY_CPU, 0, 8));
  ASSERT_NE(data, nullptr);
  EXPECT_REFUSED(TRITONBACKEND_MemoryManagerFree(&manager, data, TRITONSERVER_MEMORY_GPU, 0));
  EXPECT_DONE(TRITONBACKEND_MemoryManagerFree(&manager, data, TRITONSERVER_MEMORY_CPU, 0));
  EXPECT_EQ(failure_of(TRITONBACKEND_MemoryManagerAllocate(&manager, &data, TRITONSERVER_MEMORY_GPU, 0, 8)),
            Code::kUnimplemented);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(failure_of(TRITONBACKEND_MemoryManagerAllocate(&manager, &data, TRITONSERVER_MEMORY_CPU, 0, 101)),
            Code::kUnavailable);
  const auto wrong = static_cast<TRITONSERVER_MemoryType>(3);
  EXPECT_REFUSED(TRITONBACKEND_MemoryManagerAllocate(&manager, &data, wrong, 0, 8));
  EXPECT_REFUSED(TRITONBACKEND_MemoryManagerAllocate(&manager, nullptr, TRITONSERVER_MEMORY_CPU, 0, 8));
  EXPECT_REFUSED(TRITONBACKEND_MemoryManagerAllocate(nullptr, &data, TRITONSERVER_MEMORY_CPU, 0, 8));
  EXPECT_REFUSED(TRITONBACKEND_MemoryManagerFree(nullptr, &heap, TRITONSERVER_MEMORY_CPU, 0));
  EXPECT_REFUSED(TRITONBACKEND_MemoryManagerFree(&manager, nullptr, TRITONSERVER_MEMORY_CPU, 0));
  EXPECT_REFUSED(TRITONBACKEND_MemoryManagerFree(&manager, &heap, wrong, 0));
  manager.memory = nullptr;
  EXPECT_EQ(failure_of(TRITONBACKEND_MemoryManagerAllocate(&manager, &data, TRITONSERVER_MEMORY_CPU, 0, 8)),
            Code::kUnimplemented);
}

TEST(CBackend, NullArgumentsAreErrors) {
  TRITONBACKEND_Backend backend;
  TRITONBACKEND_Backend* none = nullptr;
  const char* text = nullptr;
  TRITONSERVER_Message* message = nullptr;
  TRITONBACKEND_ExecutionPolicy policy;
  TRITONBACKEND_ArtifactType type;
  TRITONBACKEND_MemoryManager* manager = nullptr;
  void* state = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_BackendName(none, &text), TRITONBACKEND_BackendName(&backend, nullptr),
        TRITONBACKEND_BackendConfig(none, &message), TRITONBACKEND_BackendConfig(&backend, nullptr),
        TRITONBACKEND_BackendExecutionPolicy(none, &policy),
        TRITONBACKEND_BackendSetExecutionPolicy(none, TRITONBACKEND_EXECUTION_BLOCKING),
        TRITONBACKEND_BackendArtifacts(none, &type, &text),
        TRITONBACKEND_BackendArtifacts(&backend, nullptr, &text),
        TRITONBACKEND_BackendMemoryManager(none, &manager), TRITONBACKEND_BackendState(&backend, nullptr),
        TRITONBACKEND_BackendState(none, &state), TRITONBACKEND_BackendSetState(none, nullptr)}) {
    EXPECT_REFUSED(error);
  }
}

}  // namespace
}  // namespace atl::triton
