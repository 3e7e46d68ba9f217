#include "frontends/common/json/statistics_json.h"

#include <map>

#include "frontends/common/json/json_text.h"

namespace atl::frontends {
namespace {

void write_duration(JsonWriter& writer, std::string_view name, const inference::StatisticDuration& duration) {
  write_key(writer, name);
  writer.StartObject();
  write_member(writer, "count", duration.count());
  write_member(writer, "ns", duration.ns());
  writer.EndObject();
}

void write_inference_stats(JsonWriter& writer, const inference::InferStatistics& stats) {
  write_key(writer, "inference_stats");
  writer.StartObject();
  write_duration(writer, "success", stats.success());
  write_duration(writer, "fail", stats.fail());
  write_duration(writer, "queue", stats.queue());
  write_duration(writer, "compute_input", stats.compute_input());
  write_duration(writer, "compute_infer", stats.compute_infer());
  write_duration(writer, "compute_output", stats.compute_output());
  write_duration(writer, "cache_hit", stats.cache_hit());
  write_duration(writer, "cache_miss", stats.cache_miss());
  writer.EndObject();
}

void write_response_stats(JsonWriter& writer, const inference::ModelStatistics& model) {
  std::map<std::string_view, const inference::InferResponseStatistics*> ordered;
  for (const auto& [key, stats] : model.response_stats()) ordered.emplace(key, &stats);
  write_key(writer, "response_stats");
  writer.StartObject();
  for (const auto& [key, stats] : ordered) {
    write_key(writer, key);
    writer.StartObject();
    write_duration(writer, "compute_infer", stats->compute_infer());
    write_duration(writer, "compute_output", stats->compute_output());
    write_duration(writer, "success", stats->success());
    write_duration(writer, "fail", stats->fail());
    write_duration(writer, "empty_response", stats->empty_response());
    write_duration(writer, "cancel", stats->cancel());
    writer.EndObject();
  }
  writer.EndObject();
}

void write_batch(JsonWriter& writer, const inference::InferBatchStatistics& batch) {
  writer.StartObject();
  write_member(writer, "batch_size", batch.batch_size());
  write_duration(writer, "compute_input", batch.compute_input());
  write_duration(writer, "compute_infer", batch.compute_infer());
  write_duration(writer, "compute_output", batch.compute_output());
  writer.EndObject();
}

void write_memory(JsonWriter& writer, const inference::MemoryUsage& usage) {
  writer.StartObject();
  write_member(writer, "type", usage.type());
  write_key(writer, "id");
  writer.Int64(usage.id());
  write_member(writer, "byte_size", usage.byte_size());
  writer.EndObject();
}

void write_model(JsonWriter& writer, const inference::ModelStatistics& model) {
  writer.StartObject();
  write_member(writer, "name", model.name());
  write_member(writer, "version", model.version());
  write_member(writer, "last_inference", model.last_inference());
  write_member(writer, "inference_count", model.inference_count());
  write_member(writer, "execution_count", model.execution_count());
  write_inference_stats(writer, model.inference_stats());
  write_response_stats(writer, model);
  write_key(writer, "batch_stats");
  write_array(writer, model.batch_stats(), [&](const auto& batch) { write_batch(writer, batch); });
  write_key(writer, "memory_usage");
  write_array(writer, model.memory_usage(), [&](const auto& usage) { write_memory(writer, usage); });
  writer.EndObject();
}

}  // namespace

std::string statistics_json(const inference::ModelStatisticsResponse& statistics) {
  return json_text([&](JsonWriter& writer) {
    writer.StartObject();
    write_key(writer, "model_stats");
    write_array(writer, statistics.model_stats(), [&](const auto& model) { write_model(writer, model); });
    writer.EndObject();
  });
}

}  // namespace atl::frontends
