#include "atoll/triton/model.h"

#include <gtest/gtest.h>

#include "atoll/triton/status.h"

namespace {

TEST(CModel, TellsWhatItIs) {
  TRITONBACKEND_Model model{"m", 3, "/models/m", R"({"name":"m"})", nullptr};
  const char* text = nullptr;
  EXPECT_EQ(TRITONBACKEND_ModelName(&model, &text), nullptr);
  EXPECT_STREQ(text, "m");
  uint64_t version = 0;
  EXPECT_EQ(TRITONBACKEND_ModelVersion(&model, &version), nullptr);
  EXPECT_EQ(version, 3u);
  auto type = static_cast<TRITONBACKEND_ArtifactType>(7);
  EXPECT_EQ(TRITONBACKEND_ModelRepository(&model, &type, &text), nullptr);
  EXPECT_EQ(type, TRITONBACKEND_ARTIFACT_FILESYSTEM);
  EXPECT_STREQ(text, "/models/m");
}

TEST(CModel, ItsConfigurationIsTheCallersMessage) {
  TRITONBACKEND_Model model{"m", 1, "/models/m", R"({"name":"m"})", nullptr};
  TRITONSERVER_Message* message = nullptr;
  ASSERT_EQ(TRITONBACKEND_ModelConfig(&model, 1, &message), nullptr);
  model.config_json.clear();
  const char* base = nullptr;
  size_t size = 0;
  EXPECT_EQ(TRITONSERVER_MessageSerializeToJson(message, &base, &size), nullptr);
  EXPECT_EQ(std::string(base, size), R"({"name":"m"})");
  EXPECT_EQ(TRITONSERVER_MessageDelete(message), nullptr);

  for (uint32_t other : {0u, 2u}) {
    message = reinterpret_cast<TRITONSERVER_Message*>(&model);
    atl::Status status = atl::triton::take_error(TRITONBACKEND_ModelConfig(&model, other, &message));
    EXPECT_EQ(status.code(), atl::Code::kInvalidArgument);
    EXPECT_EQ(status.text(),
              atl::cat("model configuration version ", other, " not supported, supported versions are: 1"));
    EXPECT_EQ(message, nullptr);
  }
}

TEST(CModel, KeepsTheCallersPointer) {
  TRITONBACKEND_Model model;
  void* state = &model;
  EXPECT_EQ(TRITONBACKEND_ModelState(&model, &state), nullptr);
  EXPECT_EQ(state, nullptr);
  EXPECT_EQ(TRITONBACKEND_ModelSetState(&model, &model), nullptr);
  EXPECT_EQ(TRITONBACKEND_ModelState(&model, &state), nullptr);
  EXPECT_EQ(state, &model);
}

TEST(CModel, NullArgumentsAreErrors) {
  TRITONBACKEND_Model model;
  const char* text = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_ModelName(nullptr, &text), TRITONBACKEND_ModelName(&model, nullptr),
        TRITONBACKEND_ModelVersion(&model, nullptr), TRITONBACKEND_ModelRepository(&model, nullptr, &text),
        TRITONBACKEND_ModelConfig(nullptr, 1, nullptr), TRITONBACKEND_ModelState(nullptr, nullptr),
        TRITONBACKEND_ModelSetState(nullptr, nullptr)}) {
    EXPECT_EQ(atl::triton::take_error(error).code(), atl::Code::kInvalidArgument);
  }
}

}  // namespace
