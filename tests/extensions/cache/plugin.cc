/// A response cache, the smallest one: keeps the answer to the last request of each model, and answers a
/// request with the same inputs by it.
#include "atoll/core/plugin.h"

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/core/open_parts.h"
#include "atoll/models/model.h"
#include "atoll/request/response_cache.h"
#include "atoll/request/sink_interposer.h"

namespace {

struct CachedOutput {
  std::string name;
  atl::DataType datatype = atl::DataType::kInvalid;
  std::vector<int64_t> shape;
  std::string bytes;
};
struct Entry {
  std::string question;  ///< as question_of() has it
  std::vector<CachedOutput> outputs;
};

class LastAnswers {
 public:
  std::optional<std::vector<CachedOutput>> find(const std::string& model, const std::string& question) {
    std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(model);
    if (entry == entries_.end() || entry->second.question != question) return std::nullopt;
    return entry->second.outputs;
  }
  void keep(const std::string& model, Entry entry) {
    std::scoped_lock lock(mutex_);
    entries_[model] = std::move(entry);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

/// What is asked: the version, the outputs, and the inputs with their bytes, one after the other.
std::string question_of(const atl::Request& request) {
  const atl::ModelInfo& model = request.model->info();
  std::string text = atl::cat(model.version, " ");
  for (const atl::RequestedOutput& output : request.outputs) text += atl::cat(output.name, " ");
  for (const atl::InputTensor& input : request.inputs) {
    text += atl::cat(input.name, " ", atl::data_type_name(input.datatype), " ", atl::shape_text(input.shape),
                     " ");
    for (const atl::Buffer& buffer : input.buffers) {
      text.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
    }
  }
  return text;
}

/// Keeps a request's answer as it goes by; deletes itself.
class Keeper final : public atl::SinkInterposer {
 public:
  Keeper(LastAnswers& answers, const atl::Request& request, std::string question, atl::Pass pass)
      : pass_(std::move(pass)),
        answers_(answers),
        model_(request.model->info().name),
        question_(std::move(question)) {}
  virtual ~Keeper() = default;

  void send(atl::Response* response, uint32_t flags) noexcept override {
    const bool is_only = std::exchange(is_first_, false) && (flags & atl::kFinal) != 0;
    if (is_only && response != nullptr && response->error.ok()) keep(*response);
    atl::ResponseSink& sink = next();
    const bool last = (flags & atl::kFinal) != 0 && parts_.done(kFinalPart);
    send_to(sink, response, flags);
    if (last) end();
  }
  void released(atl::Request& request) noexcept override {
    atl::ResponseSink& sink = next();
    const bool last = parts_.done(kReleasePart);
    release_to(sink, request);
    if (last) end();
  }

 private:
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };

  void end() {
    const atl::Pass pass = std::move(pass_);  // with it the plugin may be stopped and unmapped
    delete this;
  }
  void keep(const atl::Response& response) {
    Entry entry{std::move(question_), {}};
    for (const atl::OutputTensor& output : response.outputs) {
      entry.outputs.push_back({std::string(output.name),
                               output.datatype,
                               {output.shape.begin(), output.shape.end()},
                               {static_cast<const char*>(output.buffer.data), output.buffer.size_bytes}});
    }
    answers_.keep(model_, std::move(entry));
  }

  atl::Pass pass_;
  LastAnswers& answers_;
  const std::string model_;
  std::string question_;
  bool is_first_ = true;  ///< no response has come
  atl::OpenParts parts_{kFinalPart | kReleasePart};
};

class Cache final : public atl::Plugin, public atl::ResponseCache {
 public:
  explicit Cache(atl::Host& host) : host_(host) {}

  atl::CacheOutcome look_up(atl::Request& request, atl::CacheWaiter&) noexcept override {
    std::string question = question_of(request);
    if (auto outputs = answers_.find(request.model->info().name, question)) {
      answer(request, *outputs);
      return atl::CacheOutcome::kHit;
    }
    atl::Pass pass(host_.gate());
    if (pass) (new Keeper(answers_, request, std::move(question), std::move(pass)))->interpose(request);
    return atl::CacheOutcome::kMiss;
  }

 private:
  static void answer(atl::Request& request, const std::vector<CachedOutput>& outputs) {
    atl::Response* response = request.sink->new_response();
    atl::Status status;
    for (const CachedOutput& kept : outputs) {
      atl::OutputTensor& output = response->add_output(kept.name, kept.datatype, kept.shape);
      status = response->allocate(output, kept.bytes.size());
      if (!status.ok()) break;
      std::memcpy(output.buffer.data, kept.bytes.data(), kept.bytes.size());
    }
    atl::Parameter& parameter = response->parameters.add(response->arena());
    parameter.key = "cached";
    parameter.type = atl::ParameterType::kBool;
    parameter.bool_value = true;
    response->error = std::move(status);
    response->send();
    (void)request.release().ok();
  }

  atl::Host& host_;
  LastAnswers answers_;
};

}  // namespace

ATOLL_PLUGIN(Cache, {.name = "tests/cache",
                     .version = "1.0.0",
                     .license = "Apache-2.0",
                     .help = "Keeps the last answer of each model.",
                     .provides = {atl::provide<atl::ResponseCache>()}});
