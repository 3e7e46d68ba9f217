// The server inside a program: made of options, asked, ended; several at once and one after another.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

namespace atl::in_process {
namespace {

TEST(InProcess, ServesAndEnds) {
  ModelFolder models;
  models.add_identity("m");
  Options options(models.path());
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  EXPECT_TRUE(server.ready());
  EXPECT_EQ(server.infer("m", "hello"), "hello");
  EXPECT_EQ(server.infer("m", std::string(1 << 20, 'x')), std::string(1 << 20, 'x'));
  EXPECT_NE(server.infer("none", "x").find("'none' is not found"), std::string::npos);
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerStop, server.handle)), "");
  bool live = true;
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerIsLive, server.handle, &live)), "");
  EXPECT_FALSE(live);
  EXPECT_EQ(server.infer("m", "late"), "error: Unavailable: Server exiting");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerStop, server.handle)), "");
}

TEST(InProcess, GivesThePageOfMetricsWithoutAPort) {
  ModelFolder models;
  models.add_identity("m");
  Options options(models.path());
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  EXPECT_EQ(server.infer("m", "hello"), "hello");
  TRITONSERVER_Metrics* metrics = nullptr;
  ASSERT_EQ(text_of(CALL(TRITONSERVER_ServerMetrics, server.handle, &metrics)), "");
  const char* text = nullptr;
  size_t size = 0;
  EXPECT_EQ(
      text_of(CALL(TRITONSERVER_MetricsFormatted, metrics, TRITONSERVER_METRIC_PROMETHEUS, &text, &size)),
      "");
  EXPECT_NE(std::string(text, size).find("nv_inference_request_success{model=\"m\",version=\"1\"}"),
            std::string::npos);
  EXPECT_EQ(text_of(CALL(TRITONSERVER_MetricsDelete, metrics)), "");
}

/// What a program's own log gets. Threads of the server bring it.
struct OwnLog {
  std::mutex mutex;
  std::vector<std::string> records;

  static void take(TRITONSERVER_LogLevel, const char* filename, int, uint64_t, const char* message,
                   void* userp) {
    auto* self = static_cast<OwnLog*>(userp);
    std::lock_guard lock(self->mutex);
    self->records.push_back(std::string(filename) + ": " + message);
  }
  bool has(const std::string& record) {
    std::lock_guard lock(mutex);
    return std::find(records.begin(), records.end(), record) != records.end();
  }
};

TEST(InProcess, AProgramsOwnLogGetsTheRecords) {
  ModelFolder models;
  models.add_identity("m");
  Options options(models.path());
  static OwnLog own;
  ASSERT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetLogCallback, options.handle, &OwnLog::take, &own)), "");
  {
    Server server;
    ASSERT_EQ(server.start(options.handle), "");
    EXPECT_TRUE(own.has("models: successfully loaded 'm' version 1"));
    EXPECT_EQ(server.infer("m", "hello"), "hello");
  }
  ASSERT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetLogCallback, options.handle, nullptr, nullptr)), "");
  const size_t before = own.records.size();
  Server quiet;
  ASSERT_EQ(quiet.start(options.handle), "");
  EXPECT_EQ(own.records.size(), before);
}

TEST(InProcess, SeveralAtOnceAndOneAfterAnother) {
  ModelFolder first_models, second_models;
  first_models.add_identity("one");
  second_models.add_identity("two");
  Options first_options(first_models.path()), second_options(second_models.path());
  for (int round = 0; round < 3; ++round) {
    Server first, second;
    std::thread other([&] { EXPECT_EQ(second.start(second_options.handle), ""); });
    EXPECT_EQ(first.start(first_options.handle), "");
    other.join();
    ASSERT_TRUE(first.handle != nullptr && second.handle != nullptr);
    EXPECT_EQ(first.infer("one", "1"), "1");
    EXPECT_EQ(second.infer("two", "2"), "2");
    EXPECT_NE(first.infer("two", "3").find("is not found"), std::string::npos);
    first.remove();
    EXPECT_EQ(second.infer("two", "4"), "4");
  }
}

TEST(InProcess, AFailedStartSaysWhyAndLeavesNothing) {
  ModelFolder models;
  models.add_identity("m");
  {
    Options options(models.path());
    Server warm;  // loads what stays mapped
    ASSERT_EQ(warm.start(options.handle), "");
  }
  const size_t before = threads_at_most(0);
  Options missing(models.path() + "/none");
  Server server;
  EXPECT_NE(server.start(missing.handle).find("/none"), std::string::npos);
  EXPECT_EQ(server.handle, nullptr);
  EXPECT_LE(threads_at_most(before), before);
}

