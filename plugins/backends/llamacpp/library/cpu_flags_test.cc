#include "backends/llamacpp/library/cpu_flags.h"

#include <gtest/gtest.h>

namespace atl::llamacpp {
namespace {

TEST(CpuFlags, OfTheFirstCpu) {
  EXPECT_EQ(cpu_flags_of("processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nflags\t\t: none\n"),
            " fpu avx2");
  EXPECT_EQ(cpu_flags_of("processor\t: 0\n"), "");
  EXPECT_EQ(cpu_flags_of(""), "");
}

TEST(CpuFlags, MissingOnesAreNamed) {
  EXPECT_EQ(missing_cpu_flags("avx avx2 avx512f\n", "fpu avx avx2"), "avx512f");
  EXPECT_EQ(missing_cpu_flags("avx avx512f avx512_vnni", "avx512"), "avx, avx512f, avx512_vnni");
  EXPECT_EQ(missing_cpu_flags("", "avx"), "") << "prebuilt libraries say nothing, and choose by themselves";
}

}  // namespace
}  // namespace atl::llamacpp
