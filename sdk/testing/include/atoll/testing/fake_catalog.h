/// A model catalog of identity models, for tests of frontends and control plugins.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model.h"
#include "atoll/testing/identity.h"

namespace atl::test {

/// One version that answers every input with an output, on the calling thread, or as `respond` says. [any]
class FakeServedModel final : public Model {
 public:
  explicit FakeServedModel(ModelInfo info) : info_(std::move(info)) {
    if (info_.version_text.empty()) info_.version_text = std::to_string(info_.version);
    if (info_.platform.empty()) info_.platform = "identity";
  }
  virtual ~FakeServedModel() = default;

  const ModelInfo& info() const noexcept override { return info_; }
  Status infer(Request& request) noexcept override {
    if (refuse) {
      if (Status refusal = refuse(request); !refusal.ok()) return refusal;
    }
    for (InputTensor& input : request.inputs) input.spec_index = index_of(info_.inputs, input.name);
    for (RequestedOutput& output : request.outputs) output.spec_index = index_of(info_.outputs, output.name);
    ++inferences_;
    if (respond) {
      respond(request);
    } else {
      answer_identity(request);
      (void)request.release().ok();
    }
    return {};
  }
  ModelStatistics statistics() const noexcept override {
    ModelStatistics statistics;
    statistics.name = info_.name;
    statistics.version = info_.version;
    statistics.inference_count = statistics.execution_count = inferences_;
    statistics.success.count = inferences_;
    statistics.responses = response_statistics;
    return statistics;
  }
  bool ready() const noexcept override { return is_ready; }
  bool has_sequence(const SequenceId& id) const noexcept override {
    return !keeps_sequence || keeps_sequence(id);
  }
  void add_reference() noexcept override { ++references_; }
  void drop_reference() noexcept override { --references_; }
  void report_first_response(const Request&) noexcept override { ++first_responses_; }

  /// ModelRefs that are held.
  int64_t references() const noexcept { return references_; }

  /// Requests of which a first response was reported.
  uint64_t first_responses() const noexcept { return first_responses_; }

  /// Takes over the request: answers, or keeps it and answers later; releases it. Set before requests come.
  std::function<void(Request&)> respond;
  /// Refuses the request if it returns a failure.
  std::vector<ResponseStatistics> response_statistics;
  std::function<Status(Request&)> refuse;
  /// Says which sequences are open; empty: the model knows none.
  std::function<bool(const SequenceId&)> keeps_sequence;
  std::atomic<bool> is_ready{true};

 private:
  static int32_t index_of(const std::vector<TensorSpec>& specs, std::string_view name) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].name == name) return static_cast<int32_t>(i);
    }
    return -1;
  }
  ModelInfo info_;
  std::atomic<int64_t> references_{0};
  std::atomic<uint64_t> inferences_{0};
  std::atomic<uint64_t> first_responses_{0};
};

/// Serves what was added; an unloaded model stays known and is not available. The texts of errors are those
/// of the interface. [any]
class FakeModelCatalog final : public ModelCatalog {
 public:
  virtual ~FakeModelCatalog() = default;

  /// The model stays until the catalog goes; one that is replaced finishes the sequences that it says are open.
  /// \returns the model, to script it.
  FakeServedModel& add(ModelInfo info) {
    std::lock_guard lock(mutex_);
    auto& slot = models_[info.name][info.version];
    if (slot.model != nullptr) replaced_.push_back(std::move(slot.model));
    slot = {std::make_unique<FakeServedModel>(std::move(info)), true};
    return *slot.model;
  }
  /// A model with one input "INPUT0" and one output "OUTPUT0" of dims [-1].
  FakeServedModel& add_identity(const std::string& name, DataType datatype = DataType::kFp32,
                                uint32_t max_batch_size = 0, int64_t version = 1) {
    ModelInfo info;
    info.name = name;
    info.version = version;
    info.max_batch_size = max_batch_size;
    info.required_inputs = 1;
    info.inputs.emplace_back();
    info.inputs[0].name = "INPUT0";
    info.inputs[0].datatype = datatype;
    info.inputs[0].dims = {-1};
    info.outputs = info.inputs;
    info.outputs[0].name = "OUTPUT0";
    return add(std::move(info));
  }

