/// The part of Triton's C API that backends and batching strategies use, and what they export. The rules of
/// tritonserver.h hold here as well; and a handle that was given away, deleted or released gives INVALID_ARG, as long as
/// it is found out, which it is for a thousand that come after it.
#pragma once

#include "triton/core/tritonbackend_model.h"
#include "triton/core/tritonbackend_request.h"
#include "triton/core/tritonbackend_response.h"
#include "triton/core/tritonbackend_types.h"
#include "triton/core/tritonserver.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- version ---

#define TRITONBACKEND_API_VERSION_MAJOR 1
#define TRITONBACKEND_API_VERSION_MINOR 19

/// As TRITONSERVER_ApiVersion, for this part of the API.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor);

// --- what a backend exports: ModelInstanceExecute, and of the others what it needs ---

/// When the backend is loaded, before anything else. An error fails the load.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend);
/// When nothing of it is used any more. An error is logged, as of the other Finalize functions.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend);
/// After Initialize: how the backend would have its models' instances.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(
    TRITONBACKEND_Backend* backend, TRITONBACKEND_BackendAttribute* backend_attributes);
/// When a model version is loaded; several at a time. An error fails the load.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model);
/// When all of its instances are finalized.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model);
/// For each instance of a model, one after the other unless the backend has said otherwise. An error fails the load.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(
    TRITONBACKEND_ModelInstance* instance);
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(
    TRITONBACKEND_ModelInstance* instance);
/// Executes a batch; one at a time for an instance. After success every request is the backend's, which answers and
/// releases each, then or later, also if it fails. After an error they are the server's, which answers all with it.
/// \param requests  to be copied if it is needed after the call
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const uint32_t request_count);
/// Any thread, also during an execution. An error: the instance cannot execute, and its model is not ready.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(
    TRITONBACKEND_ModelInstance* instance);

// --- what a batching strategy exports: all five. Errors of the last three are logged. ---

/// Once for a model version, when it is loaded. An error fails the load.
/// \param batcher  gets what the strategy keeps for the model: read only from then on, because batches may be
///                 formed by several threads.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatcherInitialize(TRITONBACKEND_Batcher** batcher,
                                                                             TRITONBACKEND_Model* model);
/// When the model version is unloaded.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatcherFinalize(TRITONBACKEND_Batcher* batcher);
/// A batch begins. \param userp  gets the strategy's record of it, used by one thread at a time.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatchInitialize(
    const TRITONBACKEND_Batcher* batcher, void** userp);
/// May the request join the batch? If not, or on an error, the batch is closed without it. The first request
/// of a batch is always in it, whatever is answered. The request is only to be read, and only during the
/// call.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatchIncludeRequest(TRITONBACKEND_Request* request,
                                                                               void* userp,
                                                                               bool* should_include);
/// The batch is complete; frees the record.
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatchFinalize(void* userp);

#ifdef __cplusplus
}
#endif
