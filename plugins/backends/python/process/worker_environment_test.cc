#include "backends/python/process/worker_environment.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace atl::python {
namespace {

std::vector<std::string> passed(std::vector<std::string> entries, std::vector<std::string> more = {}) {
  std::vector<char*> raw;
  for (std::string& entry : entries) raw.push_back(entry.data());
  raw.push_back(nullptr);
  return worker_environment(raw.data(), more);
}

TEST(WorkerEnvironment, HasWhatProgramsNeedAndNoSecrets) {
  const auto environment = passed({"PATH=/bin", "AWS_SECRET_ACCESS_KEY=s", "LC_ALL=C", "OMP_NUM_THREADS=2",
                                   "ATOLL__PLUGIN__GRPC__ADDRESS=x", "PYTHONPATH=/p", "PATHS=1", "EMPTY"});
  EXPECT_EQ(environment,
            (std::vector<std::string>{"PATH=/bin", "LC_ALL=C", "OMP_NUM_THREADS=2", "PYTHONPATH=/p",
                                      "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"}));
}

TEST(WorkerEnvironment, MoreIsPassedOnByNameOrPrefix) {
  const auto environment = passed({"HF_HOME=/h", "HF_TOKEN=t", "MY_A=1", "MY_B=2"}, {"HF_HOME", "MY_*"});
  EXPECT_EQ(variable(environment, "HF_HOME"), "/h");
  EXPECT_EQ(variable(environment, "HF_TOKEN"), "");
  EXPECT_EQ(variable(environment, "MY_B"), "2");
}

TEST(WorkerEnvironment, AllOfThemAreNotTheServersOwn) {
  const auto environment = passed({"HF_TOKEN=t", "ATOLL__PLUGIN__KEYS__RESTRICTED_APIS=[]"}, {"*"});
  EXPECT_EQ(variable(environment, "HF_TOKEN"), "t");
  EXPECT_EQ(variable(environment, "ATOLL__PLUGIN__KEYS__RESTRICTED_APIS"), "");
}

TEST(WorkerEnvironment, BytecodeIsWrittenOnlyWhereAFolderIsSaid) {
  const auto environment = passed({"PYTHONPYCACHEPREFIX=/cache", "PYTHONUNBUFFERED="});
  EXPECT_EQ(variable(environment, "PYTHONDONTWRITEBYTECODE"), "");
  EXPECT_EQ(variable(environment, "PYTHONUNBUFFERED"), "1");
  EXPECT_EQ(
      std::ranges::count_if(environment, [](const std::string& e) { return e.starts_with("PYTHONUNBUF"); }),
      1);
}

TEST(WorkerEnvironment, AVariableIsReplacedOrRemoved) {
  std::vector<std::string> environment = {"A=1", "AB=2"};
  set_variable(environment, "A", "3");
  EXPECT_EQ(variable(environment, "A"), "3");
  set_variable(environment, "A", "");
  EXPECT_EQ(environment, std::vector<std::string>{"AB=2"});
}

}  // namespace
}  // namespace atl::python
