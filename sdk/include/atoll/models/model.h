/// A served model version, and the catalog of all of them. Service "atoll.model_catalog/1", minor 2.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/events.h"
#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "atoll/models/repository.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"

namespace atl {

/// What never changes while a version is served.
struct ModelInfo {
  std::string name;
  int64_t version = 0;
  std::string version_text;  ///< decimal
  std::string platform;      ///< of the configuration, else its backend
  uint32_t max_batch_size = 0;
  bool decoupled = false;
  bool device_ordered = false;  ///< BackendTraits::device_ordered, and all instances are on GPUs
  bool response_cache = false;  ///< the configuration asks for one, see atoll/request/response_cache.h
  /// Names of request parameters that change what is answered: parameter "response_cache_parameters" of the
  /// configuration, a list with commas. "*" alone: all of them do.
  std::vector<std::string> cache_parameters;
  /// Of this load: no other load of any model in this process has the same.
  uint64_t load_id = 0;
  /// Of a model with response_cache: 32 hexadecimal digits over its files and its configuration, but for what decides
  /// where and when it executes. Equal wherever the same model is served. Empty: not known, because there was no cache
  /// when it was loaded, a file changed meanwhile or could not be read, or a member of the ensemble has none.
  std::string content_id;
  uint32_t required_inputs = 0;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::string config;  ///< serialized inference.ModelConfig, completed
};

/// One served version. Reference counted; held through ModelRef.
class Model {
 public:
  virtual const ModelInfo& info() const noexcept = 0;
  /// [request] Validates the request against the configuration, fills in the requested outputs and hands it
  /// to the scheduler. On failure the caller still owns the request. request.model must be this model and
  /// request.sink set.
  virtual Status infer(Request& request) noexcept = 0;
  /// [any]
  virtual ModelStatistics statistics() const noexcept = 0;
  /// [any] READY and every instance can serve.
  virtual bool ready() const noexcept = 0;
  virtual void add_reference() noexcept = 0;
  virtual void drop_reference() noexcept = 0;
  /// [request] The first response of an accepted request reached its sink. Called once, by the sink's owner,
  /// while the request is not released or the caller holds it otherwise.
  virtual void report_first_response(const Request& request) noexcept = 0;
  /// [request] Whether a request that does not begin a sequence belongs here: the sequence is open, or the model
  /// knows none. If not, an older version may have it (ModelCatalog::finishing()).
  virtual bool has_sequence(const SequenceId& /*id*/) const noexcept { return true; }

 protected:
  ~Model() = default;
};

/// Keeps a model version alive: an unload waits for it.
class ModelRef {
 public:
  ModelRef() noexcept = default;
  /// Takes over one reference.
  explicit ModelRef(Model* model) noexcept : model_(model) {}
  ModelRef(ModelRef&& other) noexcept : model_(std::exchange(other.model_, nullptr)) {}
  ModelRef& operator=(ModelRef&& other) noexcept {
    if (this != &other) {
      reset();
      model_ = std::exchange(other.model_, nullptr);
    }
    return *this;
  }
  ~ModelRef() { reset(); }
  explicit operator bool() const noexcept { return model_ != nullptr; }
  Model* get() const noexcept { return model_; }
  Model* operator->() const noexcept { return model_; }
  void reset() noexcept {
    if (Model* model = std::exchange(model_, nullptr); model != nullptr) model->drop_reference();
  }

 private:
  Model* model_ = nullptr;
};

using ModelState = ModelStateChanged::State;
/// "READY"
constexpr std::string_view model_state_name(ModelState state) noexcept {
  constexpr std::string_view kNames[] = {"UNKNOWN", "LOADING", "READY", "UNLOADING", "UNAVAILABLE"};
  auto index = static_cast<uint32_t>(state);
  return index < 5 ? kNames[index] : kNames[0];
}

/// One line of the repository index. A model directory that was never loaded has only its name.
struct ModelIndexEntry {
  std::string name;
  std::string version;  ///< decimal; empty: none
  std::string state;    ///< model_state_name; empty: none
  std::string reason;
};

/// What was asked of one model and how it ended.
struct ModelLoadResult {
  std::string model;
  Status status;
};

/// One model to be loaded, and from what.
struct ModelLoadRequest {
  std::string model;
  /// The configuration's JSON form, which takes the place of the model directory's. It is kept by later loads
  /// without one until something in the directory changes, the model is unloaded, or files take its place.
  std::optional<std::string> config;
  /// Not empty: the model consists of these files and `config`, and the repository is not looked at.
  std::vector<RepositoryFile> files;
  /// Of an ensemble: members that changed in the repository are loaded with it. Members that are not READY
  /// always are.
  bool refresh_members = false;
};

/// How the load of one model ended.
struct ModelLoadOutcome {
  Status status;
  /// Directory and configuration were read, so that a failure is one of the load itself.
  bool was_read = false;
};

class ModelCatalog {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_catalog/1";
  static constexpr int64_t kLatest = -1;

