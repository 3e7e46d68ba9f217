#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/testing/fake_host.h"
#include "frontends/console/timeline/timeline_json.h"
#include "frontends/console/timeline/timeline_recorder.h"
#include "frontends/console/timeline/timeline_ring.h"

namespace atl::frontends::console {
namespace {

using PluginState = PluginStateChanged::State;
using ServerState = ServerStateChanged::State;

void publish(test::FakeHost& host, const std::string& model, ModelState state, const std::string& reason = {},
             int64_t version = 1) {
  ModelStateChanged event;
  event.key_text = cat(model, "/", version);
  event.model = model;
  event.version = version;
  event.state = state;
  event.reason = reason;
  host.events().publish(event);
}

void publish(test::FakeHost& host, ServerState state, uint64_t generation) {
  ServerStateChanged event;
  event.state = state;
  event.generation = generation;
  host.events().publish(event);
}

void publish(test::FakeHost& host, const std::string& instance, PluginState state, uint64_t generation,
             const std::string& reason = {}) {
  PluginStateChanged event;
  event.instance = instance;
  event.plugin = cat("frontends/", instance);
  event.state = state;
  event.generation = generation;
  event.reason = reason;
  host.events().publish(event);
}

void publish(test::FakeHost& host, ReloadChanged::State state, uint64_t generation,
             const std::string& reason) {
  ReloadChanged event;
  event.state = state;
  event.generation = generation;
  event.reason = reason;
  host.events().publish(event, /*retain=*/false);
}

/// A console's timeline on a host, which another one may share.
struct Recorded {
  explicit Recorded(test::FakeHost& of) : host(of), ring(of), recorder(of, ring) {
    EXPECT_TRUE(ring.open().ok());
    EXPECT_TRUE(recorder.open().ok());
    host.run_ready();
  }
  ~Recorded() {
    recorder.close();
    ring.close();
  }
  /// Oldest first: "model.ready a/1", "plugin.failed http: reason".
  std::vector<std::string> lines() {
    host.run_ready();
    std::vector<std::string> all;
    for (const auto& entry : ring.view()) {
      std::string line = cat(kind_name(entry->kind), " ", entry->subject.view());
      if (entry->version != TimelineEntry::kUnknown) line += cat("/", entry->version);
      if (!entry->reason.view().empty()) line += cat(": ", entry->reason.view());
      all.insert(all.begin(), line);
    }
    return all;
  }
  test::FakeHost& host;
  TimelineRing ring;
  TimelineRecorder recorder;
};

using Lines = std::vector<std::string>;

TEST(Timeline, WhatHappensToModels) {
  test::FakeHost host("console");
  Recorded recorded(host);
  publish(host, "a", ModelState::kLoading);
  host.run_ready();
  host.fake_clock().advance_to(host.clock().now_ns() + 3 * kNsPerSecond);
  publish(host, "a", ModelState::kReady);
  host.run_ready();
  EXPECT_EQ(recorded.ring.view().at(0)->took_ms, 3000);
  publish(host, "a", ModelState::kReady);
  publish(host, "a", ModelState::kUnloading);
  publish(host, "a", ModelState::kUnavailable, "unloaded");
  publish(host, "b", ModelState::kLoading, "", 2);
  publish(host, "b", ModelState::kUnavailable, "no such file", 2);
  EXPECT_EQ(recorded.lines(), Lines({"model.ready a/1", "model.replaced a/1", "model.unloaded a/1",
                                     "model.failed b/2: no such file"}));
  EXPECT_EQ(recorded.ring.view().at(1)->took_ms, TimelineEntry::kUnknown);
}

TEST(Timeline, WhatHappensToTheServerAndItsPlugins) {
  test::FakeHost host("console");
  Recorded recorded(host);
  publish(host, ServerState::kActive, 1);
  publish(host, "http", PluginState::kCreated, 2);
  publish(host, "http", PluginState::kActive, 2);
  publish(host, "http", PluginState::kStopped, 1);
  // The successor's name becomes its own.
  publish(host, "http", PluginState::kActive, 2);
  publish(host, "grpc", PluginState::kFailed, 3, "no port");
  publish(host, ReloadChanged::State::kBegun, 2, "");
  publish(host, ReloadChanged::State::kRefused, 2, "grpc: no port");
  publish(host, ReloadChanged::State::kApplied, 3, "");
  publish(host, ServerState::kActive, 3);
  publish(host, ServerState::kDraining, 3);
  EXPECT_EQ(recorded.lines(), Lines({"server.active ", "plugin.active http", "plugin.stopped http",
                                     "plugin.failed grpc: no port", "reload.refused : grpc: no port",
                                     "reload.applied ", "server.draining "}));
}

TEST(Timeline, WhoHasToldTheServerToChangeSomething) {
  test::FakeHost host("console");
  Recorded recorded(host);
  ControlCallEnded event;
  event.call = std::string_view("POST /v2/repository/models/a/load");
  event.subject = std::string_view("ops");
  event.peer = std::string_view("ipv4:127.0.0.1:5");
  event.model = std::string_view("a");
  event.status = 200;
  host.events().publish(event, /*retain=*/false);
  event.status = 400;
  event.is_failure = true;
  event.subject = std::string_view();
  host.events().publish(event, /*retain=*/false);
  EXPECT_EQ(recorded.lines(), Lines({"call.ended a", "call.failed a"}));
  const std::string all = timeline_json(recorded.ring.view(), {}, {"run", 1}, 7, nullptr);
  EXPECT_NE(
      all.find(R"("kind":"call.ended","model":"a","call":"POST /v2/repository/models/a/load","caller":"ops",)"
               R"("peer":"ipv4:127.0.0.1:5","status":200})"),
      std::string::npos)
      << all;
}

TEST(Timeline, ACallDoesNotMakeAKnownFailureNews) {
  test::FakeHost host("console");
  Recorded recorded(host);
  CatalogLook look;
  look.taken_ns = 1;
  look.entries = {{"a", "", "UNAVAILABLE", "no backend"}};
  recorded.recorder.note_failures(look);
  ControlCallEnded event;
  event.model = std::string_view("a");
  host.events().publish(event, /*retain=*/false);
  const Lines both = {"model.failed a: no backend", "call.ended a"};
  EXPECT_EQ(recorded.lines(), both);
  Recorded after(host);
  look.taken_ns = 2;
  after.recorder.note_failures(look);
  EXPECT_EQ(after.lines(), both);
}

TEST(Timeline, WhatIsSoAlreadyIsNewsOnlyWhileTheServerIsBroughtUp) {
  for (const auto& [state, expected] :
       {std::pair(ServerState::kStarting, Lines({"plugin.active http", "model.ready a/1"})),
        std::pair(ServerState::kActive, Lines())}) {
    test::FakeHost host("console");
    publish(host, state, 1);
    publish(host, "http", PluginState::kActive, 1);
    publish(host, "a", ModelState::kReady);
    publish(host, "b", ModelState::kLoading);
    Recorded recorded(host);
    EXPECT_EQ(recorded.lines(), expected);
    publish(host, "b", ModelState::kReady);
    EXPECT_EQ(recorded.lines().back(), "model.ready b/1");
  }
}

TEST(Timeline, FailuresOutlastSuccesses) {
  test::FakeHost host("console");
  Recorded recorded(host);
  publish(host, "broken", ModelState::kUnavailable, "why");
  for (uint32_t i = 0; i < 2 * TimelineRing::kEntries; ++i) {
    publish(host, cat("m", i), ModelState::kUnavailable, "unloaded");
    host.run_ready();
  }
  const TimelineEntries view = recorded.ring.view();
  ASSERT_EQ(view.size(), TimelineRing::kEntries - TimelineRing::kFailures + 1);
  EXPECT_EQ(view.back()->subject.view(), "broken");
  EXPECT_EQ(view.front()->subject.view(), cat("m", 2 * TimelineRing::kEntries - 1));
  // And the other way round.
  for (uint32_t i = 0; i < 2 * TimelineRing::kFailures; ++i) {
    publish(host, cat("f", i), ModelState::kUnavailable, "why");
    host.run_ready();
  }
  EXPECT_EQ(recorded.ring.view().size(), TimelineRing::kEntries);
}

TEST(Timeline, ASuccessorGoesOn) {
  test::FakeHost host("console");
  auto before = std::make_unique<Recorded>(host);
  publish(host, "a", ModelState::kReady);
  publish(host, "b", ModelState::kUnavailable, "why");
  host.run_ready();
  host.set_replaces_running_instance(true);
  auto after = std::make_unique<Recorded>(host);
  // What happens while both are there is noted by the one before, and nobody else.
  publish(host, "c", ModelState::kReady);
  EXPECT_EQ(after->lines(), Lines({"model.replaced a/1", "model.failed b/1: why"}));
  TimelineEntry noted;
  noted.kind = TimelineKind::kModelReady;
  noted.subject = "c";
  noted.version = 1;
  before->ring.add(noted);
  EXPECT_EQ(after->lines().back(), "model.ready c/1");
  before.reset();
  host.set_replaces_running_instance(false);
  publish(host, "d", ModelState::kUnavailable, "why");
  EXPECT_EQ(after->lines().back(), "model.failed d/1: why");
  ASSERT_EQ(after->ring.view().size(), 4u);
  EXPECT_EQ(after->ring.view().front()->number, 4u);
  test::FakeHost other("console 2");
  EXPECT_TRUE(Recorded(other).lines().empty());
}

TEST(Timeline, FailuresThatOnlyALookTells) {
  test::FakeHost host("console");
  Recorded recorded(host);
  CatalogLook look;
  look.taken_ns = 1;
  look.entries = {{"bad", "", "UNAVAILABLE", "no backend"},
                  {"kept", "2", "READY", "serves what was loaded before"},
                  {"told", "1", "UNAVAILABLE", "by an event"},
                  {"never", "", "", ""}};
  recorded.recorder.note_failures(look);
  const Lines first = {"model.failed bad: no backend", "model.failed kept/2: serves what was loaded before"};
  EXPECT_EQ(recorded.lines(), first);
  look.taken_ns = 2;
  recorded.recorder.note_failures(look);
  EXPECT_EQ(recorded.lines(), first);
  // Another instance finds them noted.
  Recorded after(host);
  after.recorder.note_failures(look);
  EXPECT_EQ(after.lines(), first);
  look.taken_ns = 3;
  look.entries[0].reason = "no file";
  after.recorder.note_failures(look);
  EXPECT_EQ(after.lines().back(), "model.failed bad: no file");
}

/// May see the model "a".
class SeesOne final : public Identity {
 public:
  std::string_view name() const noexcept override { return "somebody"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory, std::string_view, std::string_view model) const noexcept override {
    return model == "a";
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return false; }
  bool holds() const noexcept override { return true; }
};

TEST(Timeline, AsJson) {
  test::FakeHost host("console");
  Recorded recorded(host);
  publish(host, "http", PluginState::kFailed, 2, "no \"port\"");
  publish(host, "a", ModelState::kUnavailable, "unloaded");
  publish(host, "<b>", ModelState::kUnavailable, "unloaded", 3);
  host.run_ready();
  TimelineEntries view = recorded.ring.view();
  const auto entries = [&](const TimelineQuery& query, const Identity* identity = nullptr) {
    const std::string body = timeline_json(view, query, {"run", 1}, 7, identity);
    EXPECT_TRUE(body.starts_with(R"({"run":"run","started_ms":1,"time_ms":7,"entries":[)")) << body;
    std::string found = body.substr(body.find("\"entries\""));
    // When it was depends on the clock.
    for (size_t at = 0; (at = found.find(",\"time_ms\":", at)) != std::string::npos;)
      found.erase(at, found.find(',', at + 1) - at);
    return found;
  };
  const std::string third = R"({"number":3,"kind":"model.unloaded","model":"<b>","version":"3"})";
  const std::string second = R"({"number":2,"kind":"model.unloaded","model":"a","version":"1"})";
  const std::string first =
      R"({"number":1,"kind":"plugin.failed","generation":2,"instance":"http","plugin":"frontends/http","reason":"no \"port\""})";
  EXPECT_EQ(entries({}), cat(R"("entries":[)", third, ",", second, ",", first, "]}"));
  EXPECT_EQ(entries({.since = 2}), cat(R"("entries":[)", third, "]}"));
  EXPECT_EQ(entries({.limit = 2}), cat(R"("entries":[)", third, ",", second, "]}"));
  const SeesOne one;
  EXPECT_EQ(entries({}, &one), cat(R"("entries":[)", second, "]}"));
}

TEST(TimelineQuery, WhatIsAskedFor) {
  Result<TimelineQuery> query = TimelineQuery::parse("since=7&limit=3");
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->since, 7u);
  EXPECT_EQ(query->limit, 3u);
  EXPECT_EQ(TimelineQuery::parse("")->limit, TimelineRing::kEntries);
  for (const char* wrong : {"since=x", "limit=-1", "kind=model.ready"})
    EXPECT_FALSE(TimelineQuery::parse(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace atl::frontends::console
