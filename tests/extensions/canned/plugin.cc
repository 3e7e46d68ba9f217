/// tests/canned: a backend whose models answer every prompt with the same tokens, one for each step of all requests together,
/// as an engine with continuous batching does, and at no cost of its own: what is measured is the server.
#include "atoll/core/plugin.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/bytes.h"
#include "atoll/backend/parameters.h"
#include "atoll/core/executor.h"

namespace {

using namespace atl;  // NOLINT

/// Parameters of a model's configuration.
struct Canned {
  int64_t tokens = 128;              ///< of each answer
  int64_t step_microseconds = 1000;  ///< from token to token
  std::string text = " token";
};

/// One request, and how many of its tokens are out.
struct Running {
  Request* request;
  int64_t sent = 0;
  int64_t start_ns = 0;
};

class CannedInstance final : public BackendInstance {
 public:
  CannedInstance(const Canned& canned, const Clock& clock, InferenceReporter* reporter,
                 SerialExecutorPtr executor)
      : canned_(canned), clock_(clock), reporter_(reporter), executor_(std::move(executor)) {}

  Status execute(const Batch& batch) noexcept override {
    for (Request* request : batch.requests) {
      executor_->post(make_task([this, request] {
        running_.push_back({request, 0, clock_.now_ns()});
        if (running_.size() == 1) wait();
      }));
    }
    return {};
  }

 private:
  void wait() {
    executor_->post_at(clock_.now_ns() + canned_.step_microseconds * 1000, make_task([this] { step(); }));
  }
  void step() {
    std::erase_if(running_, [this](Running& one) { return advance(one); });
    if (!running_.empty()) wait();
  }
  /// \returns it has ended
  bool advance(Running& one) {
    Request& request = *one.request;
    const bool is_cancelled = request.cancelled();
    const bool is_last = ++one.sent >= canned_.tokens;
    Response* const response = request.sink->new_response();
    if (is_cancelled) {
      response->send_error(Status(Code::kCancelled, "cancelled"), kFinal);
    } else {
      for (const RequestedOutput& output : request.outputs) add(*response, output, is_last);
      response->send(is_last ? uint32_t{kFinal} : 0);
    }
    if (!is_cancelled && !is_last) return false;
    if (reporter_ != nullptr) {
      const int64_t now_ns = clock_.now_ns();
      ExecutionTimes times{one.start_ns, one.start_ns, now_ns, now_ns};
      times.execute_end_ns = now_ns;
      reporter_->report_request(request, !is_cancelled, times);
    }
    (void)request.release().ok();
    return true;
  }
  void add(Response& response, const RequestedOutput& wanted, bool is_last) {
    constexpr int64_t kShape[] = {1};
    const auto put = [&](DataType type, const void* bytes, size_t size) {
      OutputTensor& output = response.add_output(wanted, type, kShape);
      if (response.allocate(output, size).ok()) std::memcpy(output.buffer.data, bytes, size);
    };
    const auto put_text = [&](std::string_view text) {
      const auto size = static_cast<uint32_t>(text.size());
      std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
      bytes += text;
      put(DataType::kBytes, bytes.data(), bytes.size());
    };
    if (wanted.name == "text_output") {
      put_text(canned_.text);
    } else if (wanted.name == "finish_reason") {
      if (is_last) put_text("length");
    } else {
      const uint32_t number = wanted.name == "num_input_tokens" ? uint32_t{7} : uint32_t{1};
      put(DataType::kUint32, &number, sizeof number);
    }
  }

  const Canned& canned_;
  const Clock& clock_;
  InferenceReporter* const reporter_;
  std::vector<Running> running_;  ///< of the executor's thread
  SerialExecutorPtr executor_;
};

class CannedModel final : public BackendModel {
 public:
  CannedModel(Canned canned, Host& host) : canned_(std::move(canned)), host_(host) {}
  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    Result<SerialExecutorPtr> executor = host_.executors().create(spec.name, {});
    if (!executor.ok()) return std::move(executor).status();
    return std::unique_ptr<BackendInstance>(
        std::make_unique<CannedInstance>(canned_, host_.clock(), spec.reporter, std::move(executor).value()));
  }

 private:
  const Canned canned_;
  Host& host_;
};

class CannedBackend final : public Plugin, public Backend {
 public:
  explicit CannedBackend(Host& host) : host_(host) {}
  virtual ~CannedBackend() = default;
  Backend& backend() noexcept { return *this; }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{.kind = InstanceKind::kCpu, .count = 1, .gpus = {}}},
            .parallel_instances = true};
  }
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override {
    Canned canned;
    for (const auto& [name, value] :
         {std::pair("tokens", &canned.tokens), {"step_microseconds", &canned.step_microseconds}}) {
      Result<int64_t> number = backends::int_parameter(source.model, name, *value);
      if (!number.ok()) return std::move(number).status();
      *value = number.value();
    }
    if (const auto text = source.model.parameters.find("text"); text != source.model.parameters.end())
      canned.text = text->second;
    return std::unique_ptr<BackendModel>(std::make_unique<CannedModel>(std::move(canned), host_));
  }

 private:
  Host& host_;
};

}  // namespace

ATOLL_PLUGIN(CannedBackend, {.name = "tests/canned",
                             .version = "1.0.0",
                             .license = "Apache-2.0",
                             .help = "Answers every prompt with the same tokens.",
                             .provides = {provide<Backend, &CannedBackend::backend>()}});
