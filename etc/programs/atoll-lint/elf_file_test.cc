#include "elf_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

namespace atl::lint {
namespace {

std::vector<uint8_t> fixture() {
  std::ifstream file(ATOLL_LINT_FIXTURE, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ReadElf, AGoodPluginExportsOneSymbol) {
  auto facts = read_elf(fixture());
  ASSERT_TRUE(facts.ok()) << facts.status().text();
  EXPECT_TRUE(facts->binds_now);
  EXPECT_FALSE(facts->never_unloads);
  EXPECT_FALSE(facts->has_runpath);
  EXPECT_THAT(facts->needed, testing::Contains("libc.so.6"));
  std::vector<std::string> exported;
  for (const DynamicSymbol& symbol : facts->symbols) {
    if (symbol.defined && symbol.visible) exported.push_back(symbol.name);
  }
  EXPECT_EQ(exported, std::vector<std::string>{"atoll_plugin_v1"});
}

TEST(ReadElf, WhatIsNoSharedObjectIsRefused) {
  EXPECT_FALSE(read_elf({}).ok());
  EXPECT_EQ(read_elf(std::vector<uint8_t>(100, 'x')).status().text(), "not an ELF file");
  std::vector<uint8_t> bytes = fixture();
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(read_elf(bytes).status().text(), "not a 64-bit little-endian shared object");
}

TEST(ReadElf, NoTruncationIsReadBeyondItsEnd) {
  const std::vector<uint8_t> whole = fixture();
  for (size_t size = 0; size < whole.size(); size += size < 256 ? 1 : 997) {
    EXPECT_FALSE(read_elf({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}).ok()) << size;
  }
}

TEST(ReadElf, DamageIsAnErrorAtWorst) {
  const std::vector<uint8_t> whole = fixture();
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  std::mt19937_64 random(1);
  size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> bytes = whole;
    // Headers and the section table, where every offset and size is.
    size_t in_header = random() % sizeof header;
    size_t in_table = header.e_shoff + random() % (size_t{header.e_shnum} * sizeof(Elf64_Shdr));
    bytes[i % 2 == 0 ? in_header : in_table] = static_cast<uint8_t>(random());
    refused += read_elf(bytes).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace atl::lint
