#include "testing/executed_request.h"

namespace atl::triton {
namespace {

TEST(CInstance, TellsWhatItIs) {
  TRITONBACKEND_Model model;
  TRITONBACKEND_ModelInstance instance;
  instance.name = "m_0_1";
  instance.kind = InstanceKind::kGpu;
  instance.device_id = 3;
  instance.passive = true;
  instance.host_policy_json = R"({"gpu_3":{}})";
  instance.model = &model;
  const char* text = nullptr;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceName(&instance, &text));
  EXPECT_STREQ(text, "m_0_1");
  TRITONSERVER_InstanceGroupKind kind;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceKind(&instance, &kind));
  EXPECT_EQ(kind, TRITONSERVER_INSTANCEGROUPKIND_GPU);
  int32_t device = 0;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceDeviceId(&instance, &device));
  EXPECT_EQ(device, 3);
  bool passive = false;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceIsPassive(&instance, &passive));
  EXPECT_TRUE(passive);
  TRITONBACKEND_Model* its_model = nullptr;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceModel(&instance, &its_model));
  EXPECT_EQ(its_model, &model);
  TRITONSERVER_Message* message = nullptr;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceHostPolicy(&instance, &message));
  size_t size = 0;
  EXPECT_DONE(TRITONSERVER_MessageSerializeToJson(message, &text, &size));
  EXPECT_EQ(std::string(text, size), instance.host_policy_json);
  EXPECT_REFUSED(TRITONSERVER_MessageDelete(message)) << "it is borrowed";
  void* state = &instance;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceState(&instance, &state));
  EXPECT_EQ(state, nullptr);
  EXPECT_DONE(TRITONBACKEND_ModelInstanceSetState(&instance, &model));
  EXPECT_DONE(TRITONBACKEND_ModelInstanceState(&instance, &state));
  EXPECT_EQ(state, &model);
}

TEST(CInstance, ProfilesAndSecondaryDevices) {
  TRITONBACKEND_ModelInstance instance;
  instance.name = "m_0";
  instance.profiles = {"0", "large"};
  instance.secondary_devices = {{"KIND_NVDLA", 1}};
  uint32_t count = 0;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceProfileCount(&instance, &count));
  EXPECT_EQ(count, 2u);
  const char* text = nullptr;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceProfileName(&instance, 1, &text));
  EXPECT_STREQ(text, "large");
  EXPECT_EQ(text_of(TRITONBACKEND_ModelInstanceProfileName(&instance, 2, &text)),
            "instance 'm_0' has 2 profiles, no profile 2");
  EXPECT_EQ(text, nullptr);
  EXPECT_DONE(TRITONBACKEND_ModelInstanceSecondaryDeviceCount(&instance, &count));
  EXPECT_EQ(count, 1u);
  int64_t id = 0;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceSecondaryDeviceProperties(&instance, 0, &text, &id));
  EXPECT_STREQ(text, "KIND_NVDLA");
  EXPECT_EQ(id, 1);
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceSecondaryDeviceProperties(&instance, 1, &text, &id));
  EXPECT_EQ(text, nullptr);
}

/// Two kinds of memory, as attributes.
class CMemoryUsage : public testing::Test {
 protected:
  CMemoryUsage() {
    for (TRITONSERVER_BufferAttributes*& one : usage) EXPECT_DONE(TRITONSERVER_BufferAttributesNew(&one));
    EXPECT_DONE(TRITONSERVER_BufferAttributesSetByteSize(usage[0], 10));
    EXPECT_DONE(TRITONSERVER_BufferAttributesSetByteSize(usage[1], 20));
    EXPECT_DONE(TRITONSERVER_BufferAttributesSetMemoryType(usage[1], TRITONSERVER_MEMORY_GPU));
    EXPECT_DONE(TRITONSERVER_BufferAttributesSetMemoryTypeId(usage[1], 2));
  }
  ~CMemoryUsage() override {
    for (TRITONSERVER_BufferAttributes* one : usage) EXPECT_DONE(TRITONSERVER_BufferAttributesDelete(one));
  }
  static std::string text(const std::vector<MemoryUsage>& memory) {
    std::string all;
    for (const MemoryUsage& one : memory)
      all += cat(static_cast<uint32_t>(one.kind), "/", one.device_id, ":", one.size_bytes, " ");
    return all;
  }
  TRITONSERVER_BufferAttributes* usage[2] = {};
};

