/// What programs ask a server, and what they have it do.
#include <gtest/gtest.h>

#include "testing/program.h"

namespace atl::triton::test {
namespace {

std::string text_of(TRITONSERVER_Message* message) {
  const char* base = nullptr;
  size_t size = 0;
  expect_ok(TRITONSERVER_MessageSerializeToJson(message, &base, &size));
  std::string text(base, size);
  expect_ok(TRITONSERVER_MessageDelete(message));
  return text;
}

class ServerCalls : public InProcess {};

TEST_F(ServerCalls, Health) {
  bool flag = false;
  expect_ok(TRITONSERVER_ServerIsLive(&server, &flag));
  EXPECT_TRUE(flag);
  server.catalog.is_ready = false;
  expect_ok(TRITONSERVER_ServerIsReady(&server, &flag));
  EXPECT_FALSE(flag);
  expect_ok(TRITONSERVER_ServerModelIsReady(&server, "m", -1, &flag));
  EXPECT_TRUE(flag);
  model.is_ready = false;
  expect_ok(TRITONSERVER_ServerModelIsReady(&server, "m", 1, &flag));
  EXPECT_FALSE(flag);
  flag = true;
  expect_ok(TRITONSERVER_ServerModelIsReady(&server, "unknown", -1, &flag));
  EXPECT_FALSE(flag) << "and no error";
  server.catalog.set_exiting(true);
  expect_error(TRITONSERVER_ServerModelIsReady(&server, "m", -1, &flag), TRITONSERVER_ERROR_UNAVAILABLE,
               "Server exiting");
}

TEST_F(ServerCalls, PropertiesOfModels) {
  ModelInfo info;
  info.name = "batches";
  info.version = 1;
  info.max_batch_size = 8;
  info.decoupled = true;
  server.catalog.add(std::move(info));
  uint32_t flags = 0;
  void* data = &flags;
  expect_ok(TRITONSERVER_ServerModelBatchProperties(&server, "m", -1, &flags, &data));
  EXPECT_EQ(flags, uint32_t{TRITONSERVER_BATCH_UNKNOWN});
  EXPECT_EQ(data, nullptr);
  expect_ok(TRITONSERVER_ServerModelTransactionProperties(&server, "m", -1, &flags, nullptr));
  EXPECT_EQ(flags, uint32_t{TRITONSERVER_TXN_ONE_TO_ONE});
  expect_ok(TRITONSERVER_ServerModelBatchProperties(&server, "batches", -1, &flags, nullptr));
  EXPECT_EQ(flags, uint32_t{TRITONSERVER_BATCH_FIRST_DIM});
  expect_ok(TRITONSERVER_ServerModelTransactionProperties(&server, "batches", -1, &flags, &data));
  EXPECT_EQ(flags, uint32_t{TRITONSERVER_TXN_DECOUPLED});
  expect_error(TRITONSERVER_ServerModelBatchProperties(&server, "unknown", -1, &flags, nullptr),
               TRITONSERVER_ERROR_NOT_FOUND);
  EXPECT_EQ(model.references(), 0);
}

TEST_F(ServerCalls, AnswersAreMessages) {
  TRITONSERVER_Message* message = nullptr;
  expect_ok(TRITONSERVER_ServerMetadata(&server, &message));
  EXPECT_EQ(text_of(message), "metadata");
  expect_ok(TRITONSERVER_ServerModelMetadata(&server, "m", 1, &message));
  EXPECT_EQ(text_of(message), "metadata of m 1");
  expect_ok(TRITONSERVER_ServerModelConfig(&server, "m", -1, 1, &message));
  EXPECT_EQ(text_of(message), "config of m -1");
  expect_ok(TRITONSERVER_ServerModelStatistics(&server, "", -1, &message));
  EXPECT_EQ(text_of(message), "statistics of  -1");
  expect_ok(TRITONSERVER_ServerModelIndex(&server, 0, &message));
  EXPECT_EQ(text_of(message), "index");
  expect_ok(TRITONSERVER_ServerModelIndex(&server, TRITONSERVER_INDEX_FLAG_READY, &message));
  EXPECT_EQ(text_of(message), "ready index");
  expect_invalid(TRITONSERVER_ServerModelIndex(&server, 2, &message),
                 "index flags 2 have bits that are unknown");
  expect_invalid(TRITONSERVER_ServerModelConfig(&server, "m", -1, 2, &message),
                 "model configuration version 2 not supported, supported versions are: 1");
  server.failure = not_found("not there");
  expect_error(TRITONSERVER_ServerModelMetadata(&server, "m", 1, &message), TRITONSERVER_ERROR_NOT_FOUND,
               "not there");
  EXPECT_EQ(message, nullptr);
}

TEST_F(ServerCalls, MetricsAreAText) {
  TRITONSERVER_Metrics* metrics = nullptr;
  expect_ok(TRITONSERVER_ServerMetrics(&server, &metrics));
  const char* base = nullptr;
  size_t size = 0;
  expect_ok(TRITONSERVER_MetricsFormatted(metrics, TRITONSERVER_METRIC_PROMETHEUS, &base, &size));
  EXPECT_EQ(std::string(base, size), "metrics");
  expect_invalid(
      TRITONSERVER_MetricsFormatted(metrics, static_cast<TRITONSERVER_MetricFormat>(1), &base, &size),
      "metric format 1 is unknown");
  EXPECT_EQ(base, nullptr);
  expect_ok(TRITONSERVER_MetricsDelete(metrics));
  server.failure = unimplemented("no metrics");
  expect_error(TRITONSERVER_ServerMetrics(&server, &metrics), TRITONSERVER_ERROR_UNSUPPORTED, "no metrics");
  EXPECT_EQ(metrics, nullptr);
}

TEST_F(ServerCalls, ModelsAreLoadedAndUnloaded) {
  expect_ok(TRITONSERVER_ServerLoadModel(&server, "a"));
  const char bytes[] = {'x', '\0', 'y'};
  TRITONSERVER_Parameter* config = TRITONSERVER_ParameterNew("config", TRITONSERVER_PARAMETER_STRING, "{}");
  TRITONSERVER_Parameter* file = TRITONSERVER_ParameterBytesNew("file:1/model.bin", bytes, sizeof bytes);
  const TRITONSERVER_Parameter* both[] = {config, file};
  expect_ok(TRITONSERVER_ServerLoadModelWithParameters(&server, "b", both, 2));
  expect_ok(TRITONSERVER_ServerUnloadModel(&server, "a"));
  expect_ok(TRITONSERVER_ServerUnloadModelAndDependents(&server, "b"));
  expect_ok(TRITONSERVER_ServerPollModelRepository(&server));
  EXPECT_EQ(server.calls,
            (std::vector<std::string>{"load a", "load b config={} 1/model.bin=" + std::string(bytes, 3),
                                      "unload a", "unload b with dependents", "poll"}));

  TRITONSERVER_Parameter* wrong[] = {
      TRITONSERVER_ParameterNew("other", TRITONSERVER_PARAMETER_STRING, "x"),
      TRITONSERVER_ParameterNew("file:a", TRITONSERVER_PARAMETER_STRING, "x"),
      TRITONSERVER_ParameterBytesNew("config", "{}", 2),
  };
  for (TRITONSERVER_Parameter* one : wrong) {
    const TRITONSERVER_Parameter* list[] = {one};
    expect_invalid(TRITONSERVER_ServerLoadModelWithParameters(&server, "b", list, 1));
  }
  const TRITONSERVER_Parameter* null[] = {nullptr};
  expect_invalid(TRITONSERVER_ServerLoadModelWithParameters(&server, "b", null, 1),
                 "load parameter 0 is null");
  server.failure = Status(Code::kFailedPrecondition, "not in this mode");
  expect_error(TRITONSERVER_ServerLoadModel(&server, "a"), TRITONSERVER_ERROR_UNAVAILABLE,
               "not in this mode");
  for (TRITONSERVER_Parameter* one : {config, file, wrong[0], wrong[1], wrong[2]})
    TRITONSERVER_ParameterDelete(one);
}

TEST_F(ServerCalls, RepositoriesComeAndGo) {
  TRITONSERVER_Parameter* name = TRITONSERVER_ParameterNew("folder", TRITONSERVER_PARAMETER_STRING, "model");
  TRITONSERVER_Parameter* wrong = TRITONSERVER_ParameterBytesNew("folder", "model", 5);
  const TRITONSERVER_Parameter* names[] = {name};
  const TRITONSERVER_Parameter* wrongs[] = {wrong};
  expect_ok(TRITONSERVER_ServerRegisterModelRepository(&server, "/r", names, 1));
  expect_ok(TRITONSERVER_ServerRegisterModelRepository(&server, "/s", nullptr, 0));
  expect_ok(TRITONSERVER_ServerUnregisterModelRepository(&server, "/r"));
  EXPECT_EQ(server.calls,
            (std::vector<std::string>{"register /r folder=model", "register /s", "unregister /r"}));
  expect_invalid(TRITONSERVER_ServerRegisterModelRepository(&server, "/r", wrongs, 1));
  server.failure = unimplemented("not here");
  expect_error(TRITONSERVER_ServerUnregisterModelRepository(&server, "/r"), TRITONSERVER_ERROR_UNSUPPORTED,
               "not here");
  TRITONSERVER_ParameterDelete(name);
  TRITONSERVER_ParameterDelete(wrong);
}

TEST_F(ServerCalls, NullArgumentsAreErrors) {
  bool flag = false;
  uint32_t flags = 0;
  TRITONSERVER_Message* message = nullptr;
  for (TRITONSERVER_Error* error :
       {TRITONSERVER_ServerIsLive(nullptr, &flag), TRITONSERVER_ServerIsReady(&server, nullptr),
        TRITONSERVER_ServerModelIsReady(&server, nullptr, -1, &flag),
        TRITONSERVER_ServerModelBatchProperties(nullptr, "m", -1, &flags, nullptr),
        TRITONSERVER_ServerModelTransactionProperties(&server, "m", -1, nullptr, nullptr),
        TRITONSERVER_ServerMetadata(nullptr, &message), TRITONSERVER_ServerMetadata(&server, nullptr),
        TRITONSERVER_ServerModelMetadata(&server, nullptr, -1, &message),
        TRITONSERVER_ServerModelConfig(nullptr, "m", -1, 1, &message),
        TRITONSERVER_ServerModelStatistics(&server, nullptr, -1, &message),
        TRITONSERVER_ServerModelIndex(nullptr, 0, &message), TRITONSERVER_ServerMetrics(nullptr, nullptr),
        TRITONSERVER_MetricsDelete(nullptr), TRITONSERVER_ServerLoadModel(nullptr, "m"),
        TRITONSERVER_ServerLoadModelWithParameters(&server, "m", nullptr, 1),
        TRITONSERVER_ServerUnloadModel(&server, nullptr), TRITONSERVER_ServerPollModelRepository(nullptr),
        TRITONSERVER_ServerRegisterModelRepository(&server, nullptr, nullptr, 0),
        TRITONSERVER_ServerUnregisterModelRepository(nullptr, "/r")}) {
    expect_invalid(error);
  }
}

}  // namespace
}  // namespace atl::triton::test
