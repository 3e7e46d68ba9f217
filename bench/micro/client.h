/// A client of one model.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "atoll/models/model.h"
#include "atoll/request/request.h"

namespace atl::bench {

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

/// A client with memory of its own for input and output.
class Client final : public ResponseSink {
 public:
  explicit Client(size_t bytes) : input_(bytes), output_(bytes) {}
  /// \returns whether it was answered when the call returned
  bool infer(Model& model) {
    request_.reset();
    request_.sink = this;
    request_.model = &model;
    InputTensor& input = request_.add_input();
    input.name = "INPUT0";
    input.datatype = DataType::kUint8;
    shape_ = static_cast<int64_t>(input_.size());
    input.shape = {&shape_, 1};
    buffer_.data = input_.data();
    buffer_.size_bytes = input_.size();
    input.buffers = {&buffer_, 1};
    input.size_bytes = input_.size();
    parts_.store(0, std::memory_order_relaxed);
    if (Status status = model.infer(request_); !status.ok()) fail(status.text());
    return is_answered();
  }
  /// The answer is there and the request is the client's again. [any]
  bool is_answered() const noexcept { return parts_.load(std::memory_order_acquire) == 2; }
  /// For who changes what is asked.
  std::vector<char>& input() noexcept { return input_; }
  Response* new_response() noexcept override {
    response_.reset();
    response_.sink = this;
    return &response_;
  }
  Status allocate(Response&, OutputTensor& output, uint64_t size_bytes, MemoryKind,
                  int64_t) noexcept override {
    output.buffer.data = output_.data();
    output.buffer.size_bytes = size_bytes;
    return {};
  }
  void send(Response* response, uint32_t) noexcept override {
    if (!response->error.ok()) fail(response->error.text());
    if (response->outputs.size() != 1) fail("an answer without its output");
    add_part();
  }
  void discard(Response*) noexcept override {}
  void released(Request&) noexcept override { add_part(); }

 private:
  // One after the other, so nothing is lost between reading and writing.
  void add_part() noexcept {
    parts_.store(parts_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  Request request_;
  Response response_;
  int64_t shape_ = 0;
  Buffer buffer_;
  std::vector<char> input_, output_;
  std::atomic<int> parts_{0};
};

}  // namespace atl::bench
