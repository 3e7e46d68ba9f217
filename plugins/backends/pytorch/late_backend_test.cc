#include "backends/pytorch/late_backend.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "backends/pytorch/testing/torch_fixture.h"

namespace atl::pytorch::test {
namespace {

using testing::HasSubstr;

class LateBackendTest : public TorchTest {
 protected:
  LateBackendTest() { save_module("def forward(self, x):\n  return x", model_path()); }
  Result<std::unique_ptr<BackendModel>> load_late() {
    return late_.load(source_of(folder_.path(), "m", tensor("input", "x") + tensor("output", "O")));
  }
  LateBackend late_{clock_, log_};
};

TEST_F(LateBackendTest, TheLibraryIsOpenedWithTheFirstModel) {
  late_.open(ATOLL_TORCH_LIBRARY, 1);
  for (int i = 0; i < 2; ++i) {
    auto model = load_late();
    ASSERT_TRUE(model.ok()) << model.status().text();
  }
}

TEST_F(LateBackendTest, WithoutTheLibraryALoadFailsAndSaysWhy) {
  late_.open((folder_.path() / "torch.so").string(), 1);
  const Status status = load_late().status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.text(), HasSubstr("torch.so"));
  late_.open(ATOLL_TORCH_LIBRARY, 1);
  EXPECT_TRUE(load_late().ok());
}

}  // namespace
}  // namespace atl::pytorch::test
