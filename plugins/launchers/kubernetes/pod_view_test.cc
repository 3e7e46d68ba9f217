#include "launchers/kubernetes/pod_view.h"

#include <gtest/gtest.h>

namespace atl::launchers {
namespace {

PodView view(const std::string& status, const std::string& metadata = "{}") {
  return PodView::read(
      parse_json(cat(R"({"metadata":)", metadata, R"(,"spec":{"nodeName":"n1"},"status":)", status, "}")));
}

PodView with_server(const std::string& phase, const std::string& state, const std::string& more = "") {
  return view(
      cat(R"({"phase":")", phase, R"(","podIP":"10.0.0.1",)", more,
          R"("containerStatuses":[{"name":"beside","state":{"running":{}}},{"name":"server","state":{)",
          state, "}}]}"));
}

TEST(PodView, IsWhoseItIs) {
  const PodView pod =
      view("{}", R"({"name":"p","uid":"u","resourceVersion":"7","annotations":{"atoll.dev/server-id":"a"},
                                     "labels":{"atoll.dev/keeper":"k"},"deletionTimestamp":"2026-01-01T00:00:00Z"})");
  EXPECT_EQ(pod.name + pod.uid + pod.version + pod.server_id + pod.keeper + pod.node, "pu7akn1");
  EXPECT_TRUE(pod.is_ending);
  EXPECT_EQ(pod.stage, PodStage::kStarting);
  EXPECT_TRUE(pod.reason.ok());
}

TEST(PodView, RunsWithAnAddress) {
  EXPECT_EQ(with_server("Running", R"("running":{})").stage, PodStage::kRunning);
  EXPECT_EQ(with_server("Running", R"("running":{})").host, "10.0.0.1");
  EXPECT_EQ(
      view(R"({"phase":"Running","containerStatuses":[{"name":"server","state":{"running":{}}}]})").stage,
      PodStage::kStarting);
  EXPECT_EQ(
      view(
          R"({"phase":"Running","podIP":"1.2.3.4","containerStatuses":[{"name":"beside","state":{"running":{}}}]})")
          .stage,
      PodStage::kStarting);
}

TEST(PodView, WaitsForANodeWithCounts) {
  const PodView pod = view(
      R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
                               "message":"0/3 nodes are available: 3 Insufficient cpu."}]})");
  EXPECT_EQ(pod.stage, PodStage::kUnplaced);
  EXPECT_EQ(pod.reason.code(), Code::kResourceExhausted);
  EXPECT_EQ(pod.reason.message(), "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.");
}

TEST(PodView, SaysWhatItWaitsForAndWhetherThatCanCome) {
  const auto waiting = [](const char* reason, const char* message) {
    return with_server("Pending",
                       cat(R"("waiting":{"reason":")", reason, R"(","message":")", message, R"("})"));
  };
  EXPECT_TRUE(waiting("ContainerCreating", "").reason.ok());
  for (const char* reason :
       {"ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerError"}) {
    EXPECT_EQ(waiting(reason, "m").reason.code(), Code::kUnavailable) << reason;
    EXPECT_EQ(waiting(reason, "m").reason.message(),
              cat("container 'server' does not start: ", reason, ": m"));
  }
  for (const char* reason : {"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"})
    EXPECT_EQ(waiting(reason, "m").reason.code(), Code::kInvalidArgument) << reason;
}

TEST(PodView, ItsOwnSecretMayStillCome) {
  const auto lacks = [](const char* secret) {
    return view(
        cat(R"({"containerStatuses":[{"name":"server","state":{"waiting":{"reason":"CreateContainerConfigError","message":"secret \")",
            secret, R"(\" not found"}}}]})"),
        R"({"name":"atoll-p-1"})");
  };
  EXPECT_EQ(lacks("atoll-p-1").reason.code(), Code::kUnavailable);
  EXPECT_EQ(lacks("other").reason.code(), Code::kInvalidArgument);
}

TEST(PodView, EndsForAReason) {
  const auto ended = [](const char* terminated, const char* more = "") {
    return with_server("Failed", cat(R"("terminated":)", terminated), more);
  };
  EXPECT_EQ(ended(R"({"exitCode":3,"reason":"Error"})").stage, PodStage::kEnded);
  EXPECT_EQ(ended(R"({"exitCode":3,"reason":"Error"})").reason.message(),
            "its server ended with exit code 3");
  EXPECT_TRUE(ended(R"({"exitCode":3,"reason":"Error"})").has_log);
  EXPECT_EQ(ended(R"({"exitCode":137,"reason":"OOMKilled"})").reason.message(),
            "it needed more memory than it may have (OOMKilled)");
  EXPECT_EQ(ended(R"({"exitCode":128,"reason":"StartError","message":"no such file"})").reason.text(),
            "its command cannot be executed: StartError: no such file");
  EXPECT_EQ(ended(R"({"exitCode":128,"reason":"StartError"})").reason.code(), Code::kInvalidArgument);
  EXPECT_EQ(
      ended(
          R"({"exitCode":143,"reason":"Error"})",
          R"("conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler","message":"by x"}],)")
          .reason.message(),
      "the cluster has ended it: PreemptionByScheduler: by x");
  EXPECT_EQ(with_server("Running", R"("terminated":{"exitCode":0,"reason":"Completed"})").stage,
            PodStage::kEnded)
      << "the container beside it still runs";
}

TEST(PodView, ItsNodeOrTheClusterEndsIt) {
  const PodView evicted =
      view(R"({"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."})");
  EXPECT_EQ(evicted.reason.code(), Code::kUnavailable);
  EXPECT_EQ(evicted.reason.message(),
            "the cluster has ended it: Evicted: The node was low on resource: memory.");
  EXPECT_FALSE(evicted.has_log);
  for (const char* reason : {"OutOfcpu", "OutOfmemory", "OutOfnvidia.com/gpu", "UnexpectedAdmissionError"})
    EXPECT_EQ(view(cat(R"({"phase":"Failed","reason":")", reason, R"("})")).reason.code(),
              Code::kResourceExhausted)
        << reason;
  for (const char* reason : {"NodeLost", "NodeShutdown", "Preempting"})
    EXPECT_EQ(view(cat(R"({"phase":"Failed","reason":")", reason, R"("})")).reason.code(), Code::kUnavailable)
        << reason;
}

TEST(PodView, OddJsonIsNoPod) {
  for (const char* text :
       {"", "1", "[]", R"({"metadata":[],"status":{"phase":1,"conditions":{"a":1},"containerStatuses":"x"}})",
        R"({"status":{"conditions":[1,null,{"type":1}],"containerStatuses":[1,{"name":[]}]}})"}) {
    const PodView pod = PodView::read(parse_json(text));
    EXPECT_EQ(pod.name, "");
    EXPECT_EQ(pod.stage, PodStage::kStarting) << text;
  }
}

}  // namespace
}  // namespace atl::launchers
