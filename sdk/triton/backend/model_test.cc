#include "atoll/triton/model.h"

#include <gtest/gtest.h>

#include "atoll/triton/backend.h"
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

/// Of a backend.
class ModelConfigurator final : public atl::triton::ModelHost {
 public:
  virtual ~ModelConfigurator() = default;
  atl::Status set_config(std::string_view json) noexcept override {
    if (json == "{}") return atl::internal_error("another scheduling");
    given = json;
    return {};
  }
  std::string given;
};

TEST(CModel, IsConfiguredByItsHost) {
  TRITONBACKEND_Model model{"m", 1, "/models/m", R"({"name":"m"})", nullptr};
  bool may = true;
  EXPECT_EQ(TRITONBACKEND_ModelAutoCompleteConfig(&model, &may), nullptr);
  EXPECT_FALSE(may);
  model.auto_complete = true;
  EXPECT_EQ(TRITONBACKEND_ModelAutoCompleteConfig(&model, &may), nullptr);
  EXPECT_TRUE(may);
  TRITONSERVER_Message *good = nullptr, *bad = nullptr;
  ASSERT_EQ(TRITONSERVER_MessageNewFromSerializedJson(&good, R"({"a":1})", 7), nullptr);
  ASSERT_EQ(TRITONSERVER_MessageNewFromSerializedJson(&bad, "{}", 2), nullptr);
  using atl::triton::take_error;
  EXPECT_EQ(take_error(TRITONBACKEND_ModelSetConfig(&model, 1, good)).text(),
            "the configuration of model 'm' can only be set by TRITONBACKEND_ModelInitialize");
  ModelConfigurator host;
  model.host = &host;
  EXPECT_EQ(TRITONBACKEND_ModelSetConfig(&model, 1, good), nullptr);
  EXPECT_EQ(host.given, R"({"a":1})");
  EXPECT_EQ(take_error(TRITONBACKEND_ModelSetConfig(&model, 1, bad)).code(), atl::Code::kInternal);
  EXPECT_EQ(take_error(TRITONBACKEND_ModelSetConfig(&model, 2, good)).code(), atl::Code::kInvalidArgument);
  EXPECT_EQ(take_error(TRITONBACKEND_ModelSetConfig(&model, 1, nullptr)).code(), atl::Code::kInvalidArgument);
  EXPECT_EQ(TRITONSERVER_MessageDelete(good), nullptr) << "it stays the caller's";
  EXPECT_EQ(TRITONSERVER_MessageDelete(bad), nullptr);
}

TEST(CModel, ItsBackendAndServer) {
  TRITONBACKEND_Model model;
  TRITONBACKEND_Backend* backend = nullptr;
  EXPECT_EQ(atl::triton::take_error(TRITONBACKEND_ModelBackend(&model, &backend)).code(),
            atl::Code::kInvalidArgument);
  TRITONBACKEND_Backend its;
  model.backend = &its;
  EXPECT_EQ(TRITONBACKEND_ModelBackend(&model, &backend), nullptr);
  EXPECT_EQ(backend, &its);
  auto* server = reinterpret_cast<TRITONSERVER_Server*>(&its);
  EXPECT_EQ(TRITONBACKEND_ModelServer(&model, &server), nullptr);
  EXPECT_EQ(server, nullptr) << "it takes no requests";
}

TEST(CModel, NullArgumentsAreErrors) {
  TRITONBACKEND_Model model;
  const char* text = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_ModelName(nullptr, &text), TRITONBACKEND_ModelName(&model, nullptr),
        TRITONBACKEND_ModelVersion(&model, nullptr), TRITONBACKEND_ModelRepository(&model, nullptr, &text),
        TRITONBACKEND_ModelConfig(nullptr, 1, nullptr), TRITONBACKEND_ModelState(nullptr, nullptr),
        TRITONBACKEND_ModelSetState(nullptr, nullptr), TRITONBACKEND_ModelAutoCompleteConfig(&model, nullptr),
        TRITONBACKEND_ModelSetConfig(nullptr, 1, nullptr), TRITONBACKEND_ModelServer(&model, nullptr),
        TRITONBACKEND_ModelBackend(nullptr, nullptr)}) {
    EXPECT_EQ(atl::triton::take_error(error).code(), atl::Code::kInvalidArgument);
  }
}

}  // namespace
