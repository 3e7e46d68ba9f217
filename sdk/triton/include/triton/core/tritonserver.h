/// The part of Triton's C API that speaks of the server: errors, messages, log, data types, buffers. The same
/// names, numbers, parameters and calling convention, so that a shared object made for Triton runs unchanged;
/// declared here is what Atoll's libtritonserver.so serves.
///
/// Rules for all functions. Any thread. A TRITONSERVER_Error* that is returned is null for success; else the
/// caller owns it and deletes it. Texts end in NUL and are UTF-8. What is lent ("borrowed") lives as long as
/// the object it was got from. A null argument where a pointer is needed gives INVALID_ARG. Nothing is
/// thrown.
#pragma once

#include "triton/core/tritonserver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- version ---

#define TRITONSERVER_API_VERSION_MAJOR 1
#define TRITONSERVER_API_VERSION_MINOR 34

/// The version of this part of the API that the server has: compatible if the major number is the one
/// compiled against and the minor number not lower.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ApiVersion(uint32_t* major, uint32_t* minor);

// --- data types ---

/// "FP32"; "<invalid>" for TYPE_INVALID and unknown numbers. Never freed.
TRITONSERVER_DECLSPEC const char* TRITONSERVER_DataTypeString(TRITONSERVER_DataType datatype);
/// TYPE_INVALID for a text that names no type, and for null.
TRITONSERVER_DECLSPEC TRITONSERVER_DataType TRITONSERVER_StringToDataType(const char* dtype);
/// Bytes that an element takes; 0 for BYTES, whose elements vary, and for TYPE_INVALID.
TRITONSERVER_DECLSPEC uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType datatype);

// --- names of numbers: "<invalid>" for one that has none; never freed ---

/// "CPU_PINNED"
TRITONSERVER_DECLSPEC const char* TRITONSERVER_MemoryTypeString(TRITONSERVER_MemoryType memtype);
/// "STRING"
TRITONSERVER_DECLSPEC const char* TRITONSERVER_ParameterTypeString(TRITONSERVER_ParameterType paramtype);
/// "GPU"
TRITONSERVER_DECLSPEC const char* TRITONSERVER_InstanceGroupKindString(TRITONSERVER_InstanceGroupKind kind);

// --- parameters: named values ---

/// A parameter that the caller owns; name and value are copied. Null, not an error, for an unknown type and for
/// BYTES. \param value  points to text, int64_t, bool or double, by type
TRITONSERVER_DECLSPEC TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name,
                                                                        const TRITONSERVER_ParameterType type,
                                                                        const void* value);
/// The same, of bytes, which are not copied: they have to outlive it.
TRITONSERVER_DECLSPEC TRITONSERVER_Parameter* TRITONSERVER_ParameterBytesNew(const char* name,
                                                                             const void* byte_ptr,
                                                                             const uint64_t size);
/// Null is allowed.
TRITONSERVER_DECLSPEC void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter);

// --- errors ---

/// A new error, which the caller owns. The text is copied; null is an empty one. Never null.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code,
                                                                const char* msg);
/// Null is allowed.
TRITONSERVER_DECLSPEC void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error);
/// ERROR_UNKNOWN for null.
TRITONSERVER_DECLSPEC TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error);
/// "Invalid argument"; "<invalid code>" for a number without a name. Never freed.
TRITONSERVER_DECLSPEC const char* TRITONSERVER_ErrorCodeString(TRITONSERVER_Error* error);
/// Borrowed; empty for null.
TRITONSERVER_DECLSPEC const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error);

// --- messages: JSON texts ---

/// A message the caller owns. The bytes are copied as they are; nobody checks that they are JSON.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(
    TRITONSERVER_Message** message, const char* base, size_t byte_size);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message);
/// The text, borrowed; it need not end in NUL.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                                              const char** base,
                                                                              size_t* byte_size);

// --- log ---

TRITONSERVER_DECLSPEC bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel level);
/// Writes one record; dropped where the level is not enabled. INVALID_ARG for an unknown level.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level,
                                                                  const char* filename, const int line,
                                                                  const char* msg);

// --- buffer attributes: what is known of a buffer besides its address ---

/// Of no bytes of the CPU, at first. The caller owns them.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesNew(
    TRITONSERVER_BufferAttributes** buffer_attributes);
/// Only of what BufferAttributesNew made.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesDelete(
    TRITONSERVER_BufferAttributes* buffer_attributes);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetMemoryTypeId(
    TRITONSERVER_BufferAttributes* buffer_attributes, int64_t memory_type_id);
/// INVALID_ARG for an unknown type.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetMemoryType(
    TRITONSERVER_BufferAttributes* buffer_attributes, TRITONSERVER_MemoryType memory_type);
/// Copies the 64 bytes of a cudaIpcMemHandle_t.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetCudaIpcHandle(
    TRITONSERVER_BufferAttributes* buffer_attributes, void* cuda_ipc_handle);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetByteSize(
    TRITONSERVER_BufferAttributes* buffer_attributes, size_t byte_size);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryType(
    TRITONSERVER_BufferAttributes* buffer_attributes, TRITONSERVER_MemoryType* memory_type);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryTypeId(
    TRITONSERVER_BufferAttributes* buffer_attributes, int64_t* memory_type_id);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesByteSize(
    TRITONSERVER_BufferAttributes* buffer_attributes, size_t* byte_size);
/// Null where the buffer has none.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_BufferAttributesCudaIpcHandle(
    TRITONSERVER_BufferAttributes* buffer_attributes, void** cuda_ipc_handle);

#ifdef __cplusplus
}
#endif

#include "triton/core/tritonserver_inference.h"
#include "triton/core/tritonserver_metrics.h"
#include "triton/core/tritonserver_options.h"
#include "triton/core/tritonserver_server.h"
#include "triton/core/tritonserver_trace.h"
