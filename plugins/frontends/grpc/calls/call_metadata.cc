#include "frontends/grpc/calls/call_metadata.h"

#include <grpc/support/time.h>

#include <limits>
#include <string>

#include "frontends/common/grpc/status_text.h"

namespace atl::frontends::grpc_frontend {
namespace {

std::string_view view(grpc::string_ref text) noexcept { return {text.data(), text.size()}; }

}  // namespace

int64_t deadline_ns(const grpc::ServerContext& context, const Clock& clock) noexcept {
  gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return 0;
  gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (left.tv_sec > std::numeric_limits<int32_t>::max()) return 0;
  return clock.now_ns() + left.tv_sec * kNsPerSecond + left.tv_nsec;
}

std::string_view metadata_value(const grpc::ServerContext& context, std::string_view name) noexcept {
  const auto& metadata = context.client_metadata();
  auto found = metadata.find(grpc::string_ref(name.data(), name.size()));
  return found == metadata.end() ? std::string_view() : view(found->second);
}

void add_retry_after(grpc::ServerContext& context, uint32_t retry_after_ms) {
  if (retry_after_ms == 0) return;
  for (const auto& [name, value] : retry_metadata(retry_after_ms)) {
    context.AddTrailingMetadata(std::string(name), value);
  }
}

void set_compression(const GrpcSettings& settings, grpc::ServerContext* context) {
  constexpr grpc_compression_level kLevels[] = {GRPC_COMPRESS_LEVEL_NONE, GRPC_COMPRESS_LEVEL_LOW,
                                                GRPC_COMPRESS_LEVEL_MED, GRPC_COMPRESS_LEVEL_HIGH};
  if (settings.response_compression == CompressionLevel::kNone) return;
  context->set_compression_level(kLevels[static_cast<size_t>(settings.response_compression)]);
}

}  // namespace atl::frontends::grpc_frontend
