/// The way of a call from the name of its model to the model: every call of every frontend goes it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "atoll/core/registry.h"
#include "atoll/models/model.h"
#include "atoll/models/model_demand.h"
#include "frontends/common/call/infer_context.h"
#include "frontends/common/call/large_work.h"
#include "frontends/common/call/router_slot.h"

namespace atl::frontends {

/// Where calls find their models.
struct ModelLookup {
  const RouterSlot& router;
  ModelCatalog& catalog;
  Registry& registry;
};

/// What a transport does on the way, in this order, on the thread that the call belongs to but for read_large().
///
/// A step returns false when the call waits for something: to_own_thread() is called at its end, perhaps before
/// the step has returned. True: the request was handed over or refused; unless a part of the transport's is open,
/// the call may be in its next use.
class CallSteps {
 public:
  /// Names the model: calls CallPath::find(), or refuse(). \param read  how read_large() ended, if the message
  /// had to be read before the model's name was known
  virtual bool find_model(Status read) noexcept = 0;
  /// The model is there: fills the request from the body. \returns false: that is done by read_large()
  virtual Result<bool> parse_request() noexcept = 0;
  /// [large work] After CallPath::read_elsewhere() or reading().
  virtual Status read_large() noexcept { return {}; }
  /// What the request has from beside its body: parameters, tenant, trace.
  virtual Status read_head() noexcept = 0;
  /// Answers a call that did not get to its model. The request is ended.
  virtual void refuse(const Status& status) noexcept = 0;

  /// Right before a wait, which may still be refused.
  virtual void about_to_wait() noexcept {}
  /// The end of a wait: has resume() called on the call's own thread. Must be short. [any]
  virtual void to_own_thread() noexcept = 0;

 protected:
  ~CallSteps() = default;
};

/// Finds the model, waits for it, has the request read, finds its sequence, and hands it over; in between the
/// call's own steps. Belongs to the call, as the context does. [the call's own thread]
class CallPath final : private ModelWaiter {
 public:
  CallPath(InferContext& context, CallSteps& steps) noexcept : context_(context), steps_(steps) {}
  CallPath(const CallPath&) = delete;
  CallPath& operator=(const CallPath&) = delete;
  virtual ~CallPath() = default;

  /// Finds the model, and goes on. The request's deadline is set. A model that is not there is waited for if
  /// it is loaded because requests ask for it. \param name  valid until then
  /// \param version  or why the call cannot go on
  bool find(const ModelLookup& models, std::string_view name, Result<int64_t> version) noexcept;
  /// Ends a call whose caller may not see the model, as if there were none of this name. \param version  as of find()
  bool refuse_hidden(std::string_view name, Result<int64_t> version) noexcept;
  /// Goes on when the wait has ended.
  bool resume() noexcept;
  bool is_waiting() const noexcept { return waits_for_ != Wait::kNothing; }
  /// Ends a call that did not get to its model.
  bool refuse(const Status& status) noexcept;
  /// Has read_large() run elsewhere: the message while there is no model, else the body.
  /// \returns false, for a step to return
  /// Errors: UNAVAILABLE too much waits there; when to try again is said.
  Result<bool> read_elsewhere(LargeWork& work) noexcept;
  /// The same for what is not to be refused: to be posted.
  Task reading() noexcept;

 private:
  enum class Wait : uint8_t { kNothing, kMessage, kModel, kBody };

  /// Sets the context's model. \returns false: it is waited for
  Result<bool> look_up(const ModelLookup& models, std::string_view name, int64_t version) noexcept;
  /// The same of a version that only finishes sequences. \param absence  why there is no other one
  Result<bool> find_finishing(Status absence) noexcept;
  bool on_found(Status status) noexcept;
  bool hand_over(Status read) noexcept;
  /// Of a request that is read: whether the model has its sequence, or now is one that has it.
  Status find_sequence() noexcept;
  void wait(Wait what) noexcept;
  /// [any] What was waited for is there, or will not be.
  void end_wait(Status status) noexcept;
  void on_model(Result<ModelRef> found) noexcept override;

  InferContext& context_;
  CallSteps& steps_;
  ModelCatalog* catalog_ = nullptr;  ///< where the model was looked for, and as what
  std::string_view wanted_name_;
  int64_t wanted_version_ = 0;
  Status absence_;  ///< not OK: the model takes nothing but what goes on with its sequences
  Wait waits_for_ = Wait::kNothing;
  Status ended_;  ///< how that did
};

}  // namespace atl::frontends