TEST(InProcess, AModelThatFailsEndsTheStartUnlessItMayNot) {
  ModelFolder models;
  models.add_identity("good");
  models.add("bad", "no_such_backend");
  Options options(models.path());
  Server server;
  const std::string failure = server.start(options.handle);
  EXPECT_EQ(failure.substr(0, failure.find('\n')), "Internal: failed to load all models");
  EXPECT_NE(failure.find("no_such_backend"), std::string::npos) << failure;
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetExitOnError, options.handle, false)), "");
  ASSERT_EQ(server.start(options.handle), "");
  EXPECT_EQ(server.infer("good", "x"), "x");
  EXPECT_FALSE(server.ready());
}

TEST(InProcess, AStopWaitsForWhatIsInFlight) {
  ModelFolder models;
  models.add_identity("m", 200);
  Options options(models.path());
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  std::future<std::string> answer = server.send("m", "x");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerStop, server.handle)), "");
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(answer.get(), "x");
}

TEST(InProcess, WhatIsInFlightMayAskOtherModelsAfterTheStopHasBegun) {
  ModelFolder models;
  models.add_identity("asked");
  models.add("asks_when_told", "ask");
  Options options(models.path());
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetBackendDirectory, options.handle, ATOLL_BACKENDS)), "");
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  const std::string told = models.path() + "/told";
  std::future<std::string> answer = server.send("asks_when_told", told);
  std::thread stop([&] { EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerStop, server.handle)), ""); });
  for (bool live = true; live;) {
    EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerIsLive, server.handle, &live)), "");
  }
  EXPECT_EQ(server.infer("asked", "late"), "error: Unavailable: Server exiting");
  std::ofstream(told) << "now";
  stop.join();
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(answer.get(), told);
}

TEST(InProcess, AStopUnderLoadAnswersEveryRequest) {
  ModelFolder models;
  models.add_identity("m");
  Options options(models.path());
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  std::vector<std::thread> callers;
  std::atomic<int> answered{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      std::string answer = "x";
      for (; answer == "x"; ++answered) answer = server.infer("m", "x");
      // Of the server, or of the scheduler that it had got to.
      EXPECT_TRUE(answer.starts_with("error: Unavailable: ")) << answer;
    });
  }
  while (answered.load() < 1000) std::this_thread::yield();
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerStop, server.handle)), "");
  for (std::thread& caller : callers) caller.join();
}

TEST(InProcess, AStopThatOverrunsSaysSoAndTheAnswerStillComes) {
  ModelFolder models;
  models.add_identity("m", 1500);
  Options options(models.path());
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  std::future<std::string> answer = server.send("m", "x");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerSetExitTimeout, server.handle, 0)), "");
  const std::string text = text_of(CALL(TRITONSERVER_ServerStop, server.handle));
  EXPECT_EQ(text.substr(0, text.find(':')), "Unavailable") << text;
  EXPECT_EQ(answer.get(), "x");
  Server next;
  ASSERT_EQ(next.start(options.handle), "");
  EXPECT_EQ(next.infer("m", "y"), "y");
}

TEST(InProcess, AManifestThatIsNamedTakesThePlaceOfTheOptions) {
  ModelFolder models;
  models.add_identity("m");
  const std::string manifest = models.path() + ".toml";
  std::ofstream(manifest)
      << "[log]\nlevel = \"warning\"\n"
      << "[plugin.repository]\nuse = \"repositories/filesystem\"\npaths = [\"" << models.path() << "\"]\n"
      << "[plugin.configs]\nuse = \"configs/pbtxt\"\n[plugin.models]\nuse = \"models/catalog\"\n"
      << "[plugin.control]\nuse = \"control/none\"\n[plugin.default]\nuse = \"schedulers/default\"\n"
      << "[plugin.host]\nuse = \"memory/host\"\n[plugin.identity]\nuse = \"backends/identity\"\n"
      << "[plugin.c_api]\nuse = \"frontends/c_api\"\n";
  Options options("/nowhere");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetBackendConfig, options.handle, "atoll", "manifest",
                         manifest.c_str())),
            "");
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  EXPECT_EQ(server.infer("m", "x"), "x");
  std::filesystem::remove(manifest);
  Server other;
  EXPECT_NE(other.start(options.handle).find(manifest), std::string::npos);
}

