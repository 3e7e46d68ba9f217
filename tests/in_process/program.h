/// A program that has the server inside: it opens libtritonserver.so and knows nothing else of Atoll.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <utility>

#include "triton/core/tritonserver.h"

namespace atl::in_process {

/// The library's symbol, as a program finds it that is not linked with it.
void* find(const char* name);

/// CALL(TRITONSERVER_ServerNew, &server, options)
#define CALL(name, ...) reinterpret_cast<decltype(&name)>(::atl::in_process::find(#name))(__VA_ARGS__)

/// What an error says, which is deleted; empty: there is none.
std::string text_of(TRITONSERVER_Error* error);

/// A repository in a folder of its own, removed with it.
class ModelFolder {
 public:
  ModelFolder();
  ~ModelFolder();
  std::string path() const { return folder_.string(); }
  /// A model that copies INPUT0, bytes of any number, to OUTPUT0.
  void add_identity(const std::string& name, int delay_ms = 0);
  void add(const std::string& name, const std::string& backend, const std::string& more = {});
  /// In its version folder.
  void add_file(const std::string& model, const std::string& file, const std::string& text);

 private:
  std::filesystem::path folder_;
};

class Options {
 public:
  explicit Options(const std::string& repository);
  ~Options() { EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsDelete, handle)), ""); }
  TRITONSERVER_ServerOptions* handle = nullptr;
};

/// Deleted with it.
class Server {
 public:
  /// \returns what is wrong; empty: it runs
  std::string start(TRITONSERVER_ServerOptions* options) {
    return text_of(CALL(TRITONSERVER_ServerNew, &handle, options));
  }
  ~Server() { remove(); }
  void remove() {
    EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerDelete, handle)), "");
    handle = nullptr;
  }
  bool ready() const {
    bool ready = false;
    EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerIsReady, handle, &ready)), "");
    return ready;
  }
  /// Sends the bytes. \returns OUTPUT0, or the failure after "error: "
  std::future<std::string> send(const std::string& model, const std::string& bytes);
  /// The same, and waits for the answer.
  std::string infer(const std::string& model, const std::string& bytes) { return send(model, bytes).get(); }
  TRITONSERVER_Server* handle = nullptr;
};

/// Of one that comes back: OUTPUT0, or the failure after "error: ".
std::string answer_of(TRITONSERVER_InferenceResponse* response);
/// Of memory of the heap; lives as long as the program.
TRITONSERVER_ResponseAllocator* allocator();

/// Threads of this process, counted when there are no more than so many, or after a while: one that has ended is there for
/// another moment.
size_t threads_at_most(size_t most);

}  // namespace atl::in_process
