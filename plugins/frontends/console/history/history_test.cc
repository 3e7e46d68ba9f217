#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/testing/fake_host.h"
#include "frontends/console/history/history_json.h"
#include "frontends/console/history/history_ring.h"
#include "frontends/console/history/history_sampler.h"

namespace atl::frontends::console {
namespace {

/// Has the statistics that a test gives it, and nothing else.
class CountedCatalog final : public ModelCatalog {
 public:
  virtual ~CountedCatalog() = default;
  std::vector<ModelStatistics> models;
  RequestsNow now;

  /// \returns that of a version, which comes if it is not there
  ModelStatistics& at(const std::string& name, int64_t version = 1) {
    for (ModelStatistics& one : models) {
      if (one.name == name && one.version == version) return one;
    }
    models.push_back({});
    models.back().name = name;
    models.back().version = version;
    std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) {
      return std::tie(a.name, a.version) < std::tie(b.name, b.version);
    });
    return at(name, version);
  }
  void serve(const std::string& name, uint64_t requests, uint64_t ns = 1'000'000) {
    ModelStatistics& one = at(name);
    one.success.count += requests;
    one.success.ns += requests * ns;
    for (uint64_t i = 0; i < requests; ++i) one.latencies.total.add(ns);
  }

  void visit_statistics(const std::function<void(const ModelStatistics&)>& visit) const override {
    for (const ModelStatistics& one : models) visit(one);
  }
  RequestsNow requests_now() const noexcept override { return now; }

  Result<ModelRef> acquire(std::string_view, int64_t) noexcept override { return not_found("none"); }
  bool live() const noexcept override { return true; }
  bool ready() const noexcept override { return true; }
  bool exiting() const noexcept override { return false; }
  Result<std::vector<int64_t>> ready_versions(std::string_view) const noexcept override {
    return not_found("none");
  }
  Result<std::vector<ModelStatistics>> statistics(std::string_view, int64_t) const noexcept override {
    return models;
  }
  Result<std::vector<ModelIndexEntry>> index(bool) noexcept override {
    return std::vector<ModelIndexEntry>();
  }
  void load(std::vector<std::string>, std::function<void(std::vector<ModelLoadResult>)>) noexcept override {}
  void unload(std::vector<std::string>, std::function<void(std::vector<ModelLoadResult>)>) noexcept override {
  }
  void set_startup_complete() noexcept override {}
  void load_model(ModelLoadRequest, std::function<void(ModelLoadOutcome)>) noexcept override {}
  void unload_model(std::string, bool, std::function<void(Status)>) noexcept override {}
};

/// A console's history on a host, which another one may share.
struct Sampled {
  explicit Sampled(test::FakeHost& of) : host(of), ring(of) { EXPECT_TRUE(ring.open().ok()); }
  ~Sampled() { ring.close(); }
  /// What came in five seconds.
  std::shared_ptr<const HistoryPoint> look() {
    host.fake_clock().advance_to(host.clock().now_ns() + 5 * kNsPerSecond);
    sampler.look();
    host.run_ready();
    const HistoryView view = ring.view();
    return view.points.empty() ? nullptr : view.points.back();
  }
  test::FakeHost& host;
  CountedCatalog catalog;
  HistoryRing ring;
  HistorySampler sampler{catalog, host.clock(), ring};
};

TEST(History, APointIsWhatCameBetweenTwoLooks) {
  test::FakeHost host("console");
  Sampled sampled(host);
  sampled.catalog.serve("a", 100);
  EXPECT_EQ(sampled.look(), nullptr);  // nothing to compare with
  sampled.catalog.serve("a", 3, 2'000'000);
  sampled.catalog.serve("b", 1, 64'000'000);
  sampled.catalog.at("a").fail.count += 2;
  sampled.catalog.now = {7, 5};
  const auto point = sampled.look();
  ASSERT_NE(point, nullptr);
  EXPECT_EQ(point->success, 4u);
  EXPECT_EQ(point->fail, 2u);
  EXPECT_EQ(point->covers_ms, 5000);
  EXPECT_EQ(point->waiting, 7u);
  EXPECT_EQ(point->running, 5u);
  // Buckets are an eighth wide.
  EXPECT_NEAR(static_cast<double>(point->p50_ns), 2e6, 2.5e5);
  EXPECT_NEAR(static_cast<double>(point->p99_ns), 64e6, 8e6);
  ASSERT_EQ(point->row_count, 2u);
  const HistoryView view = sampled.ring.view();
  const HistoryRow* const a = HistoryView::row_of(*point, *view.find("a", 1));
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->success, 3u);
  EXPECT_EQ(a->fail, 2u);
  EXPECT_EQ(a->mean_us, 2000u);
}