TEST_F(CMemoryUsage, ReplacesWhatWasReportedBefore) {
  TRITONBACKEND_ModelInstance instance;
  TRITONBACKEND_Model model;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportMemoryUsage(&instance, usage, 2));
  EXPECT_DONE(TRITONBACKEND_ModelReportMemoryUsage(&model, usage, 2));
  EXPECT_EQ(text(instance.memory_usage), "0/0:10 2/2:20 ");
  EXPECT_EQ(text(model.memory_usage), "0/0:10 2/2:20 ");
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportMemoryUsage(&instance, usage, 1));
  EXPECT_EQ(text(instance.memory_usage), "0/0:10 ");
  EXPECT_DONE(TRITONBACKEND_ModelReportMemoryUsage(&model, nullptr, 0));
  EXPECT_EQ(text(model.memory_usage), "");
}

TEST_F(CMemoryUsage, MisuseChangesNothing) {
  TRITONBACKEND_ModelInstance instance;
  TRITONBACKEND_Model model;
  TRITONSERVER_BufferAttributes* holes[] = {usage[0], nullptr};
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportMemoryUsage(&instance, usage, 2));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportMemoryUsage(&instance, holes, 2));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportMemoryUsage(&instance, nullptr, 1));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportMemoryUsage(nullptr, usage, 2));
  EXPECT_REFUSED(TRITONBACKEND_ModelReportMemoryUsage(nullptr, usage, 2));
  EXPECT_REFUSED(TRITONBACKEND_ModelReportMemoryUsage(&model, nullptr, 2));
  EXPECT_EQ(text(instance.memory_usage), "0/0:10 2/2:20 ");
}

TEST(CInstance, NullArgumentsAreErrors) {
  TRITONBACKEND_ModelInstance instance;
  TRITONBACKEND_ModelInstance* none = nullptr;
  const char* text = nullptr;
  TRITONSERVER_InstanceGroupKind kind;
  int32_t device = 0;
  int64_t id = 0;
  uint32_t count = 0;
  bool flag = false;
  TRITONSERVER_Message* message = nullptr;
  TRITONBACKEND_Model* model = nullptr;
  void* state = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_ModelInstanceName(none, &text), TRITONBACKEND_ModelInstanceName(&instance, nullptr),
        TRITONBACKEND_ModelInstanceKind(none, &kind), TRITONBACKEND_ModelInstanceDeviceId(none, &device),
        TRITONBACKEND_ModelInstanceHostPolicy(none, &message),
        TRITONBACKEND_ModelInstanceHostPolicy(&instance, nullptr),
        TRITONBACKEND_ModelInstanceIsPassive(none, &flag),
        TRITONBACKEND_ModelInstanceProfileCount(none, &count),
        TRITONBACKEND_ModelInstanceProfileName(none, 0, &text),
        TRITONBACKEND_ModelInstanceSecondaryDeviceCount(none, &count),
        TRITONBACKEND_ModelInstanceSecondaryDeviceProperties(none, 0, &text, &id),
        TRITONBACKEND_ModelInstanceModel(none, &model), TRITONBACKEND_ModelInstanceModel(&instance, nullptr),
        TRITONBACKEND_ModelInstanceState(none, &state), TRITONBACKEND_ModelInstanceSetState(none, nullptr)}) {
    EXPECT_REFUSED(error);
  }
}

}  // namespace
}  // namespace atl::triton
