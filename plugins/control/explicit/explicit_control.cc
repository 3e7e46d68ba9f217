#include "control/explicit/explicit_control.h"

#include <memory>
#include <utility>

#include "control/explicit/load_parameters.h"

namespace atl::control {

/// A call until it is answered, and what it takes of the memory for overrides.
struct ExplicitControl::InHand {
  explicit InHand(ExplicitControl& owner) : control(owner), pass(owner.gate_) {}
  InHand(const InHand&) = delete;
  InHand& operator=(const InHand&) = delete;
  ~InHand() { control.override_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  ExplicitControl& control;
  uint64_t bytes = 0;
  Pass pass;
};

Status check_startup_models(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == "*") {
      if (names.size() == 1) continue;
      return invalid_argument("Wildcard model name '*' must be the ONLY startup model if specified at all.");
    }
    if (Status status = check_load_name(name); !status.ok())
      return std::move(status).note("option 'load_model'");
  }
  return {};
}

Status ExplicitControl::check_server() const {
  if (catalog_->exiting()) return unavailable("Server exiting");
  if (!catalog_->live()) return unavailable("Server not ready");
  return {};
}

Status ExplicitControl::check_size(const ModelLoadRequest& request, InHand* in_hand) {
  if (!request.files.empty() && !allow_file_override_.load(std::memory_order_relaxed)) {
    return unimplemented("loading a model from files that come with the call is switched off on this server");
  }
  uint64_t bytes = request.config ? request.config->size() : 0;
  for (const RepositoryFile& file : request.files) bytes += file.path.size() + file.content.size();
  uint64_t before = override_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  in_hand->bytes = bytes;
  const uint64_t most = max_override_bytes_.load(std::memory_order_relaxed);
  if (before + bytes <= most) return {};
  return unavailable("the load of model '", request.model, "' brings ", bytes, " bytes while ", before,
                     " bytes of other loads are in hand, at most ", most, " in all are accepted");
}

void ExplicitControl::load(std::string model, std::vector<ModelControlParameter> parameters,
                           Done done) noexcept {
  auto in_hand = std::make_shared<InHand>(*this);
  if (!in_hand->pass) return done(unavailable("Server exiting"));
  if (Status status = check_server(); !status.ok()) return done(std::move(status));
  Result<ModelLoadRequest> request = read_load_request(std::move(model), std::move(parameters));
  if (!request.ok()) return done(std::move(request).status());
  if (Status status = check_size(*request, in_hand.get()); !status.ok()) return done(std::move(status));
  bool overridden = request->config || !request->files.empty();
  std::string name = request->model;
  catalog_->load_model(std::move(request).value(),
                       [this, in_hand, name, overridden, done = std::move(done)](ModelLoadOutcome outcome) {
                         done(load_answer(name, overridden, catalog_->exiting(), std::move(outcome)));
                       });
}

void ExplicitControl::unload(std::string model, std::vector<ModelControlParameter> parameters,
                             Done done) noexcept {
  auto in_hand = std::make_shared<InHand>(*this);
  if (!in_hand->pass) return done(unavailable("Server exiting"));
  if (Status status = check_server(); !status.ok()) return done(std::move(status));
  catalog_->unload_model(std::move(model), wants_dependents(parameters),
                         [in_hand, done = std::move(done)](Status status) { done(std::move(status)); });
}

}  // namespace atl::control
