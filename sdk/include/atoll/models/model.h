/// A served model version, and the catalog of all of them. Service "atoll.model_catalog/1", minor 4, provided
/// by models/catalog.
///
/// A frontend looks a model up, makes a request for it and keeps the reference until the request is answered
/// and released:
///
///     Result<ModelRef> model = catalog->acquire("resnet", ModelCatalog::kLatest);
///     if (!model.ok()) return answer(std::move(model).status());
///     context.model = std::move(model).value();
///     context.request.model = context.model.get();
///     context.request.sink = &context;
///     if (Status status = context.model->infer(context.request); !status.ok()) answer(std::move(status));
///
/// Control plugins (atoll/models/model_control.h) tell the catalog what to load and unload.
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

/// What never changes while a version is served. Names and texts live as long as the Model, so requests
/// borrow them.
struct ModelInfo {
  std::string name;
  int64_t version = 0;
  std::string version_text;  ///< decimal
  /// `platform` of the configuration or, if that is empty, its `backend`: "platform" of KServe's model
  /// metadata.
  std::string platform;
  /// 0: the model does not batch, and shapes have no batch dimension.
  uint32_t max_batch_size = 0;
  /// A request may have any number of responses, none included.
  bool decoupled = false;
  /// BackendTraits::device_ordered is set, and all instances are on GPUs.
  bool device_ordered = false;
  /// The configuration asks for a response cache (atoll/request/response_cache.h), and the model is not
  /// decoupled.
  bool response_cache = false;
  /// Names of request parameters that change what is answered: the parameter "response_cache_parameters" of
  /// the configuration, a list with commas. "*" alone means that all of them do.
  std::vector<std::string> cache_parameters;
  /// A number of this load that no other load of any model has in this process.
  uint64_t load_id = 0;
  /// Says what the model consists of, if it has response_cache: 32 hexadecimal digits over its files and its
  /// configuration, without the settings that decide only where and when it executes. They are equal wherever
  /// the same model is served. Empty: not known, because there was no cache when the model was loaded, a file
  /// changed meanwhile or could not be read, or a member of the ensemble has none.
  std::string content_id;
  /// How many of `inputs` a request has to have: those that are not optional.
  uint32_t required_inputs = 0;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  /// A serialized inference.ModelConfig: completed, normalised and validated.
  std::string config;
};

/// One served version of a model. Reference counted; held through ModelRef.
class Model {
 public:
  /// Valid as long as the model is held. [any]
  virtual const ModelInfo& info() const noexcept = 0;
  /// Validates the request against the configuration, fills in the requested outputs, asks cache and
  /// admission and hands the request to the scheduler. It may be answered, and gone, before this returns.
  /// request.model must be this model, and request.sink set. [request]
  /// Errors: INVALID_ARGUMENT the request does not fit the configuration; those of RequestAdmission::ask()
  /// and Scheduler::enqueue(). The caller still owns the request then.
  virtual Status infer(Request& request) noexcept = 0;
  /// A snapshot of what was counted. It asks the backend for its memory, so it may take longer than a request
  /// should wait. [any]
  virtual ModelStatistics statistics() const noexcept = 0;
  /// Whether the version is READY and every instance can serve (BackendInstance::ready()). [any]
  virtual bool ready() const noexcept = 0;
  /// For ModelRef and those who keep models otherwise. When the last reference of a retired version is
  /// dropped, it is destroyed later on a worker thread. [any]
  virtual void add_reference() noexcept = 0;
  virtual void drop_reference() noexcept = 0;
  /// Counts the time to the first response of an accepted request. Called once for each request, by the
  /// sink's owner when the response reaches it, while the request is not released or the caller holds it
  /// otherwise. [request]
  virtual void report_first_response(const Request& request) noexcept = 0;
  /// Whether a request that does not begin its sequence belongs to this version: the sequence is open here,
  /// or the model knows no sequences. If not, an older version may have it (ModelCatalog::finishing()).
  /// \param id  qualified_id() of the request's id and owner (atoll/request/owned_sequence.h) [request]
  virtual bool has_sequence(const SequenceId& /*id*/) const noexcept { return true; }

 protected:
  ~Model() = default;
};