TEST(History, CountsThatBeginAnewAreCountedFromThere) {
  test::FakeHost host("console");
  Sampled sampled(host);
  sampled.catalog.serve("a", 100);
  sampled.look();
  sampled.catalog.models.clear();
  sampled.catalog.serve("a", 4);
  EXPECT_EQ(sampled.look()->success, 4u);
  sampled.catalog.models.clear();
  const auto quiet = sampled.look();
  EXPECT_EQ(quiet->success, 0u);
  EXPECT_EQ(quiet->p50_ns, 0u);
}

TEST(History, KeepsTheLastPointsOnly) {
  test::FakeHost host("console");
  Sampled sampled(host);
  for (uint32_t i = 0; i < HistoryRing::kPoints + 12; ++i) sampled.look();
  const HistoryView view = sampled.ring.view();
  ASSERT_EQ(view.points.size(), HistoryRing::kPoints);
  EXPECT_EQ(view.points.front()->number, 11u);
  for (size_t i = 1; i < view.points.size(); ++i)
    EXPECT_EQ(view.points[i]->number, view.points[i - 1]->number + 1);
}

TEST(History, KeepsTheBusiestModels) {
  test::FakeHost host("console");
  Sampled sampled(host);
  sampled.look();
  const auto name = [](uint32_t i) { return cat("model", i); };
  for (uint32_t i = 0; i < 250; ++i) sampled.catalog.serve(name(i), i + 1);
  EXPECT_EQ(sampled.look()->row_count, HistoryPoint::kMostRows);
  EXPECT_EQ(sampled.ring.view().find(name(49), 1), nullptr);
  ASSERT_NE(sampled.ring.view().find(name(50), 1), nullptr);
  // Who is busier than a model was in all that is kept takes its place; that one's figures are not taken for its own.
  sampled.catalog.serve(name(0), 52);
  sampled.catalog.serve(name(1), 50);
  sampled.look();
  const HistoryView view = sampled.ring.view();
  EXPECT_EQ(view.find(name(50), 1), nullptr);
  EXPECT_EQ(view.find(name(1), 1), nullptr);
  const HistorySeries* const newcomer = view.find(name(0), 1);
  ASSERT_NE(newcomer, nullptr);
  EXPECT_EQ(HistoryView::row_of(*view.points.front(), *newcomer), nullptr);
  const std::string body = history_json(view, {"run", 1}, name(0), 1);
  EXPECT_NE(body.find(R"(,52,0,1000]])"), std::string::npos) << body;
}

TEST(History, NamesThatDoNotFitAreNobodys) {
  test::FakeHost host("console");
  Sampled sampled(host);
  sampled.look();
  sampled.catalog.serve(std::string(255, 'n'), 1);
  sampled.catalog.serve(std::string(400, 'n'), 1);
  EXPECT_EQ(sampled.look()->row_count, 1u);
  EXPECT_EQ(sampled.ring.view().points.back()->success, 2u);
}

TEST(History, ASuccessorGoesOn) {
  test::FakeHost host("console");
  auto before = std::make_unique<Sampled>(host);
  before->look();
  before->catalog.serve("a", 3);
  before->look();
  auto after = std::make_unique<Sampled>(host);
  host.run_ready();
  ASSERT_EQ(after->ring.view().points.size(), 1u);
  EXPECT_EQ(after->ring.view().points[0]->success, 3u);
  ASSERT_NE(after->ring.view().find("a", 1), nullptr);
  // The one before serves on while the other one starts.
  before->catalog.serve("b", 2);
  before->look();
  before.reset();
  after->look();
  after->catalog.serve("a", 9);
  EXPECT_EQ(after->look()->number, 2u);
  EXPECT_EQ(after->ring.view().points.size(), 3u);
  const std::string body = history_json(after->ring.view(), {"run", 1});
  EXPECT_NE(
      body.find(
          R"("busiest":[{"name":"a","version":"1","success":12,"fail":0,"mean_us":1000,"recent_success":9,"recent_fail":0},{"name":"b")"),
      std::string::npos)
      << body;
}

TEST(History, InstancesOfOtherNamesAreOthers) {
  test::FakeHost host("console");
  Sampled sampled(host);
  HistoryPoint point;
  point.key_text = "other 0";
  host.events().publish(point);
  point.key_text = "console 2 0";
  host.events().publish(point);
  host.run_ready();
  EXPECT_TRUE(sampled.ring.view().points.empty());
}

TEST(HistoryQuery, WhatIsAskedFor) {
  Result<HistoryQuery> one = HistoryQuery::parse("version=3&model=a%26b");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->model, "a&b");
  EXPECT_EQ(one->version, 3);
  EXPECT_TRUE(HistoryQuery::parse("").ok());
  for (const char* wrong : {"model=a", "version=1", "model=a&version=x", "model=a&version=-1", "page=1",
                            "model=a&version=9223372036854775808"})
    EXPECT_FALSE(HistoryQuery::parse(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace atl::frontends::console
