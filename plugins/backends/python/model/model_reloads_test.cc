#include "backends/python/model/model_reloads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/python/testing/stepped_loop.h"

namespace atl::python {
namespace {

using ::testing::ElementsAre;

class ModelReloadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_.name = "m";
    source_.model_directory = folder_.path();
    source_.version_directory = folder_.path() / "1";
    std::filesystem::create_directory(source_.version_directory);
    catalog_.add_identity("m");
    stepped_.host.registry().publish<ModelCatalog>("models", catalog_);
    ASSERT_TRUE(server_.open().ok());
  }
  void TearDown() override {
    reloads_.stop();
    server_.close();
  }
  void save_program() {
    save(source_.version_directory + "/model.py");
    stepped_.settle();
    stepped_.advance(SourceWatch::kQuietNs);
    stepped_.host.run_until_idle();
    stepped_.settle();
  }

  const test::TemporaryDirectory folder_;
  ModelSource source_;
  test::FakeModelCatalog catalog_;
  SteppedLoop stepped_;
  ServerLink server_{stepped_.host};
  ModelReloads reloads_{stepped_.host, stepped_.loop, server_};
};

TEST_F(ModelReloadsTest, WhatIsSavedIsLoaded) {
  reloads_.set(source_, true);
  reloads_.set(source_, true);  // as its reload does
  save_program();
  EXPECT_THAT(catalog_.calls(), ElementsAre("load m"));
  save_program();
  EXPECT_THAT(catalog_.calls(), ElementsAre("load m", "load m"));
  EXPECT_EQ(stepped_.host.gate().count(), 0);
}

TEST_F(ModelReloadsTest, OnlyInDevelopmentMode) {
  reloads_.set(source_, false);
  save_program();
  reloads_.set(source_, true);
  reloads_.set(source_, false);
  save_program();
  EXPECT_THAT(catalog_.calls(), ElementsAre());
}

TEST_F(ModelReloadsTest, WhatIsUnloadedStaysSo) {
  reloads_.set(source_, true);
  catalog_.unload({"m"}, [](auto) {});
  save_program();
  save_program();
  EXPECT_THAT(catalog_.calls(), ElementsAre("unload m"));
  // Its next load begins anew.
  catalog_.load({"m"}, [](auto) {});
  reloads_.set(source_, true);
  save_program();
  EXPECT_THAT(catalog_.calls(), ElementsAre("unload m", "load m", "load m"));
}

TEST_F(ModelReloadsTest, NothingIsLoadedWhileTheServerEnds) {
  reloads_.set(source_, true);
  stepped_.host.gate().close();
  save_program();
  EXPECT_THAT(catalog_.calls(), ElementsAre());
}

TEST_F(ModelReloadsTest, WhatCanNotBeWatchedIsServedAllTheSame) {
  source_.version_directory = "/nowhere";
  reloads_.set(source_, true);
  EXPECT_TRUE(stepped_.host.log().contains(
      "model 'm' is not loaded anew when its program is saved: '/nowhere': No such file or directory"));
}

}  // namespace
}  // namespace atl::python
