#include <gtest/gtest.h>

#include <algorithm>

#include "frontends/console/testing/served_console.h"
#include "frontends/console/traces/traces_json.h"

namespace atl::frontends::console {
namespace {

using test::FixedTraces;
using test::kLocal;
using test::OneModel;
using test::ReceivedHttpReply;
using test::ServedConsole;

/// Sees the models "pair" and "first".
class TwoModels final : public Identity {
 public:
  std::string_view name() const noexcept override { return "somebody"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory, std::string_view category, std::string_view model) const noexcept override {
    return category == "console.read" && (model == "pair" || model == "first");
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return false; }
  bool holds() const noexcept override { return true; }
};

const ProcessStart kStart{"run", 1};

TraceSummary summary(uint64_t id, std::string model) {
  TraceSummary one;
  one.id = id;
  one.trace_id = "a7";
  one.begin_wall_ns = 5'000'000;
  one.duration_ns = 90;
  one.model = std::move(model);
  one.version = 2;
  one.request_id = "<r>\xff";
  one.spans = 3;
  one.left_out = 4;
  return one;
}

std::string list(const std::vector<TraceSummary>& traces, std::string_view query,
                 const Identity* identity = nullptr) {
  return traces_json(traces, TracesQuery::parse(query).value(), "why not", true, kStart, 9, identity);
}

TEST(TracesQuery, ItsParts) {
  const TracesQuery none = TracesQuery::parse("").value();
  EXPECT_FALSE(none.id);
  EXPECT_EQ(none.model, "");
  EXPECT_EQ(none.limit, 100u);
  const TracesQuery some = TracesQuery::parse("model=a%20b&limit=0").value();
  EXPECT_EQ(some.model, "a b");
  EXPECT_EQ(some.limit, 0u);
  EXPECT_EQ(TracesQuery::parse("id=7").value().id, 7u);
  for (const char* wrong : {"id=", "id=x", "id=-1", "id=1&limit=2", "model=a&id=1", "limit=101", "limit=x",
                            "page=1", "id=18446744073709551616"}) {
    EXPECT_EQ(TracesQuery::parse(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
}

TEST(TracesJson, ThoseOfAModelAndAsManyAsAreAskedFor) {
  const std::vector<TraceSummary> traces = {summary(1, "first"), summary(2, "other"), summary(3, "first")};
  EXPECT_EQ(
      list({summary(1, "first")}, ""),
      R"({"run":"run","time_ms":9,"active":true,"matching":1,"traces":[{"id":1,"trace_id":"a7","begin_ms":5,)"
      R"("duration_ns":90,"model":"first","version":"2","request_id":"<r>)"
      "\xEF\xBF\xBD"
      R"(","span_count":3,"left_out":4}]})");
  const auto ids = [&](std::string_view query, const Identity* identity = nullptr) {
    const std::string text = list(traces, query, identity);
    std::string found = text.substr(text.find("\"matching\":") + 11, 1) + ":";
    for (size_t at = 0; (at = text.find("{\"id\":", at)) != std::string::npos; ++at) found += text[at + 6];
    return found;
  };
  EXPECT_EQ(ids(""), "3:123");
  EXPECT_EQ(ids("model=first"), "2:13");
  EXPECT_EQ(ids("model=first&limit=1"), "2:1");
  EXPECT_EQ(ids("model=fir"), "0:");
  const TwoModels identity;
  EXPECT_EQ(ids("", &identity), "2:13");
  EXPECT_EQ(ids("model=other", &identity), "0:");
  EXPECT_EQ(list(traces, "", nullptr).find("why"), std::string::npos);
  EXPECT_NE(list(traces, "model=none").find(R"("why":"why not")"), std::string::npos);
}

TEST(TracesJson, SpansOfModelsThatMayNotBeSeenHaveNoNames) {
  FinishedTrace trace{summary(8, "pair"), {}};
  trace.spans = {{"trace", TraceSpan::kNoParent, 0, 90, "", 0},
                 {"request", 0, 1, 80, "pair", 2},
                 {"request", 1, 2, 70, "hidden", 1}};
  const std::string begin =
      R"("spans":[{"name":"trace","begin_ns":0,"end_ns":90},)"
      R"({"name":"request","parent":0,"begin_ns":1,"end_ns":80,"model":"pair","version":"2"},)"
      R"({"name":"request","parent":1,"begin_ns":2,"end_ns":70)";
  const std::string all = trace_json(trace, kStart, nullptr);
  EXPECT_NE(all.find(begin + R"(,"model":"hidden","version":"1"}]})"), std::string::npos) << all;
  EXPECT_EQ(all.find(R"({"run":"run","id":8,"trace_id":"a7",)"), 0u) << all;
  const TwoModels identity;
  const std::string some = trace_json(trace, kStart, &identity);
  EXPECT_NE(some.find(begin + "}]}"), std::string::npos) << some;
}

TEST(TracesCall, TracesOrWhyThereAreNone) {
  ServedConsole served;
  const auto answer = [&] { return served.ask("/v2/console/traces").body; };
  EXPECT_NE(
      answer().find(R"("active":false,"why":"No plugin keeps traces. Add telemetry/trace to the manifest)"),
      std::string::npos)
      << answer();
  EXPECT_EQ(served.ask("/v2/console/traces?id=1").status, 404);
  FixedTraces& traces = served.keep_traces();
  EXPECT_NE(
      answer().find(R"("active":false,"why":"No request is traced, as the level is OFF. Set trace_level)"),
      std::string::npos)
      << answer();
  traces.is_active = true;
  EXPECT_NE(
      answer().find(R"("active":true,"why":"No trace of these models has ended in the last 15 minutes.)"),
      std::string::npos)
      << answer();
  traces.has_any = true;
  EXPECT_EQ(answer().find("why"), std::string::npos) << answer();
  EXPECT_NE(answer().find(R"("matching":2,"traces":[{"id":1,)"), std::string::npos) << answer();
  const ReceivedHttpReply one = served.ask("/v2/console/traces?id=2");
  EXPECT_EQ(one.status, 200);
  EXPECT_NE(one.body.find(R"("spans":[{"name":"trace",)"), std::string::npos) << one.body;
  EXPECT_EQ(served.ask("/v2/console/traces?id=3").status, 404);
  EXPECT_EQ(served.ask("/v2/console/traces?id=x").status, 400);
}

TEST(TracesCall, TracesAreOfTheModelsThatACallerSees) {
  ServedConsole served;
  served.keep_traces().has_any = true;
  const OneModel one("first");
  const std::string body = served.ask("/v2/console/traces", kLocal, &one).body;
  EXPECT_NE(body.find(R"("matching":1,"traces":[{"id":1,)"), std::string::npos) << body;
  EXPECT_EQ(served.ask("/v2/console/traces?id=1", kLocal, &one).status, 200);
  // What may not be seen is told from nothing that there is not.
  const ReceivedHttpReply hidden = served.ask("/v2/console/traces?id=2", kLocal, &one);
  EXPECT_EQ(hidden.status, 404);
  std::string none = served.ask("/v2/console/traces?id=9", kLocal, &one).body;
  std::replace(none.begin(), none.end(), '9', '2');
  EXPECT_EQ(hidden.body, none);
}

}  // namespace
}  // namespace atl::frontends::console
