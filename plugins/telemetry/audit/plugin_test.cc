/// The plugin as the server runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "atoll/frontend/audit.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::audit {
namespace {

TEST(AuditPlugin, RecordsWhatItIsToldAndCountsIt) {
  const test::TemporaryDirectory folder;
  const std::string path = (folder.path() / "audit.log").string();
  test::FakeHost host("audit", test::FakeHost::Threads::kReal);
  host.options()
      .set_string("audit_file", path)
      .set_float("sample", 0)
      .set_bytes("max_size", 0)
      .set_int("old_files", 1)
      .set_bytes("max_pending_size", 1 << 20);
  test::PluginRunner plugin(host);
  ASSERT_TRUE(plugin.create_and_start().ok());
  auto* const audit = plugin.query<Audit>();
  ASSERT_NE(audit, nullptr);
  EXPECT_TRUE(audit->wants(ApiCategory::kModelRepository, "model-repository"));
  EXPECT_FALSE(audit->wants(ApiCategory::kInference, "inference"));
  AuditedCall call;
  call.subject = "alice";
  audit->record(call);
  struct Keep {
    std::vector<ControlCallEnded>& heard;
    void operator()(const ControlCallEnded& event) const { heard.push_back(event); }
  };
  std::vector<ControlCallEnded> heard;
  Subscription<ControlCallEnded, Keep> calls(Keep{heard});
  ASSERT_TRUE(calls.open(host.events(), {.overflow = Overflow::kDropOldest}).ok());
  call.category = ApiCategory::kModelRepository;
  call.category_name = "model-repository";
  call.method = "POST";
  call.path = "/v2/repository/models/m/load";
  call.status = 200;
  audit->record(call);
  call.rule = "model-repository";
  audit->record(call);  // was denied: nobody else is told
  host.run_ready();
  calls.reset();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard.front().subject.view(), "alice");
  const test::RecordedMetrics metrics(*plugin.query<MetricSource>());
  EXPECT_EQ(metrics.families().size(), 2u);
  plugin.drain(0);
  plugin.stop();
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\"subject\":\"alice\""), std::string::npos) << text.str();
}

}  // namespace
}  // namespace atl::audit
