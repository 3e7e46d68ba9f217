#include "backends/repeat/repeat_instance.h"

#include <utility>

#include "backends/repeat/repeat_call.h"

namespace atl::repeat {

Status RepeatInstance::execute(const Batch& batch) noexcept {
  for (Request* request : batch.requests) begin(*request);
  return {};
}

void RepeatInstance::begin(Request& request) noexcept {
  auto call = RepeatCall::create({config_, clock_, reporter_, *executor_}, request);
  if (call.ok()) return RepeatCall::start(std::move(call).value());
  if (reporter_ != nullptr) reporter_->report_request(request, false, {});
  fail_request(request, std::move(call).status());
}

}  // namespace atl::repeat
