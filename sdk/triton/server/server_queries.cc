#include "atoll/triton/server.h"
#include "atoll/triton/status.h"
#include "error.h"
#include "message.h"

using atl::Result;
using namespace atl::triton;

struct TRITONSERVER_Metrics {
  std::string text;
};

namespace {

/// A message of the text, which the caller owns, or the failure.
TRITONSERVER_Error* to_message(Result<std::string> json, TRITONSERVER_Message** message) {
  if (!json.ok()) return to_error(json.status());
  return TRITONSERVER_MessageNewFromSerializedJson(message, json->data(), json->size());
}

template <class Question>
TRITONSERVER_Error* answer(const char* function, TRITONSERVER_Server* server, TRITONSERVER_Message** message,
                           Question&& question) {
  if (message == nullptr) return null_argument(function);
  *message = nullptr;
  if (server == nullptr) return null_argument(function);
  return guarded([&] { return to_message(question(), message); });
}

/// What a model's configuration says, of the version that requests without one get.
template <class Use>
TRITONSERVER_Error* use_info(TRITONSERVER_Server* server, const char* model, int64_t version, Use&& use) {
  return guarded([&]() -> TRITONSERVER_Error* {
    auto found = server->acquire(model, version);
    if (!found.ok()) return to_error(found.status());
    use((*found)->info());
    return nullptr;
  });
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerIsLive(TRITONSERVER_Server* server, bool* live) {
  if (any_null(server, live)) return null_argument(__func__);
  *live = server->is_live();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerIsReady(TRITONSERVER_Server* server, bool* ready) {
  if (any_null(server, ready)) return null_argument(__func__);
  *ready = server->is_ready();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIsReady(TRITONSERVER_Server* server, const char* model_name,
                                                    const int64_t model_version, bool* ready) {
  if (any_null(server, model_name, ready)) return null_argument(__func__);
  *ready = false;
  return guarded([&]() -> TRITONSERVER_Error* {
    auto answer = server->is_model_ready(model_name, model_version);
    if (answer.ok()) *ready = *answer;
    // A model that nobody knows is not ready, and no mistake.
    return answer.status().code() == atl::Code::kNotFound ? nullptr : to_error(answer.status());
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelBatchProperties(TRITONSERVER_Server* server,
                                                            const char* model_name,
                                                            const int64_t model_version, uint32_t* flags,
                                                            void** voidp) {
  if (any_null(server, model_name, flags)) return null_argument(__func__);
  if (voidp != nullptr) *voidp = nullptr;
  return use_info(server, model_name, model_version, [&](const atl::ModelInfo& info) {
    *flags = info.max_batch_size > 0 ? TRITONSERVER_BATCH_FIRST_DIM : TRITONSERVER_BATCH_UNKNOWN;
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelTransactionProperties(TRITONSERVER_Server* server,
                                                                  const char* model_name,
                                                                  const int64_t model_version,
                                                                  uint32_t* txn_flags, void** voidp) {
  if (any_null(server, model_name, txn_flags)) return null_argument(__func__);
  if (voidp != nullptr) *voidp = nullptr;
  return use_info(server, model_name, model_version, [&](const atl::ModelInfo& info) {
    *txn_flags = info.decoupled ? TRITONSERVER_TXN_DECOUPLED : TRITONSERVER_TXN_ONE_TO_ONE;
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerMetadata(TRITONSERVER_Server* server,
                                                TRITONSERVER_Message** server_metadata) {
  return answer(__func__, server, server_metadata, [&] { return server->metadata(); });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelMetadata(TRITONSERVER_Server* server, const char* model_name,
                                                     const int64_t model_version,
                                                     TRITONSERVER_Message** model_metadata) {
  if (model_name == nullptr) return null_argument(__func__);
  return answer(__func__, server, model_metadata,
                [&] { return server->model_metadata(model_name, model_version); });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelStatistics(TRITONSERVER_Server* server, const char* model_name,
                                                       const int64_t model_version,
                                                       TRITONSERVER_Message** model_stats) {
  if (model_name == nullptr) return null_argument(__func__);
  return answer(__func__, server, model_stats, [&] { return server->statistics(model_name, model_version); });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelConfig(TRITONSERVER_Server* server, const char* model_name,
                                                   const int64_t model_version, const uint32_t config_version,
                                                   TRITONSERVER_Message** model_config) {
  if (model_name == nullptr) return null_argument(__func__);
  return answer(__func__, server, model_config, [&]() -> Result<std::string> {
    if (config_version == 1) return server->model_config(model_name, model_version);
    return atl::invalid_argument("model configuration version ", config_version,
                                 " not supported, supported versions are: 1");
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIndex(TRITONSERVER_Server* server, uint32_t flags,
                                                  TRITONSERVER_Message** model_index) {
  return answer(__func__, server, model_index, [&]() -> Result<std::string> {
    if ((flags & ~uint32_t{TRITONSERVER_INDEX_FLAG_READY}) != 0) {
      return atl::invalid_argument("index flags ", flags, " have bits that are unknown");
    }
    return server->index((flags & TRITONSERVER_INDEX_FLAG_READY) != 0);
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerMetrics(TRITONSERVER_Server* server, TRITONSERVER_Metrics** metrics) {
  if (metrics == nullptr) return null_argument(__func__);
  *metrics = nullptr;
  if (server == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    auto text = server->metrics();
    if (!text.ok()) return to_error(text.status());
    *metrics = new TRITONSERVER_Metrics{std::move(text).value()};
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricsDelete(TRITONSERVER_Metrics* metrics) {
  if (metrics == nullptr) return null_argument(__func__);
  delete metrics;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricsFormatted(TRITONSERVER_Metrics* metrics,
                                                  TRITONSERVER_MetricFormat format, const char** base,
                                                  size_t* byte_size) {
  if (any_null(metrics, base, byte_size)) return null_argument(__func__);
  *base = nullptr;
  *byte_size = 0;
  if (format != TRITONSERVER_METRIC_PROMETHEUS) {
    return invalid_argument("metric format ", static_cast<int>(format), " is unknown");
  }
  *base = metrics->text.c_str();
  *byte_size = metrics->text.size();
  return nullptr;
}
