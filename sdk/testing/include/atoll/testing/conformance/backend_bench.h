/// The bench of the backend suite: models to load, batches to execute, answers to judge.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

/// One model and what to send to it.
struct BackendCase {
  std::string name;
  ModelSource source;           ///< its directories exist; config and model are final
  uint32_t max_batch_size = 0;  ///< of the configuration
  /// Adds the inputs of request n, with batch_size rows if the model batches. Where it adds no outputs, all
  /// of source.model are asked for, as they are after validation.
  std::function<void(TestRequest&, uint64_t n)> fill;
  /// True if the response is right for request n.
  std::function<::testing::AssertionResult(const ReceivedResponse&, uint64_t n)> right;
  /// Adds inputs that only the backend can find wrong; may be empty.
  std::function<void(TestRequest&, uint64_t n)> fill_bad;
};

struct BackendProvider {
  std::string name;
  std::function<std::shared_ptr<Backend>(FakeHost&)> make;
  std::vector<BackendCase> cases;  ///< FP32, BYTES, ...
  InstanceKind kind = InstanceKind::kCpu;
  /// A source whose files are missing; default: the first case's with directories that do not exist.
  ModelSource broken;
  std::vector<ConformanceException> exceptions;
  /// How long a batch may take from execute()'s return to its last answer. A request that has none by then has been forgotten, which is
  /// told; the batches after it are waited for a hundredth of it, so that a suite ends soon.
  std::chrono::milliseconds answer_within = std::chrono::seconds(20);
  friend void PrintTo(const BackendProvider& provider, std::ostream* out) { *out << provider.name; }
};

class BackendConformance : public Conformance<BackendProvider> {
 protected:
  using Requests = std::vector<std::unique_ptr<TestRequest>>;

