#include "launchers/process/machine_parts.h"

#include <gtest/gtest.h>

namespace atl::launchers {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

ServerSpec server(uint32_t cpus, uint32_t gpus, uint64_t memory_mib) {
  ServerSpec server;
  server.cpus = cpus;
  server.gpus = gpus;
  server.memory_bytes = memory_mib * kMiB;
  return server;
}

class MachineBookTest : public ::testing::Test {
 protected:
  MachineBook book_{MachineParts{{0, 1, 4, 5}, {"0", "1"}, 100 * kMiB}};
};

TEST_F(MachineBookTest, ServersHaveTheirPartsForThemselves) {
  const MachineParts first = book_.take(server(2, 1, 60)).value();
  EXPECT_EQ(first.cpu_cores, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(first.gpus, std::vector<std::string>{"0"});
  const MachineParts second = book_.take(server(1, 1, 40)).value();
  EXPECT_EQ(second.cpu_cores, std::vector<uint32_t>{4});
  EXPECT_EQ(second.gpus, std::vector<std::string>{"1"});
  book_.give_back(first);
  EXPECT_EQ(book_.take(server(3, 1, 60)).value().cpu_cores, (std::vector<uint32_t>{0, 1, 5}));
}

TEST_F(MachineBookTest, WithoutRoomNothingIsTaken) {
  (void)book_.take(server(3, 1, 60)).value();
  for (const auto& [asked, text] : std::initializer_list<std::pair<ServerSpec, std::string>>{
           {server(2, 0, 0), "it asks for 2 CPU cores, and 1 of 4 are free"},
           {server(1, 2, 0), "it asks for 2 GPUs, and 1 of 2 are free"},
           {server(1, 1, 41), "it asks for 41 MiB of memory, and 40 of 100 are free"}}) {
    const Result<MachineParts> refused = book_.take(asked);
    EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
    EXPECT_EQ(refused.status().message(), text);
  }
  EXPECT_TRUE(book_.take(server(1, 1, 40)).ok());
}

TEST_F(MachineBookTest, WhatTheMachineNeverHasIsSaid) {
  const Result<MachineParts> refused = book_.take(server(5, 0, 0));
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.status().message(), "it asks for 5 CPU cores, and all servers together may have 4");
}

TEST_F(MachineBookTest, OfServersThatRunAlreadyPartsMayBeOutOfBounds) {
  const MachineParts found{{1, 9}, {"7"}, 150 * kMiB};
  book_.take(found);
  EXPECT_EQ(book_.take(server(2, 2, 0)).value().cpu_cores, (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(book_.take(server(0, 0, 1)).status().code(), Code::kResourceExhausted);
  book_.give_back(found);
  EXPECT_EQ(book_.take(server(2, 0, 100)).value().cpu_cores, (std::vector<uint32_t>{1, 5}));
}

}  // namespace
}  // namespace atl::launchers
