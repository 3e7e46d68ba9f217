#include "atoll/core/thread_cpus.h"

#include <gtest/gtest.h>

#include <thread>

namespace atl {
namespace {

cpu_set_t own_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  return cpus;
}

bool equal(const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b); }

cpu_set_t set_of(std::initializer_list<int> numbers) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int number : numbers) CPU_SET(number, &cpus);
  return cpus;
}

TEST(WithoutFirst, LeavesAtLeastOne) {
  EXPECT_TRUE(equal(without_first(set_of({0, 1})), set_of({1})));
  EXPECT_TRUE(equal(without_first(set_of({5, 64, 1023})), set_of({64, 1023})));
  EXPECT_TRUE(equal(without_first(set_of({3})), set_of({3})));
}

TEST(ThreadCpus, AreThoseOfWhatTheThreadStarts) {
  const cpu_set_t before = own_cpus();
  {
    const ThreadCpus cpus = ThreadCpus::all_but_first();
    EXPECT_EQ(cpus.failed(), 0);
    std::thread([&] { EXPECT_TRUE(equal(own_cpus(), without_first(before))); }).join();
  }
  EXPECT_TRUE(equal(own_cpus(), before));
}

TEST(ThreadCpus, AreTheCores) {
  const cpu_set_t before = own_cpus();
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &before)) --last;
  const uint32_t cores[] = {static_cast<uint32_t>(last), 100'000};
  {
    const ThreadCpus cpus(cores);
    EXPECT_EQ(cpus.failed(), 0);
    EXPECT_TRUE(equal(own_cpus(), set_of({last})));
  }
  EXPECT_TRUE(equal(own_cpus(), before));
}

TEST(ThreadCpus, ThatAreNotThereChangeNothing) {
  const cpu_set_t before = own_cpus();
  const uint32_t cores[] = {CPU_SETSIZE - 1};
  const ThreadCpus none(std::span<const uint32_t>{});
  EXPECT_EQ(none.failed(), 0);
  const ThreadCpus cpus(cores);
  EXPECT_EQ(cpus.failed(), EINVAL);
  EXPECT_TRUE(equal(own_cpus(), before));
}

}  // namespace
}  // namespace atl
