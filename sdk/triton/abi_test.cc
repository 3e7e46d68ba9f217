/// Numbers, sizes and names that shared objects made for Triton were compiled with.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "atoll/request/request.h"
#include "triton/core/tritonbackend.h"

extern "C" int c_header_check(void);

namespace {

static_assert(sizeof(TRITONSERVER_DataType) == 4 && sizeof(TRITONSERVER_MemoryType) == 4);
static_assert(sizeof(TRITONSERVER_ParameterType) == 4 && sizeof(TRITONSERVER_Error_Code) == 4);
static_assert(sizeof(TRITONSERVER_LogLevel) == 4 && sizeof(TRITONBACKEND_ArtifactType) == 4);
static_assert(TRITONSERVER_TYPE_INVALID == 0 && TRITONSERVER_TYPE_BOOL == 1 && TRITONSERVER_TYPE_UINT8 == 2 &&
              TRITONSERVER_TYPE_UINT16 == 3 && TRITONSERVER_TYPE_UINT32 == 4 &&
              TRITONSERVER_TYPE_UINT64 == 5 && TRITONSERVER_TYPE_INT8 == 6 && TRITONSERVER_TYPE_INT16 == 7 &&
              TRITONSERVER_TYPE_INT32 == 8 && TRITONSERVER_TYPE_INT64 == 9 && TRITONSERVER_TYPE_FP16 == 10 &&
              TRITONSERVER_TYPE_FP32 == 11 && TRITONSERVER_TYPE_FP64 == 12 && TRITONSERVER_TYPE_BYTES == 13 &&
              TRITONSERVER_TYPE_BF16 == 14);
static_assert(TRITONSERVER_MEMORY_CPU == 0 && TRITONSERVER_MEMORY_CPU_PINNED == 1 &&
              TRITONSERVER_MEMORY_GPU == 2);
static_assert(TRITONSERVER_PARAMETER_STRING == 0 && TRITONSERVER_PARAMETER_INT == 1 &&
              TRITONSERVER_PARAMETER_BOOL == 2 && TRITONSERVER_PARAMETER_DOUBLE == 3 &&
              TRITONSERVER_PARAMETER_BYTES == 4);
static_assert(TRITONSERVER_LOG_INFO == 0 && TRITONSERVER_LOG_WARN == 1 && TRITONSERVER_LOG_ERROR == 2 &&
              TRITONSERVER_LOG_VERBOSE == 3);
static_assert(TRITONSERVER_ERROR_UNKNOWN == 0 && TRITONSERVER_ERROR_INTERNAL == 1 &&
              TRITONSERVER_ERROR_NOT_FOUND == 2 && TRITONSERVER_ERROR_INVALID_ARG == 3 &&
              TRITONSERVER_ERROR_UNAVAILABLE == 4 && TRITONSERVER_ERROR_UNSUPPORTED == 5 &&
              TRITONSERVER_ERROR_ALREADY_EXISTS == 6 && TRITONSERVER_ERROR_CANCELLED == 7);
static_assert(int{TRITONSERVER_REQUEST_FLAG_SEQUENCE_START} == int{atl::kSequenceStart} &&
              int{TRITONSERVER_REQUEST_FLAG_SEQUENCE_END} == int{atl::kSequenceEnd});
static_assert(TRITONBACKEND_ARTIFACT_FILESYSTEM == 0);
static_assert(sizeof(TRITONBACKEND_ExecutionPolicy) == 4 && TRITONBACKEND_EXECUTION_BLOCKING == 0 &&
              TRITONBACKEND_EXECUTION_DEVICE_BLOCKING == 1);

// Where the two parts of the API differ in widths.
static_assert(
    std::is_same_v<decltype(&TRITONBACKEND_ResponseOutput),
                   TRITONSERVER_Error* (*)(TRITONBACKEND_Response*, TRITONBACKEND_Output**, const char*,
                                           TRITONSERVER_DataType, const int64_t*, uint32_t)>);
static_assert(std::is_same_v<decltype(&TRITONBACKEND_InferenceResponseOutput),
                             TRITONSERVER_Error* (*)(TRITONBACKEND_Response*, uint32_t, const char**,
                                                     TRITONSERVER_DataType*, const int64_t**, uint64_t*)>);
static_assert(std::is_same_v<decltype(&TRITONBACKEND_ModelInstanceDeviceId),
                             TRITONSERVER_Error* (*)(TRITONBACKEND_ModelInstance*, int32_t*)>);
static_assert(
    std::is_same_v<decltype(&TRITONBACKEND_ModelInstanceExecute),
                   TRITONSERVER_Error* (*)(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request**, uint32_t)>);

static_assert(std::is_same_v<decltype(&TRITONBACKEND_ModelBatchIncludeRequest),
                             TRITONSERVER_Error* (*)(TRITONBACKEND_Request*, void*, bool*)>);
static_assert(std::is_same_v<decltype(&TRITONBACKEND_ModelBatchInitialize),
                             TRITONSERVER_Error* (*)(const TRITONBACKEND_Batcher*, void**)>);

TEST(CApi, ServesC) { EXPECT_TRUE(c_header_check()); }

TEST(CApi, Versions) {
  uint32_t major = 0;
  uint32_t minor = 0;
  EXPECT_EQ(TRITONSERVER_ApiVersion(&major, &minor), nullptr);
  EXPECT_EQ(major, 1u);
  EXPECT_EQ(minor, 34u);
  EXPECT_EQ(TRITONBACKEND_ApiVersion(&major, &minor), nullptr);
  EXPECT_EQ(major, 1u);
  EXPECT_EQ(minor, 19u);
}

TEST(CApi, DataTypes) {
  EXPECT_STREQ(TRITONSERVER_DataTypeString(TRITONSERVER_TYPE_FP32), "FP32");
  EXPECT_STREQ(TRITONSERVER_DataTypeString(TRITONSERVER_TYPE_INVALID), "<invalid>");
  EXPECT_STREQ(TRITONSERVER_DataTypeString(static_cast<TRITONSERVER_DataType>(99)), "<invalid>");
  EXPECT_STREQ(TRITONSERVER_DataTypeString(static_cast<TRITONSERVER_DataType>(-1)), "<invalid>");
  EXPECT_EQ(TRITONSERVER_StringToDataType("BF16"), TRITONSERVER_TYPE_BF16);
  EXPECT_EQ(TRITONSERVER_StringToDataType("<invalid>"), TRITONSERVER_TYPE_INVALID);
  EXPECT_EQ(TRITONSERVER_StringToDataType("fp32"), TRITONSERVER_TYPE_INVALID);
  EXPECT_EQ(TRITONSERVER_StringToDataType(nullptr), TRITONSERVER_TYPE_INVALID);
  EXPECT_EQ(TRITONSERVER_DataTypeByteSize(TRITONSERVER_TYPE_INT64), 8u);
  EXPECT_EQ(TRITONSERVER_DataTypeByteSize(TRITONSERVER_TYPE_BYTES), 0u);
  EXPECT_EQ(TRITONSERVER_DataTypeByteSize(static_cast<TRITONSERVER_DataType>(99)), 0u);
}

// A look-up of such a name in a foreign object goes on in what the object needs, which is this library.
TEST(CApi, NamesThatForeignCodeDefinesAreNotInTheLibrary) {
  void* library = ::dlopen("libtritonserver.so", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr) << "the library is known by its SONAME";
  EXPECT_NE(::dlsym(library, "TRITONSERVER_ErrorNew"), nullptr);
  for (const char* name :
       {"TRITONBACKEND_ModelBatcherInitialize", "TRITONBACKEND_ModelBatcherFinalize",
        "TRITONBACKEND_ModelBatchInitialize", "TRITONBACKEND_ModelBatchIncludeRequest",
        "TRITONBACKEND_Initialize", "TRITONBACKEND_ModelInstanceExecute", "TRITONCACHE_CacheInsert"}) {
    EXPECT_EQ(::dlsym(library, name), nullptr) << name;
  }
  ::dlclose(library);
}

}  // namespace
