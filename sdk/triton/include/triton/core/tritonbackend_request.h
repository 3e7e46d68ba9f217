/// The part of tritonbackend.h that speaks of requests: what a batching strategy and a backend read of them, and their
/// end.
#pragma once

#include "triton/core/tritonbackend_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
/// Where the client wants the bytes of an output, for a backend that can choose where it computes them. UNAVAILABLE:
/// nothing is known of it, and the backend does as it likes.
/// \param name         null: the first output
/// \param byte_size    left as it is; may be null
/// \param memory_type, memory_type_id  in: where the backend would have it; out: where it will be
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestOutputBufferProperties(
    TRITONBACKEND_Request* request, const char* name, size_t* byte_size, TRITONSERVER_MemoryType* memory_type,
    int64_t* memory_type_id);
/// Null: it is not traced. Borrowed.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestTrace(TRITONBACKEND_Request* request,
                                                                      TRITONSERVER_InferenceTrace** trace);

/// Ends the caller's use of the request and of what it got from it: inputs and states. On failure it is still the
/// caller's. Responses that were not sent and factories stay; once there are none, a request that has no final
/// response is answered with an error.
/// \param release_flags  REQUEST_RELEASE_ALL; or REQUEST_RELEASE_RESCHEDULE, for iterative sequences only: the
///        request is to be executed again, which it is when the responses that were made were sent or deleted; factories
///        of this execution can send nothing any more from then on. Statistics may still be reported. INVALID_ARG for another model, and after the final response.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request,
                                                                        uint32_t release_flags);

#ifdef __cplusplus
}
#endif
