/// The server and its models. Part of tritonserver.h, whose rules hold. Messages are the caller's, who deletes them.
#pragma once

#include "triton/core/tritonserver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- start and end ---

/// A server of the options, which are not needed afterwards; the caller deletes it. Returns when the models of the start are
/// loaded, or have failed. Any number of servers at a time. \param server  gets null when it fails
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerNew(TRITONSERVER_Server** server,
                                                                 TRITONSERVER_ServerOptions* options);
/// Stops it first. Null is allowed. Later calls with the server fail: UNAVAILABLE.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerDelete(TRITONSERVER_Server* server);
/// Accepts nothing more and waits for what was accepted, as long as the exit timeout. Not from within a callback of the
/// server. UNAVAILABLE if that does not end in time.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerStop(TRITONSERVER_Server* server);
/// Seconds, of the stop that is to come.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerSetExitTimeout(TRITONSERVER_Server* server,
                                                                            unsigned int timeout);

// --- questions. model_version -1: the version policy's choice ---

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerIsLive(TRITONSERVER_Server* server, bool* live);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerIsReady(TRITONSERVER_Server* server,
                                                                     bool* ready);
/// False for a model that is unknown.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelIsReady(TRITONSERVER_Server* server,
                                                                          const char* model_name,
                                                                          const int64_t model_version,
                                                                          bool* ready);
/// \param flags  get bits of TRITONSERVER_ModelBatchFlag \param voidp  may be null; gets null
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelBatchProperties(TRITONSERVER_Server* server,
                                                                                  const char* model_name,
                                                                                  const int64_t model_version,
                                                                                  uint32_t* flags,
                                                                                  void** voidp);
/// \param txn_flags  get one bit of TRITONSERVER_ModelTxnPropertyFlag \param voidp  may be null; gets null
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelTransactionProperties(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, uint32_t* txn_flags,
    void** voidp);
/// {"name", "version", "extensions"}
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerMetadata(TRITONSERVER_Server* server,
                                                                      TRITONSERVER_Message** server_metadata);
/// {"name", "versions", "platform", "inputs", "outputs"}
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelMetadata(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version,
    TRITONSERVER_Message** model_metadata);
/// \param model_name  empty: of all models
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelStatistics(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version,
    TRITONSERVER_Message** model_stats);
/// \param config_version  1
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelConfig(TRITONSERVER_Server* server,
                                                                         const char* model_name,
                                                                         const int64_t model_version,
                                                                         const uint32_t config_version,
                                                                         TRITONSERVER_Message** model_config);
/// A list of {"name", "version", "state", "reason"}. \param flags  bits of TRITONSERVER_ModelIndexFlag
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerModelIndex(TRITONSERVER_Server* server,
                                                                        uint32_t flags,
                                                                        TRITONSERVER_Message** model_index);

// --- models and repositories ---

/// Returns when the model is loaded, or has failed. In the control mode EXPLICIT.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerLoadModel(TRITONSERVER_Server* server,
                                                                       const char* model_name);
/// \param parameters  "config", a STRING: the configuration as JSON, in the place of the directory's; "file:<path>",
///                    BYTES: the model consists of such files
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerLoadModelWithParameters(
    TRITONSERVER_Server* server, const char* model_name, const TRITONSERVER_Parameter** parameters,
    const uint64_t parameter_count);
/// Does not wait for the end of the model's requests.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerUnloadModel(TRITONSERVER_Server* server,
                                                                         const char* model_name);
/// With the members of an ensemble.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerUnloadModelAndDependents(
    TRITONSERVER_Server* server, const char* model_name);
/// Not in the control mode POLL. \param name_mapping  STRINGs: the name is a directory of the repository, the value the
///                                                    name of the model that it holds
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerRegisterModelRepository(
    TRITONSERVER_Server* server, const char* repository_path, const TRITONSERVER_Parameter** name_mapping,
    const uint32_t mapping_count);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerUnregisterModelRepository(
    TRITONSERVER_Server* server, const char* repository_path);
/// In the control mode POLL only.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerPollModelRepository(TRITONSERVER_Server* server);

// --- metrics, as they are at the moment ---

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerMetrics(TRITONSERVER_Server* server,
                                                                     TRITONSERVER_Metrics** metrics);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricsDelete(TRITONSERVER_Metrics* metrics);
/// Borrowed. INVALID_ARG for an unknown format.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricsFormatted(TRITONSERVER_Metrics* metrics,
                                                                        TRITONSERVER_MetricFormat format,
                                                                        const char** base, size_t* byte_size);

#ifdef __cplusplus
}
#endif
