/// The part of Triton's C API that speaks of requests and models, and the functions of a batching strategy.
/// The rules of tritonserver.h hold here as well.
#pragma once

#include "triton/core/tritonserver.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the server exports, and what a shared object for the server exports. The latter are visible even
/// where everything else is compiled with hidden visibility.
#define TRITONBACKEND_DECLSPEC __attribute__((visibility("default")))
#define TRITONBACKEND_ISPEC __attribute__((visibility("default")))

typedef struct TRITONBACKEND_Batcher TRITONBACKEND_Batcher;
typedef struct TRITONBACKEND_Input TRITONBACKEND_Input;
typedef struct TRITONBACKEND_Model TRITONBACKEND_Model;
typedef struct TRITONBACKEND_Request TRITONBACKEND_Request;

// --- version ---

#define TRITONBACKEND_API_VERSION_MAJOR 1
#define TRITONBACKEND_API_VERSION_MINOR 19

/// As TRITONSERVER_ApiVersion, for this part of the API.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor);

// --- inputs of a request; they live as long as it ---

/// Every out pointer may be null. The shape has the batch dimension, if the model batches. byte_size is what
/// is there, in buffer_count buffers. Name and shape are borrowed.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InputProperties(
    TRITONBACKEND_Input* input, const char** name, TRITONSERVER_DataType* datatype, const int64_t** shape,
    uint32_t* dims_count, uint64_t* byte_size, uint32_t* buffer_count);
/// The same: no input has buffers of its own for a host policy.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InputPropertiesForHostPolicy(
    TRITONBACKEND_Input* input, const char* host_policy_name, const char** name,
    TRITONSERVER_DataType* datatype, const int64_t** shape, uint32_t* dims_count, uint64_t* byte_size,
    uint32_t* buffer_count);
/// Buffer `index` of buffer_count, to be read only. On error buffer is null and its size 0.
/// \param memory_type, memory_type_id  where it is; what they hold before the call is not looked at.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InputBuffer(
    TRITONBACKEND_Input* input, const uint32_t index, const void** buffer, uint64_t* buffer_byte_size,
    TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InputBufferForHostPolicy(
    TRITONBACKEND_Input* input, const char* host_policy_name, const uint32_t index, const void** buffer,
    uint64_t* buffer_byte_size, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id);
/// Attributes are borrowed. On error both are null.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InputBufferAttributes(
    TRITONBACKEND_Input* input, const uint32_t index, const void** buffer,
    TRITONSERVER_BufferAttributes** buffer_attributes);

// --- requests. What is got is borrowed. An index that is out of range is INVALID_ARG. ---

/// Empty if the client gave none.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestId(TRITONBACKEND_Request* request,
                                                                   const char** id);
/// 0: none. INVALID_ARG if it is a text.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationId(TRITONBACKEND_Request* request,
                                                                              uint64_t* id);
/// Empty: none. INVALID_ARG if it is a number.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationIdString(
    TRITONBACKEND_Request* request, const char** id);
/// Bits of TRITONSERVER_RequestFlag.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestFlags(TRITONBACKEND_Request* request,
                                                                      uint32_t* flags);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                                            bool* is_cancelled);
/// Microseconds; 0: none.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InferenceRequestTimeoutMicroseconds(
    TRITONBACKEND_Request* request, uint64_t* timeout);

TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request* request,
                                                                               uint32_t* count);
/// \param vvalue  points to text ending in NUL, int64_t, bool, double or bytes, by type.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestParameter(TRITONBACKEND_Request* request,
                                                                          const uint32_t index,
                                                                          const char** key,
                                                                          TRITONSERVER_ParameterType* type,
                                                                          const void** vvalue);

/// With those that a scheduler added. Their order may differ from request to request.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request* request,
                                                                           uint32_t* count);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestInputName(TRITONBACKEND_Request* request,
                                                                          const uint32_t index,
                                                                          const char** input_name);
/// INVALID_ARG, and input is null, if it has none of that name.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request,
                                                                      const char* name,
                                                                      TRITONBACKEND_Input** input);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request,
                                                                             const uint32_t index,
                                                                             TRITONBACKEND_Input** input);
/// The outputs that the client wants: all of the model's if it named none.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                                            uint32_t* count);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request,
                                                                           const uint32_t index,
                                                                           const char** output_name);

// --- models ---

typedef enum ATOLL_ENUM_BASE { TRITONBACKEND_ARTIFACT_FILESYSTEM = 0 } TRITONBACKEND_ArtifactType;

TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model* model,
                                                                   const char** name);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model* model,
                                                                      uint64_t* version);
/// The folder that holds config.pbtxt.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ModelRepository(
    TRITONBACKEND_Model* model, TRITONBACKEND_ArtifactType* artifact_type, const char** location);
/// The configuration with all that the server filled in, as a message that the caller deletes.
/// \param config_version  1.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model,
                                                                     const uint32_t config_version,
                                                                     TRITONSERVER_Message** model_config);
/// A pointer of the caller's own, null at first. Not synchronised.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model,
                                                                       void* state);

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
