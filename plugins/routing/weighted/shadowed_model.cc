#include "routing/weighted/shadowed_model.h"

#include <utility>

namespace atl::routing {
namespace {

/// On its way through the lane.
struct Queued {
  std::unique_ptr<ShadowRequest> shadow;
  ModelCatalog& catalog;
};

void post(std::unique_ptr<ShadowRequest> shadow, const ShadowContext& context) noexcept {
  auto* queued = new Queued{std::move(shadow), context.catalog};
  context.lane.post(Task{[](void* argument) {
                           std::unique_ptr<Queued> owned(static_cast<Queued*>(argument));
                           ShadowRequest::run(std::move(owned->shadow), owned->catalog);
                         },
                         queued,
                         [](void* argument) {
                           std::unique_ptr<Queued> owned(static_cast<Queued*>(argument));
                           owned->shadow->count_dropped();
                         }});
}

}  // namespace

ModelRef ShadowedModel::wrap(ModelRef served, ShadowTarget& target, const ShadowContext& context) noexcept {
  Pass pass(context.gate);
  if (!pass) return served;
  return ModelRef(new ShadowedModel(std::move(served), target, context, std::move(pass)));
}

Status ShadowedModel::infer(Request& request) noexcept {
  // The client's request is not ours to read any more once it is accepted.
  std::unique_ptr<ShadowRequest> shadow;
  Pass pass(context_.gate);
  if (pass && request.sequence.empty()) {
    shadow = ShadowRequest::copy_of(request, target_, context_.max_in_flight, context_.budget,
                                    context_.devices, std::move(pass));
  }
  request.model = served_.get();
  ATOLL_RETURN_IF_ERROR(served_->infer(request));
  // Still here: the caller holds its reference until this call has returned.
  if (shadow != nullptr) post(std::move(shadow), context_);
  return {};
}

void ShadowedModel::drop_reference() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The pass goes last: with it the plugin may be stopped and unmapped.
  Pass pass = std::move(pass_);
  delete this;
}

}  // namespace atl::routing
