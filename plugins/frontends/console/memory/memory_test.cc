#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "frontends/console/memory/memory_json.h"
#include "frontends/console/memory/process_memory.h"

namespace atl::frontends::console {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

uint64_t sum_of(const MemorySources& sources) {
  const std::vector<MemoryPart> parts = memory_parts(sources);
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0},
                         [](uint64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

TEST(ProcessMemory, IsReadOfTheSystemsText) {
  const ProcessMemory found = process_memory_of(
      "Name:\tRssAnon:\nVmRSS:\t   99 kB\nRssAnon:\t      20 kB\nRssFile:\t 3 kB\nRssShmem:\t1 kB\n");
  EXPECT_EQ(found.anonymous, 20u * 1024);
  EXPECT_EQ(found.file, 3u * 1024);
  EXPECT_EQ(found.shared, 1024u);
  EXPECT_EQ(found.resident, 24u * 1024);
  EXPECT_EQ(process_memory_of("").resident, 0u);
}

TEST(ProcessMemory, GrowsByWhatIsWrittenTo) {
  const ProcessMemory before = process_memory();
  ASSERT_GT(before.anonymous, 0u);
  std::vector<char> taken(64 * kMib);
  std::fill(taken.begin(), taken.end(), 'x');
  EXPECT_GE(process_memory().anonymous, before.anonymous + 60 * kMib) << taken[1];
}

TEST(ProcessMemory, ProcessesThatWereStartedAreFound) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    char byte = 0;
    _exit(static_cast<int>(read(ends[0], &byte, 1)));  // until the parent closes its end
  }
  ASSERT_GT(child, 0);
  const std::vector<ChildProcess> found = child_processes(10);
  close(ends[1]);
  close(ends[0]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  const auto it =
      std::find_if(found.begin(), found.end(), [&](const ChildProcess& one) { return one.pid == child; });
  ASSERT_NE(it, found.end());
  EXPECT_FALSE(it->name.empty());
  EXPECT_GT(it->resident_bytes, 0u);
  EXPECT_TRUE(child_processes(0).empty());
}

TEST(MemoryParts, AddUpToWhatIsResident) {
  MemorySources sources;
  sources.process = {100, 60, 30, 10};
  EXPECT_EQ(sum_of(sources), 100u);
  sources.models = 20;
  sources.cache = 5;
  sources.requests = 15;
  std::vector<MemoryPart> parts = memory_parts(sources);
  EXPECT_EQ(sum_of(sources), 100u);
  ASSERT_EQ(parts.size(), 6u);
  EXPECT_EQ(parts[3].owner, "rest");
  EXPECT_EQ(parts[3].bytes, 20u);
  // What was taken and never written to is not resident.
  sources.models = 59;
  sources.cache = 1000;
  parts = memory_parts(sources);
  EXPECT_EQ(sum_of(sources), 100u);
  EXPECT_EQ(parts[1].bytes, 1u);
  EXPECT_EQ(parts[1].counted, 1000u);
  EXPECT_EQ(parts[2].bytes, 0u);
  EXPECT_EQ(parts[3].bytes, 0u);
}

TEST(MemoryParts, AreShownWithModelsAndProcesses) {
  CatalogLook look;
  look.memory = {{"<b>", 2, 7, 9}};
  look.memory_models = 3;
  look.all_memory.device_bytes = 11;
  MemorySources sources;
  sources.process = {100, 60, 30, 10};
  sources.models = 8;
  sources.children = {{42, "python\xff", 5}};
  const std::string text = memory_json(look, sources, {"run", 1});
  EXPECT_NE(text.find(R"("resident_bytes":100,"parts":[{"owner":"models","bytes":8,"counted_bytes":8},)"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          R"("device_bytes":11,"matching":3,"models":[{"name":"<b>","version":"2","bytes":7,"device_bytes":9}],)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("processes":[{"pid":42,"name":"python)"), std::string::npos) << text;
}

}  // namespace
}  // namespace atl::frontends::console
