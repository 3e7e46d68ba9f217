#include "backends/triton/backend_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::triton {
namespace {

namespace fs = std::filesystem;

class BackendStoreTest : public testing::Test {
 protected:
  LibraryFile put(const std::string& name) {
    const fs::path path = folder_.path() / name;
    fs::copy_file(cat(ATOLL_FIXTURE_BACKENDS, "/scripted/libtriton_scripted.so"), folder_.path() / "new");
    fs::rename(folder_.path() / "new", path);
    LibraryFile file;
    file.path = path.string();
    file.artifacts = folder_.path().string();
    return file;
  }
  test::TemporaryDirectory folder_;
  test::RecordingLog log_;
  test::FakeHost host_;
  LoadCalls calls_{host_.clock(), host_.executors(), 0};
  BackendStore store_{std::make_shared<ForeignContext>(log_, nullptr), calls_, true};
};

TEST_F(BackendStoreTest, OneForEachFileAndName) {
  const LibraryFile one = put("one.so"), two = put("two.so");
  auto first = store_.get(one, "a", "{}").value();
  EXPECT_EQ(store_.get(one, "a", "{\"ignored\":1}").value(), first);
  EXPECT_EQ(first->handle().config_json, "{}");
  EXPECT_EQ(first->handle().directory, folder_.path().string());
  EXPECT_NE(store_.get(one, "b", "{}").value(), first);
  EXPECT_NE(store_.get(two, "a", "{}").value(), first);
}

TEST_F(BackendStoreTest, ScriptsAreBackendsOfTheirOwnInOneLibrary) {
  LibraryFile one = put("python.so"), two = one;
  one.script = "/one/model.py";
  two.script = "/two/model.py";
  auto first = store_.get(one, "a", "{}").value(), second = store_.get(two, "a", "{}").value();
  EXPECT_NE(first, second);
  EXPECT_EQ(first->entries().execute, second->entries().execute);
}

TEST_F(BackendStoreTest, AReplacedFileIsANewBackend) {
  auto first = store_.get(put("x.so"), "a", "{}").value();
  auto second = store_.get(put("x.so"), "a", "{}").value();
  EXPECT_NE(first, second);
  EXPECT_NE(first->entries().execute, second->entries().execute);
  EXPECT_TRUE(log_.contains("its file was replaced"));
  fs::remove(folder_.path() / "x.so");
  LibraryFile file;
  file.path = (folder_.path() / "x.so").string();
  EXPECT_EQ(store_.get(file, "a", "{}").value(), second) << "what is open needs no file";
}

TEST_F(BackendStoreTest, AFailureIsTriedAgain) {
  const LibraryFile file = put("x.so");
  EXPECT_FALSE(store_.get(file, "fails_backend", "{}").ok());
  EXPECT_FALSE(store_.get(file, "fails_backend", "{}").ok());
  EXPECT_TRUE(store_.get(file, "a", "{}").ok());
}

TEST_F(BackendStoreTest, SaysWhatStaysMapped) {
  const LibraryFile file = put("x.so");
  (void)store_.get(file, "a", "{}").value();
  auto held = runtime::SharedObject::open(file.path);
  store_.close();
  EXPECT_TRUE(log_.contains(cat(file.path, " stays mapped")));
}

TEST_F(BackendStoreTest, UnmapsWhatCanBe) {
  const LibraryFile file = put("x.so");
  (void)store_.get(file, "a", "{}").value();
  store_.close();
  EXPECT_FALSE(log_.contains("stays mapped"));
}

TEST_F(BackendStoreTest, AFailedFinalizeIsLogged) {
  (void)store_.get(put("x.so"), "fails_finalize", "{}").value();
  store_.close();
  EXPECT_TRUE(log_.contains("backend 'fails_finalize': failed finalizing: as it was told"));
}

TEST_F(BackendStoreTest, ManyThreadsGetTheSame) {
  const LibraryFile file = put("x.so");
  std::vector<std::shared_ptr<ForeignBackend>> got(8);
  std::vector<std::thread> threads;
  for (auto& one : got) threads.emplace_back([&] { one = store_.get(file, "a", "{}").value(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : got) EXPECT_EQ(one, got[0]);
}

}  // namespace
}  // namespace atl::triton
