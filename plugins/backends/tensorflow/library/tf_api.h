/// The functions of TensorFlow's C API that this backend calls, declared here and found by name in a library that is opened when
/// the plugin needs it. No header of TensorFlow is needed, and nothing of it is linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace atl::tensorflow {

// What the functions hand out. Their names are TensorFlow's; nothing is known of what is in them.
struct TF_Status;
struct TF_Graph;
struct TF_Session;
struct TF_SessionOptions;
struct TF_ImportGraphDefOptions;
struct TF_Operation;
struct TF_Tensor;
struct TF_Library;

/// Bytes that are not copied. Of one that the library fills, it owns the data until TF_DeleteBuffer().
struct TF_Buffer {
  const void* data;
  size_t length;
  void (*data_deallocator)(void* data, size_t length);
};

/// Output number `index` of an operation; as an input of a run, what is fed in its place.
struct TF_Output {
  TF_Operation* oper;
  int index;
};

/// An element of a tensor of texts.
struct TF_TString {
  alignas(8) std::byte content[24];
};

/// TF_DataType, as far as it is named here; other numbers are types that the server's protocol does not have.
using TfType = int32_t;

// f(name, result, parameters). TF_SessionRun() may be called on several threads at once for one session.
#define ATOLL_TF_FUNCTIONS(f)                                                                                \
  f(TF_Version, const char*, (void)) f(TF_NewStatus, TF_Status*, (void)) f(                                  \
      TF_DeleteStatus, void, (TF_Status*)) f(TF_GetCode, int, (const TF_Status*))                            \
      f(TF_Message, const char*, (const TF_Status*)) f(TF_NewBuffer, TF_Buffer*, (void)) f(                  \
          TF_DeleteBuffer, void, (TF_Buffer*)) f(TF_NewSessionOptions, TF_SessionOptions*, (void))           \
          f(TF_DeleteSessionOptions, void, (TF_SessionOptions*)) f(                                          \
              TF_SetConfig, void, (TF_SessionOptions*, const void* proto, size_t bytes, TF_Status*))         \
              f(TF_NewGraph, TF_Graph*, (void)) f(TF_DeleteGraph, void, (TF_Graph*)) f(                      \
                  TF_NewImportGraphDefOptions, TF_ImportGraphDefOptions*, (void))                            \
                  f(TF_DeleteImportGraphDefOptions, void, (TF_ImportGraphDefOptions*)) f(                    \
                      TF_GraphImportGraphDef, void,                                                          \
                      (TF_Graph*, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions*,               \
                       TF_Status*)) f(TF_GraphOperationByName, TF_Operation*, (TF_Graph*, const char* name)) \
                      f(TF_OperationOpType, const char*, (TF_Operation*)) f(                                 \
                          TF_OperationNumOutputs, int,                                                       \
                          (TF_Operation*)) f(TF_OperationOutputType, TfType, (TF_Output))                    \
                          f(TF_GraphGetTensorNumDims, int, (TF_Graph*, TF_Output, TF_Status*)) f(            \
                              TF_GraphGetTensorShape, void,                                                  \
                              (TF_Graph*, TF_Output, int64_t * dims, int count, TF_Status*))                 \
                              f(TF_NewSession, TF_Session*,                                                  \
                                (TF_Graph*, const TF_SessionOptions*, TF_Status*))                           \
                                  f(TF_LoadSessionFromSavedModel, TF_Session*,                               \
                                    (const TF_SessionOptions*, const TF_Buffer* run_options,                 \
                                     const char* folder, const char* const* tags, int tag_count, TF_Graph*,  \
                                     TF_Buffer* meta_graph, TF_Status*)) f(TF_CloseSession, void,            \
                                                                           (TF_Session*, TF_Status*))        \
                                      f(TF_DeleteSession, void, (TF_Session*, TF_Status*)) f(                \
                                          TF_SessionRun, void,                                               \
                                          (                                                                  \
                                              TF_Session*, const TF_Buffer* run_options,                     \
                                              const TF_Output* inputs, TF_Tensor* const* input_values,       \
                                              int input_count, const TF_Output* outputs,                     \
                                              TF_Tensor** output_values, int output_count,                   \
                                              const TF_Operation* const* targets, int target_count,          \
                                              TF_Buffer* run_metadata,                                       \
                                              TF_Status*)) f(TF_AllocateTensor, TF_Tensor*,                  \
                                                             (                                               \
                                                                 TfType,                                     \
                                                                 const int64_t* dims, int dim_count,         \
                                                                 size_t bytes))                              \
                                          f(TF_NewTensor, TF_Tensor*,                                        \
                                            (TfType, const int64_t* dims, int dim_count, void* data,         \
                                             size_t bytes,                                                   \
                                             void (*deallocator)(void* data, size_t bytes, void* argument),  \
                                             void* argument)) f(TF_DeleteTensor, void, (TF_Tensor*))         \
                                              f(TF_TensorType, TfType,                                       \
                                                (const TF_Tensor*)) f(TF_NumDims, int, (const TF_Tensor*))   \
                                                  f(TF_Dim, int64_t, (const TF_Tensor*, int index))          \
                                                      f(TF_TensorByteSize, size_t, (const TF_Tensor*)) f(    \
                                                          TF_TensorData, void*,                              \
                                                          (const TF_Tensor*))                                \
                                                          f(TF_StringInit, void, (TF_TString*)) f(           \
                                                              TF_StringCopy, void,                           \
                                                              (TF_TString*, const char* bytes, size_t size)) \
                                                              f(TF_StringGetDataPointer, const char*,        \
                                                                (const TF_TString*)) f(TF_StringGetSize,     \
                                                                                       size_t,               \
                                                                                       (const TF_TString*))  \
                                                                  f(TF_StringDealloc, void, (TF_TString*))   \
                                                                      f(TF_LoadLibrary, TF_Library*,         \
                                                                        (const char* file, TF_Status*))      \
                                                                          f(TF_DeleteLibraryHandle, void,    \
                                                                            (TF_Library*))

struct TfApi {
#define ATOLL_TF_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  ATOLL_TF_FUNCTIONS(ATOLL_TF_MEMBER)
#undef ATOLL_TF_MEMBER
};

/// That of the process. Only after open_tensorflow() has succeeded, which whoever holds anything of TensorFlow knows. [any]
const TfApi& tf() noexcept;

struct TfRelease {
  void operator()(TF_Status* status) const noexcept { tf().TF_DeleteStatus(status); }
  void operator()(TF_Buffer* buffer) const noexcept { tf().TF_DeleteBuffer(buffer); }
  void operator()(TF_SessionOptions* options) const noexcept { tf().TF_DeleteSessionOptions(options); }
  void operator()(TF_ImportGraphDefOptions* options) const noexcept {
    tf().TF_DeleteImportGraphDefOptions(options);
  }
  void operator()(TF_Graph* graph) const noexcept { tf().TF_DeleteGraph(graph); }
  void operator()(TF_Tensor* tensor) const noexcept { tf().TF_DeleteTensor(tensor); }
  void operator()(TF_Session* session) const noexcept;
};
template <class T>
using TfHandle = std::unique_ptr<T, TfRelease>;

}  // namespace atl::tensorflow
