/// The part of tritonbackend.h by which a backend answers: responses and their outputs, factories, implicit state.
///
/// A request is answered by any number of responses, exactly one of which, or a factory's flags, is the final one
/// (RESPONSE_COMPLETE_FINAL). What was not sent by then is dropped; its handle, and any attempt to send another one,
/// is INVALID_ARG. Responses of one request may be made and sent by different threads; one response is used by one
/// thread at a time.
#pragma once

#include "triton/core/tritonbackend_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- responses ---

/// A response, which ResponseSend or ResponseDelete takes.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                                                     TRITONBACKEND_Request* request);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseNewFromFactory(
    TRITONBACKEND_Response** response, TRITONBACKEND_ResponseFactory* factory);
/// Of one that was not sent.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response* response);

/// Parameters that go with the response. Name and value are copied.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseSetStringParameter(
    TRITONBACKEND_Response* response, const char* name, const char* value);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseSetIntParameter(
    TRITONBACKEND_Response* response, const char* name, const int64_t value);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseSetBoolParameter(
    TRITONBACKEND_Response* response, const char* name, const bool value);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseSetDoubleParameter(
    TRITONBACKEND_Response* response, const char* name, const double value);

/// Adds an output of the model's, once each; in any order. Name and shape are copied. Its memory is asked for later,
/// by OutputBuffer; without it is an output of 0 bytes.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(
    TRITONBACKEND_Response* response, TRITONBACKEND_Output** output, const char* name,
    const TRITONSERVER_DataType datatype, const int64_t* shape, const uint32_t dims_count);
/// Takes the response, also if it fails.
/// \param send_flags  RESPONSE_COMPLETE_FINAL or 0
/// \param error       null; or why the request failed, which is the answer instead of outputs. It stays the caller's.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response,
                                                                      const uint32_t send_flags,
                                                                      TRITONSERVER_Error* error);

/// An output of a response that is not sent yet. Borrowed. INVALID_ARG: there is none.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutput(
    TRITONBACKEND_Response* response, const uint32_t index, const char** name,
    TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutputByName(
    TRITONBACKEND_Response* response, const char* name, TRITONSERVER_DataType* datatype,
    const int64_t** shape, uint64_t* dim_count);

// --- outputs; they live as long as their response ---

/// Memory for the output, of the response's. Once: then ALREADY_EXISTS. On error the buffer is null.
/// \param memory_type, memory_type_id  in: where it would be used best; out: where it is, which may be elsewhere
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output,
                                                                      void** buffer,
                                                                      const uint64_t buffer_byte_size,
                                                                      TRITONSERVER_MemoryType* memory_type,
                                                                      int64_t* memory_type_id);
/// Of the memory that OutputBuffer gave; before it, INVALID_ARG. Borrowed.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_OutputBufferAttributes(
    TRITONBACKEND_Output* output, TRITONSERVER_BufferAttributes** buffer_attributes);

// --- factories: they may outlive the request, and send as long as there was no final response ---

TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryNew(
    TRITONBACKEND_ResponseFactory** factory, TRITONBACKEND_Request* request);
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryDelete(
    TRITONBACKEND_ResponseFactory* factory);
/// Sends flags without a response. \param send_flags  RESPONSE_COMPLETE_FINAL; 0 sends nothing
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseFactorySendFlags(
    TRITONBACKEND_ResponseFactory* factory, const uint32_t send_flags);
/// Whether the request is cancelled; after its final response, whether it was then.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryIsCancelled(
    TRITONBACKEND_ResponseFactory* factory, bool* is_cancelled);

// --- implicit state of a sequence; it lives as long as the request ---

/// The next value of a state of the model's, for the sequence's next request. INVALID_ARG: the request has no implicit
/// state, or the configuration no state of that name. A type or shape that it does not have is found by StateBuffer.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_StateNew(
    TRITONBACKEND_State** state, TRITONBACKEND_Request* request, const char* name,
    const TRITONSERVER_DataType datatype, const int64_t* shape, const uint32_t dims_count);
/// Memory for the value. Asked again, the same if size and place are. On error the buffer is null.
/// \param memory_type, memory_type_id  as for OutputBuffer
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_StateBuffer(TRITONBACKEND_State* state,
                                                                     void** buffer,
                                                                     const uint64_t buffer_byte_size,
                                                                     TRITONSERVER_MemoryType* memory_type,
                                                                     int64_t* memory_type_id);
/// Of the memory that StateBuffer gave; before it, INVALID_ARG. Borrowed.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_StateBufferAttributes(
    TRITONBACKEND_State* state, TRITONSERVER_BufferAttributes** buffer_attributes);
/// The value is complete; its memory is no longer to be touched. Once. INVALID_ARG before StateBuffer.
TRITONBACKEND_DECLSPEC TRITONSERVER_Error* TRITONBACKEND_StateUpdate(TRITONBACKEND_State* state);

#ifdef __cplusplus
}
#endif
