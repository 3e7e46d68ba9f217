// Plain folders beside object stores keep all promises of a repository.
#include <gtest/gtest.h>

#include "atoll/testing/conformance/repository.h"
#include "atoll/testing/thread_executor.h"
#include "repositories/s3/store_repository.h"

namespace atl::test {
namespace {

/// A repository with what it needs beside the paths.
struct StoreBench {
  TemporaryDirectory root;
  ThreadExecutors executors;
  s3::StoreRepository repository;

  StoreBench(FakeHost& host, const std::vector<std::string>& paths)
      : repository({.folders = {.paths = paths}, .cache_directory = root.path() / "cache"}, host.clock(),
                   host.log()) {}
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(S3, RepositoryConformance,
                         ::testing::Values(RepositoryProvider{
                             .name = "repositories/s3",
                             .make =
                                 [](FakeHost& host, const std::vector<std::string>& paths) {
                                   auto bench = std::make_shared<StoreBench>(host, paths);
                                   std::vector<Status> missing;
                                   EXPECT_TRUE(bench->repository.start(bench->executors, &missing).ok());
                                   return std::shared_ptr<Repository>(bench, &bench->repository);
                                 },
                             .exceptions = {}}));

}  // namespace atl::test
