// A plugin's file is replaced while it serves, once and a thousand times.
#include <filesystem>
#include <fstream>
#include <string>

#include "kernel_fixture.h"

namespace atl::kernel {
namespace {

const std::string kProvider = "use = 'fixtures/provider'";

/// Installs a new file of the provider under the same name, as an upgrade does.
class ReplaceTest : public KernelFixture {
 protected:
  ReplaceTest() {
    std::filesystem::create_directories(folder_ + "fixtures");
    install("fixtures");
    plugin_path_ = folder_;
  }
  void install(const std::string& from) {
    namespace fs = std::filesystem;
    fs::copy_file(std::string(ATOLL_FIXTURE_PLUGINS) + "/" + from + "/provider.so", folder_ + "new",
                  fs::copy_options::overwrite_existing);
    fs::rename(folder_ + "new", folder_ + "fixtures/provider.so");
  }
};

TEST_F(ReplaceTest, ANewFileIsReallyLoadedBesideTheOldOne) {
  ASSERT_TRUE(apply({{"p", kProvider}}).ok());
  EXPECT_EQ(probe("p")->build(), 1);
  install("next");
  ASSERT_TRUE(apply({{"p", kProvider}}).ok());
  EXPECT_EQ(probe("p")->build(), 2);
  settle();
  install("fixtures");
  ASSERT_TRUE(apply({{"p", kProvider}}).ok());
  EXPECT_EQ(probe("p")->build(), 1);
}

TEST_F(ReplaceTest, AThousandReloadsLeaveNothing) {
  // Sanitizer builds keep every file mapped, so they get fewer rounds and no new files.
  constexpr int kRounds = kPluginsStayMapped ? 100 : 1000;
  auto round = [&](int i) {
    if (!kPluginsStayMapped) install(i % 2 == 0 ? "next" : "fixtures");
    Status status = apply({{"p", kProvider + "\nsize = " + std::to_string(i % 9 + 1)}});
    ASSERT_TRUE(status.ok()) << status.text();
    settle();
  };
  auto resident_pages = [] {
    std::ifstream statm("/proc/self/statm");
    int64_t size = 0;
    int64_t resident = 0;
    statm >> size >> resident;
    return resident;
  };
  for (int i = 0; i < kRounds / 10; ++i) round(i);
  const Footprint before = footprint();
  const int64_t pages_before = resident_pages();
  for (int i = 0; i < kRounds; ++i) round(i);
  EXPECT_EQ(footprint(), before);
  if constexpr (!kPluginsStayMapped) {
    EXPECT_LT(resident_pages() - pages_before, 256) << "pages of growth in " << kRounds << " reloads";
  }
}

}  // namespace
}  // namespace atl::kernel
