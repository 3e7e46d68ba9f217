// The built plugin, as the server uses it: opened, run, closed, and gone from the memory map.
#include "atoll/abi/plugin.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "atoll/backend/backend.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/thread_executor.h"
#include "backends/onnxruntime/testing/onnx_graph.h"
#include "model_config.pb.h"

namespace atl::ort::test {
namespace {

using atl::test::FakeHost;
using atl::test::TestRequest;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The sanitizers' reports need the code.
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
#else
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL;
#endif

bool is_mapped(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) != std::string::npos) return true;
  }
  return false;
}

size_t thread_count() {
  auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

/// A joined thread is listed until the system has put it away. \returns the last count seen
size_t thread_count_becomes(size_t expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  size_t count = thread_count();
  while (count != expected && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    count = thread_count();
  }
  return count;
}

std::string write_model() {
  auto folder = std::filesystem::temp_directory_path() / cat("atoll-onnx-plugin-", ::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "model.onnx", std::ios::binary)
      << OnnxGraph(identity_graph(DataType::kFp32, {kBatch, 2})).file();
  return folder.string();
}

ModelSource source_in(const std::string& folder) {
  ModelSource source;
  source.name = "m";
  source.version_directory = source.model_directory = folder;
  inference::ModelConfig config;
  config.set_name("m");
  config.set_backend("onnxruntime");
  // Threads of a pool must be gone before the library is.
  (*config.mutable_parameters())["intra_op_thread_count"].set_string_value("3");
  source.config = config.SerializeAsString();
  return source;
}

Status take(atoll_status* status) { return Status::take(status); }

void run_once(BackendInstance& instance) {
  TestRequest request;
  request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  request.add_output("OUTPUT0");
  request->batch_size = 1;
  request.mark_accepted();
  Request* raw = &request.request();
  ASSERT_TRUE(instance.execute({{&raw, 1}, 1}).ok());
  EXPECT_EQ(request.response().code, Code::kOk) << request.response().message;
}

void serve(Backend& backend, const std::string& folder) {
  ModelSource source = source_in(folder);
  auto completed = backend.complete_config(source);
  ASSERT_TRUE(completed.ok()) << completed.status().text();
  source.config = *completed;
  auto model = backend.load(source);
  ASSERT_TRUE(model.ok()) << model.status().text();
  auto instance = (*model)->create_instance({});
  ASSERT_TRUE(instance.ok()) << instance.status().text();
  run_once(**instance);
  std::thread([&] { run_once(**instance); }).join();
}

void use(const atoll_plugin_v1_t& plugin, const std::string& folder) {
  FakeHost host("onnxruntime", FakeHost::Threads::kReal);
  host.options()
      .set_int("intra_op_threads", 0)
      .set_int("inter_op_threads", 0)
      .set_bool("allow_spinning", false);
  host.options().set_bytes("scratch_keep", 1024).set_string("log_level", "warning");
  host.options().set_string("library", ATOLL_ONNXRUNTIME).set_strings("cuda_libraries", {});
  void* self = nullptr;
  ASSERT_TRUE(take(plugin.create(reinterpret_cast<atoll_host*>(static_cast<Host*>(&host)), &self)).ok());
  auto* backend = static_cast<Backend*>(plugin.query(self, "atoll.backend/1"));
  ASSERT_NE(backend, nullptr);
  for (int restart = 0; restart < 2; ++restart) {
    Status status = take(plugin.start(self));
    ASSERT_TRUE(status.ok()) << status.text();
    serve(*backend, folder);
    plugin.drain(self, 0);
    plugin.stop(self);
    EXPECT_EQ(host.registry().holders(), 0u);
  }
  plugin.destroy(self);
}

TEST(OnnxRuntimePluginTest, UnloadsAndLoadsAgain) {
  std::string folder = write_model();
  // The one that makes the executors' threads stays, and ThreadSanitizer adds one of its own to the first.
  EXPECT_TRUE(atl::test::ThreadExecutors().create("first", {}).ok());
  size_t threads = thread_count();
  for (int i = 0; i < 5; ++i) {
    void* library = ::dlopen(ATOLL_PLUGIN_FILE, kOpenFlags);
    ASSERT_NE(library, nullptr) << ::dlerror();
    auto* plugin = static_cast<const atoll_plugin_v1_t*>(::dlsym(library, ATOLL_PLUGIN_SYMBOL));
    ASSERT_NE(plugin, nullptr);
    EXPECT_EQ(plugin->magic, ATOLL_PLUGIN_MAGIC);
    EXPECT_STREQ(plugin->name, "backends/onnxruntime");
    use(*plugin, folder);
    bool resident = (plugin->flags & ATOLL_PLUGIN_RESIDENT) != 0;
    // Neither a session's pool nor the runtime's telemetry may leave one behind.
    EXPECT_EQ(thread_count_becomes(threads), threads) << "round " << i;
    ASSERT_EQ(::dlclose(library), 0);
    if ((kOpenFlags & RTLD_NODELETE) == 0 && !resident) {
      EXPECT_FALSE(is_mapped("/backends/onnxruntime.so")) << "round " << i;
      EXPECT_FALSE(is_mapped("/libonnxruntime.so")) << "round " << i;
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace atl::ort::test
