#include "program.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "heap_allocator.h"

namespace atl::in_process {
namespace {

/// A request on its way; the second of its callbacks deletes it.
struct Call {
  std::string bytes;
  std::promise<std::string> answer;
  std::atomic<int> callbacks{2};
  void finish() {
    if (callbacks.fetch_sub(1) == 1) delete this;
  }
};

void released(TRITONSERVER_InferenceRequest* request, const uint32_t, void* userp) {
  EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceRequestDelete, request)), "");
  static_cast<Call*>(userp)->finish();
}

void completed(TRITONSERVER_InferenceResponse* response, const uint32_t flags, void* userp) {
  std::string answer = "error: no response";
  if (response != nullptr) {
    answer = answer_of(response);
    EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceResponseDelete, response)), "");
  }
  EXPECT_EQ(flags, uint32_t{TRITONSERVER_RESPONSE_COMPLETE_FINAL});
  auto* call = static_cast<Call*>(userp);
  call->answer.set_value(std::move(answer));
  call->finish();
}

}  // namespace

std::string answer_of(TRITONSERVER_InferenceResponse* response) {
  std::string failure = text_of(CALL(TRITONSERVER_InferenceResponseError, response));
  if (!failure.empty()) return "error: " + failure;
  const char* name = nullptr;
  TRITONSERVER_DataType type;
  const int64_t* shape = nullptr;
  uint64_t dims = 0;
  const void* base = nullptr;
  size_t size = 0;
  TRITONSERVER_MemoryType memory;
  int64_t id = 0;
  void* userp = nullptr;
  EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceResponseOutput, response, 0, &name, &type, &shape, &dims,
                         &base, &size, &memory, &id, &userp)),
            "");
  return {static_cast<const char*>(base), size};
}

TRITONSERVER_ResponseAllocator* allocator() {
  static TRITONSERVER_ResponseAllocator* made = [] {
    TRITONSERVER_ResponseAllocator* allocator = nullptr;
    EXPECT_EQ(text_of(CALL(TRITONSERVER_ResponseAllocatorNew, &allocator, allocate, give_back, nullptr)), "");
    return allocator;
  }();
  return made;
}

void* find(const char* name) {
  static void* library = ::dlopen(ATOLL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : ::dlsym(library, name);
  if (symbol == nullptr) {
    ADD_FAILURE() << ::dlerror();
    std::abort();
  }
  return symbol;
}

std::string text_of(TRITONSERVER_Error* error) {
  if (error == nullptr) return {};
  std::string text = CALL(TRITONSERVER_ErrorCodeString, error);
  text += ": ";
  text += CALL(TRITONSERVER_ErrorMessage, error);
  CALL(TRITONSERVER_ErrorDelete, error);
  return text;
}

ModelFolder::ModelFolder() {
  std::string pattern = testing::TempDir() + "in_process_XXXXXX";
  folder_ = ::mkdtemp(pattern.data());
}
ModelFolder::~ModelFolder() { std::filesystem::remove_all(folder_); }

void ModelFolder::add_identity(const std::string& name, int delay_ms) {
  add(name, "identity",
      "parameters { key: \"execute_delay_ms\" value: { string_value: \"" + std::to_string(delay_ms) +
          "\" } }\n");
}

void ModelFolder::add(const std::string& name, const std::string& backend, const std::string& more) {
  std::filesystem::create_directories(folder_ / name / "1");
  std::ofstream(folder_ / name / "config.pbtxt")
      << "name: \"" << name << "\" backend: \"" << backend << "\"\n"
      << "input { name: \"INPUT0\" data_type: TYPE_UINT8 dims: -1 }\n"
      << "output { name: \"OUTPUT0\" data_type: TYPE_UINT8 dims: -1 }\n"
      << "instance_group { kind: KIND_CPU }\n"
      << more;
}

void ModelFolder::add_file(const std::string& model, const std::string& file, const std::string& text) {
  std::ofstream(folder_ / model / "1" / file) << text;
}

Options::Options(const std::string& repository) {
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsNew, &handle)), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetModelRepositoryPath, handle, repository.c_str())), "");
  EXPECT_EQ(
      text_of(CALL(TRITONSERVER_ServerOptionsSetModelControlMode, handle, TRITONSERVER_MODEL_CONTROL_NONE)),
      "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize, handle, 0, 1 << 20)), "");
}

std::future<std::string> Server::send(const std::string& model, const std::string& bytes) {
  auto* call = new Call;
  call->bytes = bytes;
  std::future<std::string> answer = call->answer.get_future();
  TRITONSERVER_InferenceRequest* request = nullptr;
  const int64_t shape[] = {static_cast<int64_t>(bytes.size())};
  std::string failure = text_of(CALL(TRITONSERVER_InferenceRequestNew, &request, handle, model.c_str(), -1));
  if (failure.empty()) {
    for (TRITONSERVER_Error* error :
         {CALL(TRITONSERVER_InferenceRequestAddInput, request, "INPUT0", TRITONSERVER_TYPE_UINT8, shape, 1),
          CALL(TRITONSERVER_InferenceRequestAppendInputData, request, "INPUT0", call->bytes.data(),
               call->bytes.size(), TRITONSERVER_MEMORY_CPU, 0),
          CALL(TRITONSERVER_InferenceRequestSetReleaseCallback, request, released, call),
          CALL(TRITONSERVER_InferenceRequestSetResponseCallback, request, allocator(), nullptr, completed,
               call)}) {
      EXPECT_EQ(text_of(error), "");
    }
    failure = text_of(CALL(TRITONSERVER_ServerInferAsync, handle, request, nullptr));
    if (!failure.empty()) {
      EXPECT_EQ(text_of(CALL(TRITONSERVER_InferenceRequestDelete, request)), "");
    }
  }
  if (!failure.empty()) {
    call->answer.set_value("error: " + failure);
    delete call;
  }
  return answer;
}

size_t threads_at_most(size_t most) {
  size_t count = 0;
  for (int tries = 0; tries < 100; ++tries) {
    count = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
    if (count <= most) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return count;
}

}  // namespace atl::in_process