TEST(InProcess, MisuseIsAnError) {
  TRITONSERVER_Server* none = nullptr;
  EXPECT_NE(text_of(CALL(TRITONSERVER_ServerNew, nullptr, nullptr)), "");
  EXPECT_NE(text_of(CALL(TRITONSERVER_ServerNew, &none, nullptr)), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerDelete, nullptr)), "");
  EXPECT_NE(text_of(CALL(TRITONSERVER_ServerStop, nullptr)), "");
  EXPECT_NE(text_of(CALL(TRITONSERVER_ServerSetExitTimeout, nullptr, 1)), "");
  ModelFolder models;
  Options options(models.path());
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  TRITONSERVER_Server* deleted = server.handle;
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerSetExitTimeout, deleted, 1)), "");
  server.remove();
  EXPECT_NE(text_of(CALL(TRITONSERVER_ServerDelete, deleted)), "");
  bool live = true;
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerIsLive, deleted, &live)), "");
  EXPECT_FALSE(live);
}

TEST(InProcess, ModelsAreLoadedAndUnloaded) {
  ModelFolder models;
  models.add_identity("m");
  Options options(models.path());
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetModelControlMode, options.handle,
                         TRITONSERVER_MODEL_CONTROL_EXPLICIT)),
            "");
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  EXPECT_NE(server.infer("m", "x"), "x");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerLoadModel, server.handle, "m")), "");
  EXPECT_EQ(server.infer("m", "x"), "x");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerUnloadModel, server.handle, "m")), "");
  EXPECT_NE(server.infer("m", "x"), "x");
}

#ifdef ATOLL_WORKER_DOUBLE
TEST(InProcess, PythonModelsAreServed) {
  ::setenv("ATOLL__PLUGIN__PYTHON__INTERPRETER", ATOLL_WORKER_DOUBLE, 1);
  ModelFolder models;
  models.add("m", "python");
  models.add_file("m", "model.py", "copies\n");
  Options options(models.path());
  Server server;
  EXPECT_EQ(server.start(options.handle), "");
  EXPECT_EQ(server.infer("m", "hello"), "hello");
  ::unsetenv("ATOLL__PLUGIN__PYTHON__INTERPRETER");
}
#endif

/// A program that has one request, and sends it again when it has the answer.
class OneRequest {
 public:
  explicit OneRequest(const Server& server) : server_(server) {
    EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceRequestNew, &handle_, server.handle, "m", -1)), "");
    EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceRequestAddInput, handle_, "INPUT0", TRITONSERVER_TYPE_UINT8,
                           &kSize, 1)),
              "");
    EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceRequestSetReleaseCallback, handle_, ignore, nullptr)), "");
  }
  ~OneRequest() { EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceRequestDelete, handle_)), ""); }
  std::string infer(std::string bytes) {
    auto* answer =
        new std::promise<std::string>;  // the callback deletes it: it may be in there after the answer
    std::future<std::string> coming = answer->get_future();
    for (TRITONSERVER_Error* error :
         {CALL(TRITONSERVER_InferenceRequestRemoveAllInputData, handle_, "INPUT0"),
          CALL(TRITONSERVER_InferenceRequestAppendInputData, handle_, "INPUT0", bytes.data(), bytes.size(),
               TRITONSERVER_MEMORY_CPU, 0),
          CALL(TRITONSERVER_InferenceRequestSetResponseCallback, handle_, allocator(), nullptr, answered,
               answer),
          CALL(TRITONSERVER_ServerInferAsync, server_.handle, handle_, nullptr)}) {
      EXPECT_EQ(text_of(error), "");
    }
    return coming.get();
  }
  static constexpr int64_t kSize = 4;

 private:
  static void ignore(TRITONSERVER_InferenceRequest*, const uint32_t, void*) {}
  static void answered(TRITONSERVER_InferenceResponse* response, const uint32_t, void* userp) {
    std::string answer = answer_of(response);
    EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceResponseDelete, response)), "");
    std::unique_ptr<std::promise<std::string>> to(static_cast<std::promise<std::string>*>(userp));
    to->set_value(std::move(answer));
  }

  const Server& server_;
  TRITONSERVER_InferenceRequest* handle_ = nullptr;
};

TEST(InProcess, ARequestIsSentAgainWithoutWaitingForItsRelease) {
  ModelFolder models;
  models.add_identity("m");
  Options options(models.path());
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  for (int program = 0; program < 100; ++program) {
    OneRequest request(server);
    for (int round = 0; round < 20; ++round) {
      const std::string bytes = std::to_string(1000 + program + round);
      EXPECT_EQ(request.infer(bytes), bytes);
    }
  }
}

TEST(InProcess, NothingElseIsVisible) {
  find("TRITONSERVER_ServerNew");
  for (const char* name : {"atoll_start_embedded_v1", "atoll_plugin_v1", "lt_dlopen"}) {
    EXPECT_EQ(::dlsym(RTLD_DEFAULT, name), nullptr) << name;
  }
}

}  // namespace
}  // namespace atl::in_process
