#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "atoll/core/text.h"
#include "atoll/request/queue_metrics.h"
#include "atoll/testing/fake_host.h"
#include "frontends/console/counts/count_reader.h"
#include "frontends/console/counts/sequences_json.h"
#include "frontends/console/counts/tenants_json.h"

namespace atl::frontends::console {
namespace {

class ScriptedSource final : public QueueMetrics {
 public:
  explicit ScriptedSource(std::function<void(MetricSink&)> write) : write_(std::move(write)) {}
  virtual ~ScriptedSource() = default;
  void collect(MetricSink& sink) const noexcept override { write_(sink); }

 private:
  const std::function<void(MetricSink&)> write_;
};

/// Sees the tenant's own.
class OneTenant final : public Identity {
 public:
  std::string_view name() const noexcept override { return "somebody"; }
  std::string_view tenant() const noexcept override { return "b"; }
  bool may(ApiCategory, std::string_view, std::string_view model) const noexcept override {
    return model == "chat";
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return false; }
  bool holds() const noexcept override { return true; }
};

void gauge(MetricSink& sink, std::string_view name, std::initializer_list<MetricLabel> labels, double value) {
  sink.family(name, "", MetricKind::kGauge);
  sink.sample({labels.begin(), labels.size()}, value);
}

TEST(CountReader, KeepsWhatIsWantedAndAsksSeldom) {
  test::FakeHost host;
  int asked = 0;
  ScriptedSource source([&](MetricSink& sink) {
    ++asked;
    gauge(sink, "atoll_admission_running", {{"tenant", "a"}}, asked);
    gauge(sink, "atoll_admission_waiting", {{"tenant", "a"}}, std::numeric_limits<double>::quiet_NaN());
    gauge(sink, "nv_cache_util", {}, 1);
    gauge(sink, "atoll_sequences_open", {{"model", "idle"}, {"version", "1"}}, 0);
    gauge(sink, "atoll_sequences_open", {{"model", "busy"}, {"version", "1"}}, 2);
  });
  ScriptedSource other([](MetricSink& sink) { sink.sample({}, 7); });  // without a family of its own
  host.registry().publish<QueueMetrics>("a", source);
  host.registry().publish<QueueMetrics>("b", other);
  CountReader reader(host.registry(), host.clock());
  const CountReading& reading = reader.read();
  ASSERT_EQ(reading.of("atoll_admission_running").size(), 1U);
  EXPECT_EQ(reading.of("atoll_admission_running")[0].label("tenant"), "a");
  EXPECT_EQ(reading.of("atoll_admission_running")[0].label("model"), "");
  EXPECT_TRUE(reading.of("atoll_admission_waiting").empty()) << "it is no number";
  EXPECT_TRUE(reading.of("nv_cache_util").empty());
  ASSERT_EQ(reading.of("atoll_sequences_open").size(), 1U);
  EXPECT_EQ(reading.of("atoll_sequences_open")[0].label("model"), "busy");
  reader.read();
  EXPECT_EQ(asked, 1);
  host.run_for(kNsPerSecond);
  EXPECT_EQ(reader.read().of("atoll_admission_running")[0].value, 2);
}

TEST(CountReader, IsBounded) {
  test::FakeHost host;
  ScriptedSource source([](MetricSink& sink) {
    sink.family("atoll_admission_running", "", MetricKind::kGauge);
    for (size_t i = 0; i < CountReader::kMostSamples + 5; ++i) sink.sample({}, 1);
  });
  host.registry().publish<QueueMetrics>("a", source);
  CountReader reader(host.registry(), host.clock());
  EXPECT_EQ(reader.read().of("atoll_admission_running").size(), CountReader::kMostSamples);
  EXPECT_EQ(reader.read().left_out, 5U);
}

TEST(TenantsJson, UseQuotaAndRefusals) {
  test::FakeHost host;
  ScriptedSource source([](MetricSink& sink) {
    for (const char* tenant : {"b", "a"}) gauge(sink, "atoll_admission_running", {{"tenant", tenant}}, 3);
    gauge(sink, "atoll_admission_rate_limit", {{"tenant", "a"}}, 0.5);
    gauge(sink, "atoll_admission_token_limit", {{"tenant", "a"}}, 1.5);
    gauge(sink, "atoll_admission_tokens_total", {{"tenant", "a"}, {"kind", "prompt"}}, 20);
    gauge(sink, "atoll_admission_tokens_total", {{"tenant", "a"}, {"kind", "generated"}}, 7);
    gauge(sink, "atoll_admission_refused_total", {{"tenant", "a"}, {"reason", "rate"}}, 4);
    gauge(sink, "atoll_admission_refused_total", {{"tenant", "<b>"}, {"reason", "rate"}}, 0);
    gauge(sink, "atoll_admission_overloaded", {}, 1);
  });
  host.registry().publish<QueueMetrics>("a", source);
  CountReader reader(host.registry(), host.clock());
  const std::string rest =
      R"("waiting":0,"admitted":0,"waited":0,"wait_seconds":0.0,"prompt_tokens":20,"generated_tokens":7,)"
      R"("quota":{"weight":0,"concurrency":0,"rate":0.5,"tokens":1.5,"queue":0},)";
  const std::string text = tenants_json(reader.read(), {"run", 1}, nullptr);
  EXPECT_NE(text.find(R"("limited":true,"overloaded":true,"matching":3,"tenants":[{"name":"b",)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(cat(R"({"name":"a","running":3,)", rest, R"("refused":{"rate":4}})")),
            std::string::npos)
      << text;
  const OneTenant identity;
  const std::string own = tenants_json(reader.read(), {"run", 1}, &identity);
  EXPECT_NE(own.find(R"("matching":1,"tenants":[{"name":"b",)"), std::string::npos) << own;
}

TEST(TenantsJson, WithoutQuotasThereAreNone) {
  test::FakeHost host;
  CountReader reader(host.registry(), host.clock());
  const std::string text = tenants_json(reader.read(), {"run", 1}, nullptr);
  EXPECT_NE(text.find(R"("limited":false,"overloaded":false,"matching":0,"tenants":[]})"), std::string::npos)
      << text;
}

TEST(SequencesJson, TheLongestBacklogIsFirst) {
  test::FakeHost host;
  ScriptedSource source([](MetricSink& sink) {
    const auto row = [&](std::string_view name, std::string_view model, double value) {
      gauge(sink, name, {{"model", model}, {"version", "1"}}, value);
    };
    row("atoll_sequences_open", "many", 9);
    row("atoll_sequences_open", "/srv/models::chat", 3);
    row("atoll_sequence_backlog_length", "/srv/models::chat", 1);
    row("atoll_sequence_backlog_oldest_seconds", "/srv/models::chat", 2.5);
  });
  host.registry().publish<QueueMetrics>("a", source);
  CountReader reader(host.registry(), host.clock());
  const std::string chat =
      R"({"model":"chat","version":"1","open":3,"slots_in_use":0,"backlog":1,"oldest_seconds":2.5,"idle_ended":0,"rescheduled":0})";
  const std::string text = sequences_json(reader.read(), {"run", 1}, nullptr);
  EXPECT_NE(text.find(cat(R"("matching":2,"models":[)", chat, R"(,{"model":"many")")), std::string::npos)
      << text;
  const OneTenant identity;
  const std::string own = sequences_json(reader.read(), {"run", 1}, &identity);
  EXPECT_NE(own.find(cat(R"("matching":1,"models":[)", chat, "]}")), std::string::npos) << own;
}

}  // namespace
}  // namespace atl::frontends::console
