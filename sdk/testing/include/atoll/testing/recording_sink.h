/// A request with its context, as a frontend would make it, that records what happens to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "atoll/testing/print.h"
#include "atoll/testing/tensor_bytes.h"

namespace atl::test {

struct ReceivedOutput {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> shape;
  std::string bytes;
};

struct ReceivedResponse {
  Code code = Code::kOk;
  std::string message;
  uint32_t flags = 0;
  bool empty = false;  ///< only flags came
  std::vector<ReceivedOutput> outputs;

  /// What a sink was sent, copied.
  static ReceivedResponse of(const Response* response, uint32_t flags) {
    ReceivedResponse received;
    received.flags = flags;
    received.empty = response == nullptr;
    if (response == nullptr) return received;
    received.code = response->error.code();
    received.message = response->error.message();
    for (const OutputTensor& output : response->outputs) {
      received.outputs.push_back({std::string(output.name),
                                  output.datatype,
                                  {output.shape.begin(), output.shape.end()},
                                  {static_cast<const char*>(output.buffer.data), output.buffer.size_bytes}});
    }
    return received;
  }
  bool final() const noexcept { return (flags & kFinal) != 0; }
  const ReceivedOutput* find(std::string_view name) const noexcept {
    for (const ReceivedOutput& output : outputs) {
      if (output.name == name) return &output;
    }
    return nullptr;
  }
};

/// One request and its sink. Build it with the add functions, give it to a model or a scheduler, and look at
/// what came back. Breaches of the contract (a second final response, a response after it, a release too
/// many, a response never sent or discarded, an output that was not asked for or is there twice, bytes
/// written around an output's memory) are collected in problems(): every test should expect none.
/// Destroying one that was accepted and is not done ends the process: somebody still points to it. [any]
/// once it was given away; the adding functions before.
class TestRequest final : public ResponseSink {
 public:
  explicit TestRequest(std::string_view id = {}) {
    request_.sink = this;
    if (!id.empty()) request_.id = request_.arena().copy_text(id);
  }
  TestRequest(const TestRequest&) = delete;
  TestRequest& operator=(const TestRequest&) = delete;
  virtual ~TestRequest() {
    if (accepted_ && !done()) {
      std::fprintf(stderr,
                   "TestRequest '%.*s' is destroyed while it is in flight (final: %d, released: %d)\n",
                   static_cast<int>(request_.id.size()), request_.id.data(), got_final(), got_release());
      std::abort();
    }
  }

  Request& operator*() noexcept { return request_; }
  Request* operator->() noexcept { return &request_; }
  Request& request() noexcept { return request_; }

  // --- building ---
  /// One buffer, copied.
  template <class T>
  InputTensor& add_input(std::string_view name, DataType datatype, const std::vector<int64_t>& shape,
                         const std::vector<T>& values) {
    return add_raw_input(name, datatype, shape, bytes_of(values));
  }
  InputTensor& add_bytes_input(std::string_view name, const std::vector<int64_t>& shape,
                               const std::vector<std::string>& elements) {
    return add_raw_input(name, DataType::kBytes, shape, encode_bytes_tensor(elements));
  }
  /// \param cuts    ascending offsets at which the bytes are cut into several buffers.
  /// \param offset  bytes by which every buffer misses the alignment of 64.
  InputTensor& add_raw_input(std::string_view name, DataType datatype, const std::vector<int64_t>& shape,
                             std::string_view bytes, std::vector<size_t> cuts = {}, size_t offset = 0) {
    InputTensor& input = request_.add_input();
    Arena& arena = request_.arena();
    input.name = arena.copy_text(name);
    input.datatype = datatype;
    input.shape = arena.copy(std::span<const int64_t>(shape));
    input.size_bytes = bytes.size();
    cuts.push_back(bytes.size());
    auto* buffers = arena.make_array<Buffer>(cuts.size());
    size_t from = 0;
    for (size_t i = 0; i < cuts.size(); from = cuts[i++]) {
      size_t size = cuts[i] - from;
      auto* data = static_cast<char*>(arena.allocate(size + offset + 1, 64)) + offset;
      if (size != 0) std::memcpy(data, bytes.data() + from, size);
      buffers[i].data = data;
      buffers[i].size_bytes = size;
    }
    input.buffers = {buffers, cuts.size()};
    return input;
  }
  RequestedOutput& add_output(std::string_view name) {
    RequestedOutput& output = request_.add_output();
    output.name = request_.arena().copy_text(name);
    return output;
  }
  /// The same with a place for its bytes, as a client in shared memory has it.
  RequestedOutput& add_output(std::string_view name, std::span<char> place) {
    RequestedOutput& output = add_output(name);
    output.placement.data = place.data();
    output.placement.size_bytes = place.size();
    return output;
  }
  /// Every allocation of an output from now on fails.
  void fail_allocations(Code code, std::string message) {
    std::lock_guard lock(mutex_);
    allocation_failure_ = Status(code, std::move(message));
  }
  /// Called inside released(), before the request counts as released.
  void on_release(std::function<void(Request&)> hook) { release_hook_ = std::move(hook); }
  /// Called for each response as it is sent, without the sink's lock.
  void on_response(std::function<void(const ReceivedResponse&)> hook) { response_hook_ = std::move(hook); }
  /// Called once, when the final response and the release have both come.
  void on_done(std::function<void()> hook) { done_hook_ = std::move(hook); }

