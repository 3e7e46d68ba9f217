#include <gtest/gtest.h>

#include "atoll/testing/conformance/repository.h"
#include "repositories/common/filesystem_repository.h"

namespace atl::test {

INSTANTIATE_TEST_SUITE_P(Filesystem, RepositoryConformance,
                         ::testing::Values(RepositoryProvider{
                             .name = "repositories/filesystem",
                             .make =
                                 [](FakeHost&, const std::vector<std::string>& paths) {
                                   return std::make_shared<filesystem::FilesystemRepository>(
                                       filesystem::RepositorySettings{.paths = paths});
                                 },
                             .exceptions = {}}));

}  // namespace atl::test