/// Keeps a model version alive: an unload waits for it. It can be moved but not copied. Every function may be
/// called from any thread, but one reference is used by one thread at a time.
class ModelRef {
 public:
  /// Holds nothing.
  ModelRef() noexcept = default;
  /// Takes over one reference, which the caller has; the counter is not touched.
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
  /// Null if nothing is held.
  Model* get() const noexcept { return model_; }
  Model* operator->() const noexcept { return model_; }
  /// Lets go of the version, if one is held. Names and texts that were borrowed from it may be gone
  /// afterwards.
  void reset() noexcept {
    if (Model* model = std::exchange(model_, nullptr); model != nullptr) model->drop_reference();
  }

 private:
  Model* model_ = nullptr;
};

using ModelState = ModelStateChanged::State;
/// The name that the repository index has for the state: "READY".
constexpr std::string_view model_state_name(ModelState state) noexcept {
  constexpr std::string_view kNames[] = {"UNKNOWN", "LOADING", "READY", "UNLOADING", "UNAVAILABLE"};
  auto index = static_cast<uint32_t>(state);
  return index < 5 ? kNames[index] : kNames[0];
}

/// One line of the repository index (RepositoryIndex in Triton's protocol). A model directory that was never
/// loaded has only its name.
struct ModelIndexEntry {
  std::string name;
  /// Decimal; empty: no version is known.
  std::string version;
  /// A model_state_name(); empty: the model was never loaded.
  std::string state;
  /// Why the version is not READY, or why its last load failed while an earlier one goes on serving; where there is no such
  /// reason, what the repository remarks (Repository::remark()).
  std::string reason;
};

/// What was asked of one model, and how it ended.
struct ModelLoadResult {
  std::string model;
  Status status;
};

/// One model to be loaded, and what it is loaded from.
struct ModelLoadRequest {
  std::string model;
  /// The configuration in its JSON form, which takes the place of the one in the model directory. Later loads
  /// without a configuration keep it until something in the directory changes, the model is unloaded, or
  /// files take its place.
  std::optional<std::string> config;
  /// Not empty: the model consists of these files and `config`, and the repository is not looked at.
  std::vector<RepositoryFile> files;
  /// For an ensemble: members that changed in the repository are loaded, too. Members that are not READY
  /// always are.
  bool refresh_members = false;
};

/// How the load of one model ended.
struct ModelLoadOutcome {
  Status status;
  /// Directory and configuration could be read, so a failure is one of the load itself.
  bool was_read = false;
};

/// Requests that a server has at a moment, of all its models.
struct RequestsNow {
  /// Those that a scheduler has accepted and no instance executes.
  uint64_t waiting = 0;
  /// Those that instances execute.
  uint64_t running = 0;
};

/// All models that this server knows. It loads, serves and unloads them; which ones is decided by a control
/// plugin.
class ModelCatalog {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_catalog/1";
  /// Stands for "no version named" wherever a version is a parameter.
  static constexpr int64_t kLatest = -1;

  // --- [request] ---
  /// Finds a served version and holds it. The lock that it takes is that of the calling thread's own part of
  /// the table, so look-ups do not wait for each other. [request]
  /// \param name     of the model, or its identifier (atoll/models/model_identifier.h)
  /// \param version  kLatest: the highest READY one
  /// Errors, byte for byte: NOT_FOUND "Request for unknown model: '<m>' is not found", "... '<m>' version <v>
  /// is not found", "... '<m>' has no available versions"; UNAVAILABLE "... '<m>' version <v> is not at ready
  /// state", "Server not ready", "Server exiting".
  virtual Result<ModelRef> acquire(std::string_view name, int64_t version) noexcept = 0;

  // --- [any] ---
  /// Whether the catalog has started and not ended: KServe's server-live call. [any]
  virtual bool live() const noexcept = 0;
  /// Whether the server as a whole is ready: it is live, every plugin has started, the start-up loads are
  /// decided, and in strict readiness no version has failed and the READY ones can serve. Models that are
  /// being loaded, or were unloaded on purpose, do not count. [any]
  virtual bool ready() const noexcept = 0;
  /// True from the moment the server began to drain: health calls then fail with UNAVAILABLE "Server
  /// exiting". [any]
  virtual bool exiting() const noexcept = 0;
  /// Every version of a model that is READY, ascending; empty if there is none. [any]
  /// Errors: NOT_FOUND as acquire().
  virtual Result<std::vector<int64_t>> ready_versions(std::string_view name) const noexcept = 0;
  /// The statistics of READY versions, ordered by name and version. [any]
  /// \param name     empty: all models
  /// \param version  kLatest: all versions of the model
  /// Errors: INVALID_ARGUMENT "requested model '<m>' is not available", "requested model version is not
  /// available for model '<m>'".
  virtual Result<std::vector<ModelStatistics>> statistics(std::string_view name,
                                                          int64_t version) const noexcept = 0;