  // --- giving away ---
  /// Model::infer or Scheduler::enqueue.
  Status infer(Model& model) {
    request_.model = &model;
    return give([&] { return model.infer(request_); });
  }
  template <class Scheduler>
  Status enqueue(Scheduler& scheduler) {
    return give([&] { return scheduler.enqueue(request_); });
  }
  /// For other ways: after this the request must be answered and released.
  void mark_accepted() noexcept {
    std::lock_guard lock(mutex_);
    accepted_ = true;
  }
  void cancel() noexcept { request_.cancellation.cancel(); }

  // --- looking ---
  /// Given away with success, or by mark_accepted().
  bool accepted() const {
    std::lock_guard lock(mutex_);
    return accepted_;
  }
  bool got_final() const {
    std::lock_guard lock(mutex_);
    return finals_ != 0;
  }
  bool got_release() const {
    std::lock_guard lock(mutex_);
    return releases_ != 0;
  }
  bool done() const {
    std::lock_guard lock(mutex_);
    return done_;
  }
  /// For real threads: waits for done(), for so long at most.
  [[nodiscard]] bool wait_done(std::chrono::milliseconds most = std::chrono::minutes(1)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return done_; });
  }
  std::vector<ReceivedResponse> responses() const {
    std::lock_guard lock(mutex_);
    return received_;
  }
  /// The first response; an empty one if none came.
  ReceivedResponse response() const {
    std::lock_guard lock(mutex_);
    return received_.empty() ? ReceivedResponse{} : received_.front();
  }
  /// Breaches of the contract, one sentence each.
  std::vector<std::string> problems() const {
    std::lock_guard lock(mutex_);
    std::vector<std::string> all = problems_;
    for (const OutputMemory& memory : memory_) {
      if (!memory.guards_are_intact()) {
        all.push_back(cat("bytes around the memory of output '", memory.name(), "' were written"));
      }
    }
    if (done_ && !live_.empty()) {
      all.push_back(cat(live_.size(), " responses were neither sent nor discarded"));
    }
    if (!accepted_ && (finals_ != 0 || releases_ != 0))
      all.push_back("a refused request was answered or released");
    return all;
  }

  // --- ResponseSink ---
  Response* new_response() noexcept override {
    std::lock_guard lock(mutex_);
    live_.push_back(std::make_unique<Response>());
    live_.back()->sink = this;
    return live_.back().get();
  }
  Status allocate(Response&, OutputTensor& output, uint64_t size_bytes, MemoryKind,
                  int64_t) noexcept override {
    std::lock_guard lock(mutex_);
    if (!allocation_failure_.ok()) return allocation_failure_.clone();
    const RequestedOutput* wanted = request_.find_output(output.name);
    if (wanted != nullptr && wanted->placement.data != nullptr) {
      output.buffer = wanted->placement;
      if (size_bytes > output.buffer.size_bytes) {
        return internal_error("output '", output.name, "' has a place of ", output.buffer.size_bytes,
                              " bytes, it needs ", size_bytes);
      }
    } else {
      output.buffer.data = memory_.emplace_back(output.name, size_bytes).data();
    }
    output.buffer.size_bytes = size_bytes;
    return {};
  }
  void send(Response* response, uint32_t flags) noexcept override {
    ReceivedResponse received = ReceivedResponse::of(response, flags);
    {
      std::lock_guard lock(mutex_);
      if (response != nullptr) note_outputs(received);
      if (response != nullptr && !drop(response))
        problems_.push_back("a response of another sink, or one sent before, was sent");
      if (finals_ != 0) {
        problems_.push_back(received.final() ? "a second final response" : "a response after the final one");
        return;
      }
      received_.push_back(received);
    }
    if (response_hook_) response_hook_(received);
    if (received.final()) count(finals_);
  }
  void discard(Response* response) noexcept override {
    std::lock_guard lock(mutex_);
    if (!drop(response)) problems_.push_back("a response of another sink, or one sent before, was discarded");
  }
  void released(Request& request) noexcept override {
    {
      std::lock_guard lock(mutex_);
      if (&request != &request_) problems_.push_back("another request was released to this sink");
      if (releases_ != 0) {
        problems_.push_back("released a second time");
        return;
      }
    }
    if (release_hook_) release_hook_(request);
    count(releases_);
  }

 private:
  /// An output's bytes between guards.
  class OutputMemory {
   public:
    OutputMemory(std::string_view name, uint64_t size_bytes)
        : name_(name),
          size_bytes_(size_bytes),
          all_(static_cast<char*>(::operator new(size_bytes + 2 * kGuardBytes, std::align_val_t(64)))) {
      std::memset(all_.get(), kGuard, size_bytes + 2 * kGuardBytes);
    }
    const std::string& name() const noexcept { return name_; }
    char* data() const noexcept { return all_.get() + kGuardBytes; }
    bool guards_are_intact() const noexcept {
      for (size_t i = 0; i < kGuardBytes; ++i) {
        if (all_.get()[i] != kGuard || data()[size_bytes_ + i] != kGuard) return false;
      }
      return true;
    }

   private:
    static constexpr size_t kGuardBytes = 64;
    static constexpr char kGuard = 0x5a;
    struct Free {
      void operator()(char* data) const noexcept { ::operator delete(data, std::align_val_t(64)); }
    };
    std::string name_;
    uint64_t size_bytes_;
    std::unique_ptr<char, Free> all_;
  };
  /// Outputs are asked for, if any are, and there once.
  void note_outputs(const ReceivedResponse& received) {
    for (size_t i = 0; i < received.outputs.size(); ++i) {
      const std::string& name = received.outputs[i].name;
      if (!request_.outputs.empty() && request_.find_output(name) == nullptr) {
        problems_.push_back(cat("output '", name, "' was answered and not asked for"));
      }
      for (size_t k = 0; k < i; ++k) {
        if (received.outputs[k].name == name) problems_.push_back(cat("output '", name, "' is there twice"));
      }
    }
  }
  template <class Give>
  Status give(Give&& hand_over) {
    mark_accepted();  // before: the answer may come during the call
    Status status = hand_over();
    std::lock_guard lock(mutex_);
    if (!status.ok()) accepted_ = false;
    return status;
  }
  bool drop(Response* response) {
    return std::erase_if(live_, [&](const auto& owned) { return owned.get() == response; }) != 0;
  }
  void count(uint32_t& counter) {
    std::function<void()> hook;
    {
      std::lock_guard lock(mutex_);
      ++counter;
      if (finals_ == 0 || releases_ == 0) return;
      hook = std::move(done_hook_);
    }
    if (hook) hook();
    std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();  // inside the lock: who waits may destroy this object at once
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Request request_;
  bool accepted_ = false;
  bool done_ = false;
  uint32_t finals_ = 0, releases_ = 0;
  Status allocation_failure_;
  std::vector<ReceivedResponse> received_;
  std::vector<std::string> problems_;
  std::vector<std::unique_ptr<Response>> live_;
  std::vector<OutputMemory> memory_;
  std::function<void(Request&)> release_hook_;
  std::function<void(const ReceivedResponse&)> response_hook_;
  std::function<void()> done_hook_;
};

}  // namespace atl::test