  /// A loaded model with one instance.
  struct Loaded {
    std::unique_ptr<BackendModel> model;
    std::unique_ptr<BackendInstance> instance;
  };
  void SetUp() override {
    host_ = std::make_unique<FakeHost>(GetParam().name, FakeHost::Threads::kReal);
    backend_ = GetParam().make(*host_);
    ASSERT_NE(backend_, nullptr);
  }
  void TearDown() override {
    backend_.reset();
    host_.reset();
  }
  InstanceSpec spec(uint32_t n = 0) {
    InstanceSpec spec;
    spec.name = cat("test_", n);
    spec.kind = GetParam().kind;
    spec.reporter = &reporter_;
    return spec;
  }
  Loaded load(const BackendCase& one) {
    Loaded loaded;
    auto model = backend_->load(one.source);
    EXPECT_TRUE(is_ok(model)) << one.name;
    if (!model.ok()) return loaded;
    loaded.model = std::move(model).value();
    auto instance = loaded.model->create_instance(spec());
    EXPECT_TRUE(is_ok(instance)) << one.name;
    if (instance.ok()) loaded.instance = std::move(instance).value();
    return loaded;
  }
  TestRequest& add(Requests& requests, const BackendCase& one, bool bad = false) {
    uint64_t n = requests.size();
    requests.push_back(std::make_unique<TestRequest>(cat(one.name, "-", next_id_++)));
    TestRequest& request = *requests.back();
    (*request).batch_size = one.max_batch_size == 0 ? 0 : 1;
    (bad ? one.fill_bad : one.fill)(request, n);
    if ((*request).outputs.empty()) {
      for (const TensorSpec& output : one.source.model.outputs) request.add_output(output.name);
    }
    request.on_release([this](Request& released) {
      if (reporter_.of(std::string(released.id)).total() != 1) ++released_uncounted_;
    });
    return request;
  }
  /// Executes the requests as one batch, and waits for the answers.
  Status execute(BackendInstance& instance, Requests& requests) {
    std::vector<Request*> pointers;
    Batch batch;
    for (auto& request : requests) {
      request->mark_accepted();
      pointers.push_back(&request->request());
      batch.total_batch_size += request->request().batch_weight();
    }
    batch.requests = pointers;
    const std::vector<std::string> sent = inputs_of(requests);
    if (Status status = instance.execute(batch); !status.ok()) {
      for (auto& request : requests) {
        EXPECT_FALSE(request->got_final() || request->got_release())
            << "execute() failed and touched a request";
        reporter_.report_failure(request->request(), FailureReason::kBackend);
        fail_request(request->request(), status.clone());
      }
      EXPECT_TRUE(inputs_of(requests) == sent) << "execute() failed and wrote to its inputs";
      return status;
    }
    if (!await_answers(requests)) return {};
    EXPECT_TRUE(inputs_of(requests) == sent)
        << "execute() wrote to its inputs: their bytes are the client's, or those "
           "of another request";
    return {};
  }
  /// Fails for each request that has been forgotten, and puts a fresh one in its place: whoever has it may still touch it, so it is kept.
  /// \returns whether none was
  bool await_answers(Requests& requests) {
    static std::mutex mutex;  // guards what follows
    static Requests& kept = *new Requests;
    static std::set<std::string> forgetful;  // providers
    auto most = GetParam().answer_within;
    {
      std::lock_guard lock(mutex);
      if (forgetful.contains(GetParam().name)) most /= kImpatience;
    }
    const auto until = std::chrono::steady_clock::now() + most;
    bool all = true;
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (requests[i]->wait_done(std::max(left, std::chrono::milliseconds(0)))) continue;
      all = false;
      TestRequest& request = *requests[i];
      ADD_FAILURE() << "request '" << (*request).id << "', number " << i + 1 << " of a batch of "
                    << requests.size() << ", "
                    << (request.got_final() ? "was answered, but not released" : "was not answered")
                    << " within " << most.count() << " ms of execute(): the backend has forgotten it";
      auto fresh = std::make_unique<TestRequest>(std::string((*request).id));
      std::lock_guard lock(mutex);
      forgetful.insert(GetParam().name);
      kept.push_back(std::exchange(requests[i], std::move(fresh)));
    }
    return all;
  }
  /// The bytes of every input of every request.
  static std::vector<std::string> inputs_of(const Requests& requests) {
    std::vector<std::string> all;
    for (const auto& request : requests) {
      for (const InputTensor& input : request->request().inputs) all.push_back(input_bytes(input));
    }
    return all;
  }
  void expect_clean(const Requests& requests) {
    for (const auto& request : requests) {
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
    }
    EXPECT_EQ(released_uncounted_, 0u) << "statistics are reported before the release, once a request";
  }
  static void expect_right(const BackendCase& one, const Requests& requests, size_t n) {
    ReceivedResponse response = requests[n]->response();
    EXPECT_EQ(response.code, Code::kOk) << one.name << ", request " << n << ": " << response.message;
    EXPECT_TRUE(one.right(response, n)) << one.name << ", request " << n;
    for (const ReceivedOutput& output : response.outputs) {
      EXPECT_TRUE(is_as_configured(one, output)) << one.name << ", request " << n;
    }
  }
  /// Of its type and shape, with the bytes that these say.
  static ::testing::AssertionResult is_as_configured(const BackendCase& one, const ReceivedOutput& output) {
    const TensorSpec* spec = one.source.model.find_output(output.name);
    if (spec == nullptr) return ::testing::AssertionSuccess();  // asked for by the case, not described by it
    auto failure = [&] { return ::testing::AssertionFailure() << "output '" << output.name << "' "; };
    if (output.datatype != spec->datatype) {
      return failure() << "has type " << data_type_name(output.datatype) << ", the model says "
                       << data_type_name(spec->datatype);
    }
    std::vector<int64_t> dims = spec->backend_dims();
    if (one.max_batch_size > 0) dims.insert(dims.begin(), -1);
    const auto fits = [](int64_t dim, int64_t said) { return said == -1 || dim == said; };
    if (!std::ranges::equal(output.shape, dims, fits)) {
      return failure() << "has shape " << shape_text(output.shape) << ", the model says " << shape_text(dims);
    }
    const uint64_t size = data_type_size_bytes(output.datatype);
    const auto count = static_cast<uint64_t>(element_count(output.shape).value_or(0));
    if (size == 0 || output.bytes.size() == size * count) return ::testing::AssertionSuccess();
    return failure() << "has " << output.bytes.size() << " bytes, its shape " << shape_text(output.shape)
                     << " says " << size * count;
  }
  static size_t batch_of(const BackendCase& one) {
    return one.max_batch_size == 0 ? 1 : std::min(one.max_batch_size, 4u);
  }
  /// Gives every input of the request `pieces` buffers that miss the alignment by `offset` bytes.
  static void recut(TestRequest& request, size_t pieces, size_t offset) {
    Arena& arena = request.request().arena();
    for (InputTensor& input : request.request().inputs) {
      std::string bytes = input_bytes(input);
      auto* buffers = arena.make_array<Buffer>(pieces);
      for (size_t i = 0; i < pieces; ++i) {
        size_t from = bytes.size() * i / pieces, to = bytes.size() * (i + 1) / pieces;
        char* data = static_cast<char*>(arena.allocate(to - from + offset + 1, 64)) + offset;
        if (to > from) std::memcpy(data, bytes.data() + from, to - from);
        buffers[i].data = data;
        buffers[i].size_bytes = to - from;
      }
      input.buffers = {buffers, pieces};
    }
  }
  void run_case(const BackendCase& one, BackendInstance& instance, size_t pieces, size_t offset) {
    Requests requests;
    for (size_t i = 0; i < batch_of(one); ++i) recut(add(requests, one), pieces, offset);
    EXPECT_TRUE(is_ok(execute(instance, requests)));
    for (size_t i = 0; i < requests.size(); ++i) expect_right(one, requests, i);
    expect_clean(requests);
  }

  /// The answer to one request that is like the case's first and asks for these outputs.
  ReceivedResponse ask(const BackendCase& one, BackendInstance& instance,
                       const std::vector<std::string>& names, std::vector<std::string>* places = nullptr) {
    Requests requests;
    TestRequest& request = add(requests, one);
    request->outputs.truncate(0);
    for (size_t i = 0; i < names.size(); ++i) {
      if (places == nullptr) {
        request.add_output(names[i]);
      } else {
        request.add_output(names[i], std::span(places->at(i)).subspan(kGuardBytes));
        request->outputs[i].placement.size_bytes -= kGuardBytes;
      }
    }
    EXPECT_TRUE(is_ok(execute(instance, requests)));
    expect_clean(requests);
    return requests[0]->response();
  }
  /// What the case's first request asks for.
  std::vector<std::string> asked(const BackendCase& one) {
    Requests requests;
    std::vector<std::string> names;
    for (const RequestedOutput& output : add(requests, one)->outputs) names.emplace_back(output.name);
    return names;
  }

  static constexpr int kImpatience = 100;
  static constexpr size_t kGuardBytes = 64;
  static constexpr char kGuard = 0x5a;
  std::unique_ptr<FakeHost> host_;
  std::shared_ptr<Backend> backend_;
  RecordingReporter reporter_;
  std::atomic<uint64_t> next_id_{0};
  std::atomic<uint32_t> released_uncounted_{0};
};

}  // namespace atl::test