  // --- [worker]: may read the repository ---
  /// The repository index: what was loaded, and what the repositories hold. Lists the repositories, so it may
  /// block. If they cannot be listed, it has the models that are or were loaded. [worker]
  /// \param ready_only  only versions that are READY; names that two repositories have are listed
  /// nevertheless
  /// Errors: UNAVAILABLE "Server not ready", "Server exiting", or the reason why nothing could be listed.
  virtual Result<std::vector<ModelIndexEntry>> index(bool ready_only) noexcept = 0;

  // --- [any], used by control plugins ---
  /// Loads the named models on worker threads and then calls `done` once, on a worker thread. Of a model that
  /// is loaded, only those versions are loaded anew whose files or configuration changed. A failed load
  /// leaves what was serving. [any]
  virtual void load(std::vector<std::string> models,
                    std::function<void(std::vector<ModelLoadResult>)> done) noexcept = 0;
  /// Takes the versions out of service at once, and frees them when their requests have ended. [any]
  /// \param done  called when the state is UNLOADING or UNAVAILABLE, which may be before memory is free
  virtual void unload(std::vector<std::string> models,
                      std::function<void(std::vector<ModelLoadResult>)> done) noexcept = 0;
  /// Called once by the control plugin, when all that shall be served at start is loaded or has failed: from
  /// then on ready() may be true. [any]
  virtual void set_startup_complete() noexcept = 0;

  // --- [any], since minor 1, used by control plugins ---
  /// As load(), for one model and with all that a client may say of it. `done` is called once, on this or
  /// another thread. [any]
  virtual void load_model(ModelLoadRequest request, std::function<void(ModelLoadOutcome)> done) noexcept = 0;
  /// As unload(), for one model. `done` is called once, on this or another thread. [any]
  /// \param with_members  for an ensemble: its members are unloaded, too, if they were loaded for ensembles
  /// only and no other loaded ensemble uses them; likewise their members
  virtual void unload_model(std::string model, bool with_members,
                            std::function<void(Status)> done) noexcept = 0;

  // --- since minor 2 ---
  /// A version that is not served any more, because another has taken its place or it is unloaded, but that
  /// still finishes the sequences that began on it. Empty: there is none. [request]
  /// \param version   kLatest: any
  /// \param sequence  qualified_id() of a sequence that is open there; empty: the request has not been read yet,
  /// and any such version is given
  virtual ModelRef finishing(std::string_view /*name*/, int64_t /*version*/,
                             const SequenceId& /*sequence*/) noexcept {
    return {};
  }
  /// Sequences of all models that are open. When the server ends, frontends go on as long as there are any
  /// and time is left. [any]
  virtual uint64_t open_sequences() const noexcept { return 0; }
  /// When exiting() became true, by the host's steady clock, in nanoseconds; 0: it is false, or nobody knows.
  /// Frontends drain one after the other and reckon from this moment, so that together they wait for
  /// sequences once. [any]
  virtual int64_t exit_began_ns() const noexcept { return 0; }

  // --- since minor 4 ---
  /// The statistics of every READY version, ordered by name and version, each given to `visit` before the next one is put
  /// together: those of 10,000 models would take 110 MB together. [any]
  /// \param visit  called on this thread, while the version is held; what it is given is gone when it returns
  virtual void visit_statistics(const std::function<void(const ModelStatistics&)>& visit) const {
    const Result<std::vector<ModelStatistics>> all = statistics({}, kLatest);
    if (!all.ok()) return;
    for (const ModelStatistics& one : all.value()) visit(one);
  }
  /// The sums over all models. What it costs depends on the number of models that have had requests since the last call, and
  /// not on how many there are. [any]
  virtual RequestsNow requests_now() const noexcept { return {}; }

 protected:
  ~ModelCatalog() = default;
};

}  // namespace atl
