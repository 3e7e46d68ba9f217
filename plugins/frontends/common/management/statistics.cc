// ModelStatistics.
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "atoll/models/model_identifier.h"
#include "frontends/common/access/hidden_model.h"
#include "frontends/common/call/model_version.h"
#include "frontends/common/management/management.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

void copy(const StatisticDuration& from, inference::StatisticDuration* to) {
  to->set_count(from.count);
  to->set_ns(from.ns);
}

const char* memory_kind_name(MemoryKind kind) {
  if (kind == MemoryKind::kGpu) return "GPU";
  return kind == MemoryKind::kCpuPinned ? "CPU_PINNED" : "CPU";
}

void copy(const ModelStatistics& from, inference::ModelStatistics* to) {
  to->set_name(from.name);
  to->set_version(std::to_string(from.version));
  to->set_last_inference(from.last_inference_ms);
  to->set_inference_count(from.inference_count);
  to->set_execution_count(from.execution_count);
  inference::InferStatistics* totals = to->mutable_inference_stats();
  copy(from.success, totals->mutable_success());
  copy(from.fail, totals->mutable_fail());
  copy(from.queue, totals->mutable_queue());
  copy(from.compute_input, totals->mutable_compute_input());
  copy(from.compute_infer, totals->mutable_compute_infer());
  copy(from.compute_output, totals->mutable_compute_output());
  copy(from.cache_hit, totals->mutable_cache_hit());
  copy(from.cache_miss, totals->mutable_cache_miss());
  for (const BatchStatistics& batch : from.batches) {
    inference::InferBatchStatistics* added = to->add_batch_stats();
    added->set_batch_size(batch.batch_size);
    copy(batch.compute_input, added->mutable_compute_input());
    copy(batch.compute_infer, added->mutable_compute_infer());
    copy(batch.compute_output, added->mutable_compute_output());
  }
  for (size_t i = 0; i < from.responses.size(); ++i) {
    const ResponseStatistics& responses = from.responses[i];
    const std::string place = std::to_string(i);
    inference::InferResponseStatistics& added = (*to->mutable_response_stats())[place];
    copy(responses.compute_infer, added.mutable_compute_infer());
    copy(responses.compute_output, added.mutable_compute_output());
    copy(responses.success, added.mutable_success());
    copy(responses.fail, added.mutable_fail());
    copy(responses.empty, added.mutable_empty_response());
    copy(responses.cancelled, added.mutable_cancel());
  }
  for (const MemoryUsage& usage : from.memory) {
    inference::MemoryUsage* added = to->add_memory_usage();
    added->set_type(memory_kind_name(usage.kind));
    added->set_id(usage.device_id);
    added->set_byte_size(usage.size_bytes);
  }
}

}  // namespace

Status model_statistics(ServerAccess& server, const Identity* caller,
                        const inference::ModelStatisticsRequest& request,
                        inference::ModelStatisticsResponse* response) noexcept {
  constexpr ApiCategory kCategory = ApiCategory::kStatistics;
  if (!request.name().empty() && !may_use(caller, kCategory, request.name())) {
    Result<int64_t> number = parse_model_version(request.version());
    return number.ok() ? model_without_statistics(request.name()) : std::move(number).status();
  }
  Result<int64_t> version = server.router->version_of(request.name(), request.version());
  if (!version.ok()) return std::move(version).status();
  Result<std::vector<ModelStatistics>> all = server.catalog->statistics(request.name(), version.value());
  if (!all.ok()) return std::move(all).status();
  // Of one name alone the identifier says nothing.
  std::map<std::string_view, std::set<std::string_view>> identifiers;
  for (const ModelStatistics& one : all.value()) identifiers[model_name_of(one.name)].insert(one.name);
  for (const ModelStatistics& one : all.value()) {
    if (!may_use(caller, kCategory, one.name)) continue;
    inference::ModelStatistics* added = response->add_model_stats();
    copy(one, added);
    const std::string_view name = model_name_of(one.name);
    if (identifiers[name].size() == 1) added->set_name(std::string(name));
  }
  return {};
}

}  // namespace atl::frontends