  Result<ModelRef> acquire(std::string_view name, int64_t version) noexcept override {
    std::lock_guard lock(mutex_);
    if (exiting_) return unavailable("Server exiting");
    auto found = models_.find(name);
    if (found == models_.end()) return unknown(name);
    if (version == kLatest) {
      for (auto entry = found->second.rbegin(); entry != found->second.rend(); ++entry) {
        if (entry->second.available) return reference(*entry->second.model);
      }
      return not_found("Request for unknown model: '", name, "' has no available versions");
    }
    auto entry = found->second.find(version);
    if (entry == found->second.end()) {
      return not_found("Request for unknown model: '", name, "' version ", version, " is not found");
    }
    if (!entry->second.available) {
      return unavailable("Request for unknown model: '", name, "' version ", version,
                         " is not at ready state");
    }
    return reference(*entry->second.model);
  }
  bool live() const noexcept override { return is_live && !exiting_; }
  bool ready() const noexcept override { return is_ready && !exiting_; }
  bool exiting() const noexcept override { return exiting_; }
  Result<std::vector<int64_t>> ready_versions(std::string_view name) const noexcept override {
    std::lock_guard lock(mutex_);
    auto found = models_.find(name);
    if (found == models_.end()) return unknown(name);
    std::vector<int64_t> versions;
    for (const auto& [version, entry] : found->second) {
      if (entry.available && entry.model->ready()) versions.push_back(version);
    }
    return versions;
  }
  Result<std::vector<ModelStatistics>> statistics(std::string_view name,
                                                  int64_t version) const noexcept override {
    std::lock_guard lock(mutex_);
    std::vector<ModelStatistics> found;
    bool known = false;
    for (const auto& [model, versions] : models_) {
      if (!name.empty() && name != model) continue;
      for (const auto& [number, entry] : versions) {
        known = known || entry.available;
        if (entry.available && (version == kLatest || version == number))
          found.push_back(entry.model->statistics());
      }
    }
    if (name.empty() || !found.empty()) return found;
    if (!known) return invalid_argument("requested model '", name, "' is not available");
    return invalid_argument("requested model version is not available for model '", name, "'");
  }
  Result<std::vector<ModelIndexEntry>> index(bool ready_only) noexcept override {
    if (list) return list();
    std::lock_guard lock(mutex_);
    std::vector<ModelIndexEntry> entries;
    for (const auto& [name, versions] : models_) {
      for (const auto& [version, entry] : versions) {
        ModelState state = entry.available ? ModelState::kReady : ModelState::kUnavailable;
        if (ready_only && !entry.available) continue;
        entries.push_back({name, std::to_string(version), std::string(model_state_name(state)),
                           entry.available ? "" : "unloaded"});
      }
    }
    return entries;
  }
  void load(std::vector<std::string> models,
            std::function<void(std::vector<ModelLoadResult>)> done) noexcept override {
    done(set_available(models, true));
  }
  void unload(std::vector<std::string> models,
              std::function<void(std::vector<ModelLoadResult>)> done) noexcept override {
    done(set_available(models, false));
  }
  void set_startup_complete() noexcept override { startup_complete = true; }
  void load_model(ModelLoadRequest request, std::function<void(ModelLoadOutcome)> done) noexcept override {
    if (holds_loads) {
      std::lock_guard lock(mutex_);
      held_.emplace_back(std::move(request), std::move(done));
      return;
    }
    Status status = std::move(set_available({request.model}, true)[0].status);
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    bool was_read = read ? read(status) : status.ok();
    done({std::move(status), was_read});
  }
  void unload_model(std::string model, bool with_members,
                    std::function<void(Status)> done) noexcept override {
    Status status = std::move(set_available({model}, false)[0].status);
    if (with_members) {
      std::lock_guard lock(mutex_);
      calls_.back() += " with members";
    }
    done(std::move(status));
  }