  // --- [request] ---
  /// \param version  kLatest: the highest READY one.
  /// Errors, byte for byte: NOT_FOUND "Request for unknown model: '<m>' is not found", "... '<m>' version <v>
  /// is not found", "... '<m>' has no available versions"; UNAVAILABLE "... '<m>' version <v> is not at ready
  /// state", "Server not ready", "Server exiting".
  virtual Result<ModelRef> acquire(std::string_view name, int64_t version) noexcept = 0;

  // --- [any] ---
  /// Initialised and not ended.
  virtual bool live() const noexcept = 0;
  /// Live, every plugin started, start-up loads decided and, in strict readiness, no version failed and the READY
  /// ones can serve. What is on its way, or was unloaded on purpose, does not count.
  virtual bool ready() const noexcept = 0;
  /// True from the moment the server began to drain: health calls then fail with UNAVAILABLE "Server
  /// exiting".
  virtual bool exiting() const noexcept = 0;
  /// Every version of a model that is READY, ascending; empty if there is none. NOT_FOUND as acquire().
  virtual Result<std::vector<int64_t>> ready_versions(std::string_view name) const noexcept = 0;
  /// Of all READY versions ordered by name and version; of one model; of one version.
  /// Errors: INVALID_ARGUMENT "requested model '<m>' is not available", "requested model version is not
  /// available for model '<m>'".
  virtual Result<std::vector<ModelStatistics>> statistics(std::string_view name,
                                                          int64_t version) const noexcept = 0;

  // --- [worker]: may read the repository ---
  virtual Result<std::vector<ModelIndexEntry>> index(bool ready_only) noexcept = 0;

  // --- [any], used by control plugins ---
  /// Loads the named models on worker threads and then calls done once, on a worker thread. Of a model that
  /// is loaded only the versions are loaded anew whose files or configuration changed. A failed load leaves
  /// what was serving.
  virtual void load(std::vector<std::string> models,
                    std::function<void(std::vector<ModelLoadResult>)> done) noexcept = 0;
  /// Takes the versions out of service at once and frees them when their requests have ended. done: when the
  /// state is UNLOADING or UNAVAILABLE.
  virtual void unload(std::vector<std::string> models,
                      std::function<void(std::vector<ModelLoadResult>)> done) noexcept = 0;
  /// The control plugin has decided what shall be served at start and it is loaded or failed: ready() may be
  /// true.
  virtual void set_startup_complete() noexcept = 0;

  // --- [any], since minor 1, used by control plugins ---
  /// As load(), of one model; done is called on this or another thread.
  virtual void load_model(ModelLoadRequest request, std::function<void(ModelLoadOutcome)> done) noexcept = 0;
  /// As unload(), of one model; done is called on this or another thread.
  /// \param with_members  of an ensemble: its members too, as far as they were loaded for ensembles only and
  /// no other loaded ensemble uses them; likewise their members
  virtual void unload_model(std::string model, bool with_members,
                            std::function<void(Status)> done) noexcept = 0;

  // --- since minor 2 ---
  /// [request] A version that is not served any more, because another has taken its place or it is unloaded, and
  /// finishes the sequences that began on it. Empty: there is none.
  /// \param version   kLatest: any
  /// \param sequence  that is open there; empty: the request is not read yet, and any version is given
  virtual ModelRef finishing(std::string_view /*name*/, int64_t /*version*/,
                             const SequenceId& /*sequence*/) noexcept {
    return {};
  }
  /// [any] Sequences of all models that are open. When the server ends, frontends go on as long as there are
  /// any and time is left.
  virtual uint64_t open_sequences() const noexcept { return 0; }
  /// [any] When exiting() became true, on the host's clock, in nanoseconds; 0: it is false, or nobody knows. Frontends that drain
  /// one after the other reckon from it, so that they wait for sequences once and not one after the other.
  virtual int64_t exit_began_ns() const noexcept { return 0; }

 protected:
  ~ModelCatalog() = default;
};

}  // namespace atl
