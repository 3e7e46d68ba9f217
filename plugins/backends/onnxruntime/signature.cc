#include "backends/onnxruntime/signature.h"

#include "backends/onnxruntime/datatypes.h"

namespace atl::ort {
namespace {

using NameFunction = OrtStatus*(ORT_API_CALL*)(const OrtSession*, size_t, OrtAllocator*, char**) noexcept;
using TypeFunction = OrtStatus*(ORT_API_CALL*)(const OrtSession*, size_t, OrtTypeInfo**) noexcept;

const char* kind_text(ONNXType type) {
  switch (type) {
    case ONNX_TYPE_SEQUENCE:
      return "sequence";
    case ONNX_TYPE_MAP:
      return "map";
    case ONNX_TYPE_OPAQUE:
      return "opaque";
    case ONNX_TYPE_SPARSETENSOR:
      return "sparse tensor";
    case ONNX_TYPE_OPTIONAL:
      return "optional";
    default:
      return "unknown";
  }
}

Status read_type(const OrtTypeInfo& type, OnnxTensor& info) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  ATOLL_RETURN_IF_ERROR(check(api().GetOnnxTypeFromTypeInfo(&type, &kind)));
  if (kind != ONNX_TYPE_TENSOR) {
    info.type_text = kind_text(kind);
    return {};
  }
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;  // part of `type`
  ATOLL_RETURN_IF_ERROR(check(api().CastTypeInfoToTensorInfo(&type, &tensor)));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  ATOLL_RETURN_IF_ERROR(check(api().GetTensorElementType(tensor, &element)));
  info.datatype = from_onnx(element);
  info.type_text = info.datatype == DataType::kInvalid ? cat("ONNX element type ", static_cast<int>(element))
                                                       : std::string(data_type_name(info.datatype));
  size_t rank = 0;
  ATOLL_RETURN_IF_ERROR(check(api().GetDimensionsCount(tensor, &rank)));
  info.dims.resize(rank);
  return check(api().GetDimensions(tensor, info.dims.data(), rank));
}

Status read_tensors(const OrtSession& session, size_t count, NameFunction name_of, TypeFunction type_of,
                    bool has_default, std::vector<OnnxTensor>& tensors) {
  OrtAllocator* allocator = nullptr;  // the process-wide one, not to be released
  ATOLL_RETURN_IF_ERROR(check(api().GetAllocatorWithDefaultOptions(&allocator)));
  for (size_t i = 0; i < count; ++i) {
    OnnxTensor info;
    info.has_default = has_default;
    char* name = nullptr;
    ATOLL_RETURN_IF_ERROR(check(name_of(&session, i, allocator, &name)));
    info.name = name;
    allocator->Free(allocator, name);
    Handle<OrtTypeInfo> type;
    ATOLL_RETURN_IF_ERROR(make(type, type_of, &session, i));
    ATOLL_RETURN_IF_ERROR(read_type(*type, info));
    tensors.push_back(std::move(info));
  }
  return {};
}

const OnnxTensor* find(const std::vector<OnnxTensor>& tensors, std::string_view name) {
  for (const OnnxTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace

const OnnxTensor* Signature::find_input(std::string_view name) const noexcept { return find(inputs, name); }
const OnnxTensor* Signature::find_output(std::string_view name) const noexcept { return find(outputs, name); }

std::string names_of(const std::vector<OnnxTensor>& tensors) {
  std::string names;
  for (const OnnxTensor& tensor : tensors) names += cat(names.empty() ? "" : ", ", tensor.name);
  return names;
}

Result<Signature> read_signature(const OrtSession& session) noexcept {
  Signature signature;
  size_t count = 0;
  ATOLL_RETURN_IF_ERROR(check(api().SessionGetInputCount(&session, &count)));
  ATOLL_RETURN_IF_ERROR(read_tensors(session, count, api().SessionGetInputName, api().SessionGetInputTypeInfo,
                                     false, signature.inputs));
  signature.required_inputs = count;
  ATOLL_RETURN_IF_ERROR(check(api().SessionGetOverridableInitializerCount(&session, &count)));
  ATOLL_RETURN_IF_ERROR(read_tensors(session, count, api().SessionGetOverridableInitializerName,
                                     api().SessionGetOverridableInitializerTypeInfo, true, signature.inputs));
  ATOLL_RETURN_IF_ERROR(check(api().SessionGetOutputCount(&session, &count)));
  ATOLL_RETURN_IF_ERROR(read_tensors(session, count, api().SessionGetOutputName,
                                     api().SessionGetOutputTypeInfo, false, signature.outputs));
  return signature;
}

}  // namespace atl::ort