  ModelRef finishing(std::string_view name, int64_t version, const SequenceId& sequence) noexcept override {
    std::lock_guard lock(mutex_);
    for (const auto& model : replaced_) {
      const ModelInfo& info = model->info();
      if (info.name != name || (version != kLatest && version != info.version)) continue;
      if (!model->keeps_sequence) continue;
      if (sequence.empty() || model->keeps_sequence(sequence)) return reference(*model);
    }
    return {};
  }
  uint64_t open_sequences() const noexcept override { return open_count; }
  int64_t exit_began_ns() const noexcept override { return exit_began; }

  void set_exiting(bool exiting) noexcept { exiting_ = exiting; }
  /// What load_model() was asked for while `holds_loads`, in order. Further ones are held as long as that says.
  void end_loads() {
    std::vector<HeldLoad> ended;
    {
      std::lock_guard lock(mutex_);
      ended.swap(held_);
    }
    const bool holds = holds_loads.exchange(false);
    for (auto& [request, done] : ended) load_model(std::move(request), std::move(done));
    holds_loads = holds;
  }
  /// Names given to load() and unload(), in order, as "load a" and "unload b".
  std::vector<std::string> calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }

  /// What load_model() was given, in order.
  std::vector<ModelLoadRequest> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }

  std::atomic<bool> is_live{true};
  std::atomic<bool> is_ready{true};
  std::atomic<bool> startup_complete{false};
  std::atomic<uint64_t> open_count{0};  ///< of sequences, in all models
  std::atomic<int64_t> exit_began{0};
  /// Loads of load_model() end when end_loads() says so.
  std::atomic<bool> holds_loads{false};
  /// Answers index() in the place of the models that were added. Set before the calls.
  std::function<Result<std::vector<ModelIndexEntry>>()> list;
  /// Decides how a load or unload of one model ends; empty: known models succeed. Set before the calls.
  std::function<Status(bool load, const std::string& model)> decide;
  /// Decides whether a load_model() that ended so came beyond reading; empty: if it went well.
  std::function<bool(const Status&)> read;

 private:
  using HeldLoad = std::pair<ModelLoadRequest, std::function<void(ModelLoadOutcome)>>;
  struct Entry {
    std::unique_ptr<FakeServedModel> model;
    bool available = false;
  };
  static Status unknown(std::string_view name) {
    return not_found("Request for unknown model: '", name, "' is not found");
  }
  static ModelRef reference(FakeServedModel& model) {
    model.add_reference();
    return ModelRef(&model);
  }
  std::vector<ModelLoadResult> set_available(const std::vector<std::string>& models, bool load) {
    std::lock_guard lock(mutex_);
    std::vector<ModelLoadResult> results;
    for (const std::string& model : models) {
      calls_.push_back((load ? "load " : "unload ") + model);
      auto found = models_.find(model);
      Status status = decide ? decide(load, model) : Status();
      if (status.ok() && found == models_.end() && load) {
        status = internal_error("failed to load '", model, "', failed to poll from model repository");
      }
      if (status.ok() && found != models_.end()) {
        for (auto& [version, entry] : found->second) entry.available = load;
      }
      results.push_back({model, std::move(status)});
    }
    return results;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::map<int64_t, Entry>, std::less<>> models_;
  std::vector<std::unique_ptr<FakeServedModel>> replaced_;
  std::vector<std::string> calls_;
  std::vector<ModelLoadRequest> requests_;
  std::vector<HeldLoad> held_;
  std::atomic<bool> exiting_{false};
};

}  // namespace atl::test
