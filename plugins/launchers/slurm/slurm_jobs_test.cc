#include "launchers/slurm/slurm_jobs.h"

#include <gtest/gtest.h>

namespace atl::launchers {
namespace {

TEST(SlurmQueue, HasTheJobsOfServers) {
  const auto jobs = read_queue(
      "7|atoll-a|RUNNING|None|n0\n8|atoll-b|PENDING|Resources|\n9|atoll-c|NODE_FAIL|NodeDown|n1\n"
      "10|atoll-d|COMPLETING|None|n[1-2]\n\nslurm_load_jobs error\n11|x\n1_2|atoll-e|RUNNING|None|n0");
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs.at("atoll-a").phase, JobPhase::kRunning);
  EXPECT_EQ(jobs.at("atoll-b").phase, JobPhase::kWaiting);
  EXPECT_EQ(jobs.at("atoll-b").why, "Resources");
  EXPECT_EQ(jobs.at("atoll-c").phase, JobPhase::kEnded);
  EXPECT_EQ(jobs.at("atoll-d").phase, JobPhase::kEnding);
  EXPECT_EQ(jobs.at("atoll-d").nodes, "n[1-2]");
  EXPECT_TRUE(read_queue("").empty());
}

TEST(SlurmQueue, OfAJobThatWasSubmittedTwiceTheLivingOneCounts) {
  EXPECT_EQ(read_queue("9|a|RUNNING|None|n0\n10|a|CANCELLED|None|").at("a").id, "9");
  EXPECT_EQ(read_queue("10|a|CANCELLED|None|\n9|a|RUNNING|None|n0").at("a").id, "9");
  EXPECT_EQ(read_queue("9|a|FAILED|None|\n10|a|CANCELLED|None|").at("a").id, "10");
}

TEST(SlurmJob, LostNodesAndPreemptedJobsAreToldApart) {
  const auto why = [](std::string state) {
    const Status status =
        ended_because({"7", JobPhase::kEnded, std::move(state), "None", "n1"}, "no licence");
    EXPECT_EQ(status.code(), Code::kUnavailable);
    return std::string(status.message());
  };
  EXPECT_EQ(why("NODE_FAIL"), "Slurm has lost node n1 (job 7: NODE_FAIL)");
  EXPECT_EQ(why("PREEMPTED"), "its job 7 was preempted by another one on node n1");
  EXPECT_EQ(why("OUT_OF_MEMORY"), "its job 7 took more memory than it has on node n1: no licence");
  EXPECT_EQ(why("TIMEOUT"), "its job 7 has reached its time limit (TIMEOUT)");
  EXPECT_EQ(why("CANCELLED"), "its job 7 was cancelled by somebody else");
  EXPECT_EQ(why("FAILED"), "its job 7 has ended on node n1 (FAILED): no licence");
  EXPECT_EQ(why("NEW_STATE"), "its job 7 has ended on node n1 (NEW_STATE): no licence");
}

TEST(SlurmJob, RefusalsAreForeverForNowOrOfAnEngineThatIsAway) {
  EXPECT_EQ(refused_because(
                "sbatch: error: Batch job submission failed: Requested node configuration is not available")
                .code(),
            Code::kInvalidArgument);
  EXPECT_EQ(refused_because("sbatch: error: Unable to contact slurm controller (connect failure)").code(),
            Code::kUnavailable);
  EXPECT_EQ(refused_because("sbatch: error: QOSMaxSubmitJobPerUserLimit").code(), Code::kResourceExhausted);
}

TEST(SlurmJob, ItsScriptBecomesTheServer) {
  EXPECT_EQ(
      job_script({"/bin/server", "--a=b c", "it's", "$HOME", cat("--host=", kHostPlace)}, false),
      "#!/bin/sh\nhost=127.0.0.1\nexec '/bin/server' '--a=b c' 'it'\\''s' '$HOME' '--host='\"$host\"''\n");
  EXPECT_EQ(
      job_script({"server", cat("--http-restricted-api=trace:atoll-key=", kKeyPlace)}, false),
      "#!/bin/sh\nhost=127.0.0.1\nexec 'server' '--http-restricted-api=trace:atoll-key='\"$ATOLL_SERVER_KEY\"''\n")
      << "a script can be read by others than those who may use the key";
  EXPECT_NE(job_script({"x"}, true).find("hostname -I"), std::string::npos);
}

}  // namespace
}  // namespace atl::launchers
