// The calls that are not inference, from the client's side.
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class ManagementTest : public HttpFrontendTest {
 protected:
  ManagementTest() { catalog_.add_identity("probe"); }
  void expect_empty(const Reply& reply, int status) {
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(reply.header("content-length"), "0");
  }
};

TEST_F(ManagementTest, Health) {
  test::FakeServedModel& model = catalog_.add_identity("m", DataType::kFp32, 0, 3);
  start();
  expect_empty(get("/v2/health/live"), 200);
  expect_empty(get("/v2/health/ready"), 200);
  expect_empty(get("/v2/models/m/ready"), 200);
  expect_empty(get("/v2/models/m/versions/3/ready"), 200);
  catalog_.is_ready = false;
  expect_empty(get("/v2/health/live"), 200);
  expect_empty(get("/v2/health/ready"), 400);
  catalog_.is_live = false;
  expect_empty(get("/v2/health/live"), 400);
  model.is_ready = false;
  expect_error(get("/v2/models/m/ready"), 400, "Model version not ready");
  catalog_.unload({"m"}, [](const auto&) {});
  expect_error(get("/v2/models/m/versions/3/ready"), 400, "Model version not ready");
  expect_error(get("/v2/models/x/ready"), 400, "Model version not ready");
  expect_error(get("/v2/models/m/versions/7/ready"), 400, "Model version not ready");
  catalog_.set_exiting(true);
  expect_error(get("/v2/health/live"), 503, "Server exiting");
  expect_error(get("/v2/models/m/ready"), 503, "Server exiting");
}

TEST_F(ManagementTest, Metadata) {
  start();
  const Reply server = get("/v2");
  EXPECT_EQ(server.status, 200);
  EXPECT_EQ(server.header("content-type"), "application/json");
  EXPECT_TRUE(
      server.body.starts_with(R"({"name":"triton","version":"0.0.0-test","extensions":["classification",)"))
      << server.body;
  EXPECT_EQ(get("/v2/models/probe").body,
            R"({"name":"probe","versions":["1"],"platform":"identity",)"
            R"("inputs":[{"name":"INPUT0","datatype":"FP32","shape":[-1]}],)"
            R"("outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[-1]}]})");
  expect_error(get("/v2/models/x"), 404, "Request for unknown model: 'x' is not found");
  expect_error(get("/v2/models/x/config"), 404, "Request for unknown model: 'x' is not found");
  EXPECT_EQ(get("/v2/models/probe/config").status, 200);
}

TEST_F(ManagementTest, Statistics) {
  start();
  EXPECT_EQ(infer("probe").status, 200);
  for (const char* path :
       {"/v2/models/stats", "/v2/models/probe/stats", "/v2/models/probe/versions/1/stats"}) {
    const Reply reply = get(path);
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.body.starts_with(R"({"model_stats":[{"name":"probe","version":"1",)")) << reply.body;
  }
  expect_error(get("/v2/models/x/stats"), 400, "requested model 'x' is not available");
  expect_error(get("/v2/models/probe/versions/9/stats"), 400,
               "requested model version is not available for model 'probe'");
}

TEST_F(ManagementTest, Repository) {
  host_.registry().publish<ModelControl>("control", control_);
  start();
  const std::string all = R"([{"name":"probe","version":"1","state":"READY"}])";
  EXPECT_EQ(post("/v2/repository/index").body, all);
  EXPECT_EQ(post("/v2/repository/index", R"({"ready":true})").body, all);
  EXPECT_EQ(post("/v2/repository/any/index").body, all);
  EXPECT_EQ(post("/v2/repository/index", R"({"ready":1})").status, 400);
  EXPECT_EQ(post("/v2/repository/index", "{").status, 400);
  expect_empty(post("/v2/repository/models/probe/load"), 200);
  expect_empty(post("/v2/repository/models/probe/unload"), 200);
  expect_empty(post("/v2/repository/models/probe/unload", R"({"parameters":{"unload_dependents":true}})"),
               200);
  EXPECT_EQ(post("/v2/repository/models/probe/load", R"({"parameters":{"config":1}})").status, 400);
  const std::string text = "'repository_name' specification is not supported";
  expect_error(post("/v2/repository/r/models/probe/load"), 501, text);
  expect_error(post("/v2/repository/r/models/probe/unload", "not looked at"), 501, text);
  stop();
}

TEST_F(ManagementTest, WithoutModelControl) {
  start();
  const std::string text = "explicit model load / unload is not allowed if polling is enabled";
  expect_error(post("/v2/repository/models/probe/load"), 503, text);
  expect_error(post("/v2/repository/models/probe/unload"), 503, text);
}

/// Ends loads when the test says so, on a thread of the test's.
class HeldControl final : public ModelControl {
 public:
  std::string_view mode() const noexcept override { return "explicit"; }
  void load(std::string, std::vector<ModelControlParameter>,
            std::function<void(Status)> done) noexcept override {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
  }
  void unload(std::string model, std::vector<ModelControlParameter> parameters,
              std::function<void(Status)> done) noexcept override {
    load(std::move(model), std::move(parameters), std::move(done));
  }
  size_t waiting() {
    std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  void end(const std::function<Status()>& status) {
    std::vector<std::function<void(Status)>> ended;
    {
      std::lock_guard lock(mutex_);
      ended.swap(waiting_);
    }
    for (auto& done : ended) done(status());
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void(Status)>> waiting_;
};

TEST_F(ManagementTest, ALongLoadHoldsUpNobodyAndMayLoseItsClient) {
  HeldControl control;
  host_.registry().publish<ModelControl>("control", control);
  start();
  HttpClient patient = client();
  patient.send(request("POST", "/v2/repository/models/probe/load"));
  {
    HttpClient gone = client();
    gone.send(request("POST", "/v2/repository/models/probe/load"));
    ASSERT_TRUE(eventually([&] { return control.waiting() == 2; }));
  }
  for (int i = 0; i < 4; ++i) expect_alive();
  control.end([] { return internal_error("failed to load 'probe', failed to poll from model repository"); });
  expect_error(patient.receive(), 500, "failed to load 'probe', failed to poll from model repository");
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
  stop();
}

TEST_F(ManagementTest, SharedMemoryThatIsSwitchedOff) {
  start();
  for (const std::string kind : {"system", "cuda"}) {
    const std::string base = "/v2/" + kind + "sharedmemory";
    EXPECT_EQ(get(base + "/status").body, "[]");
    const std::string disabled =
        "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
    expect_error(post(base + "/unregister"), 501, disabled);
    expect_error(post(base + "/region/r/unregister"), 501, disabled);
    expect_error(post(base + "/register", "{}"), 400,
                 "'region name' is necessary to register " + kind + " shared memory region");
    EXPECT_EQ(post(base + "/region/r/register", "").status, 400);
    EXPECT_EQ(post(base + "/region/r/register", "{}").status, 400);
  }
  expect_error(
      post("/v2/systemsharedmemory/region/r/register", R"({"key":"/k","byte_size":8})"), 501,
      "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.");
}

TEST_F(ManagementTest, SettingsThatCanNotBeRead) {
  start();
  EXPECT_EQ(post("/v2/trace/setting", R"({"trace_rate":1})").status, 501) << "there is no trace plugin";
  EXPECT_EQ(post("/v2/logging", R"({"log_info":1})").status, 400);
  EXPECT_EQ(post("/v2/logging", "[]").status, 400);
}

}  // namespace
}  // namespace atl::frontends::http
