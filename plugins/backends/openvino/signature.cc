#include "backends/openvino/signature.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "backends/openvino/datatypes.h"

namespace atl::openvino {
namespace {

void read_dims(const OvPartialShape& shape, OvPortInfo& info) {
  info.has_rank = shape.rank.min == shape.rank.max;
  if (!info.has_rank) return;
  for (int64_t i = 0; i < shape.rank.max; ++i) {
    const OvDimension& dim = shape.dims[i];
    info.dims.push_back(dim.min == dim.max ? dim.max : -1);
  }
  if (!info.dims.empty() && info.dims[0] == -1) info.first_max = shape.dims[0].max;
}

Result<OvPortInfo> read_port(const OvPort& port) {
  OvPortInfo info;
  char* name = nullptr;
  if (api().ov_port_get_any_name(&port, &name) == 0 && name != nullptr) {
    info.name = info.port = name;
    api().ov_free(name);
  }
  ATOLL_RETURN_IF_ERROR(check(api().ov_port_get_element_type(&port, &info.element_type)));
  info.datatype = from_openvino(info.element_type);
  OvPartialShape shape = {{0, 0}, nullptr};
  ATOLL_RETURN_IF_ERROR(check(api().ov_port_get_partial_shape(&port, &shape)));
  read_dims(shape, info);
  api().ov_partial_shape_free(&shape);
  return info;
}

template <class Count, class Get>
Status read_ports(const OvModel& model, Count count_ports, Get get_port, std::vector<OvPortInfo>& ports) {
  size_t count = 0;
  ATOLL_RETURN_IF_ERROR(check(count_ports(&model, &count)));
  for (size_t i = 0; i < count; ++i) {
    Handle<OvPort> port;
    ATOLL_RETURN_IF_ERROR(make(port, get_port, &model, i));
    auto info = read_port(*port);
    if (!info.ok()) return std::move(info).status();
    ports.push_back(std::move(info).value());
  }
  return {};
}

template <class Find>
Result<OvPortInfo> find_port(const OvModel& model, Find find, const std::string& name) {
  Handle<OvPort> port;
  std::string found = name;
  Status status = make(port, find, &model, found.c_str());
  if (!status.ok()) {
    found += ":0";
    if (!make(port, find, &model, found.c_str()).ok()) return status;
  }
  auto info = read_port(*port);
  if (!info.ok()) return info;
  info->name = name;
  info->port = std::move(found);
  return info;
}

}  // namespace

std::string OvPortInfo::type_text() const {
  if (datatype != DataType::kInvalid) return std::string(data_type_name(datatype));
  return cat("OpenVINO's element type ", element_type);
}

bool OvPortInfo::is_variable() const noexcept {
  return !has_rank || std::ranges::find(dims, -1) != dims.end();
}

Result<OvSignature> read_signature(const OvModel& model) noexcept {
  OvSignature signature;
  ATOLL_RETURN_IF_ERROR(
      read_ports(model, api().ov_model_inputs_size, api().ov_model_const_input_by_index, signature.inputs));
  ATOLL_RETURN_IF_ERROR(read_ports(model, api().ov_model_outputs_size, api().ov_model_const_output_by_index,
                                   signature.outputs));
  return signature;
}

Result<OvPortInfo> find_input(const OvModel& model, const std::string& name) noexcept {
  return find_port(model, api().ov_model_const_input_by_name, name);
}

Result<OvPortInfo> find_output(const OvModel& model, const std::string& name) noexcept {
  return find_port(model, api().ov_model_const_output_by_name, name);
}

std::string names_of(const std::vector<OvPortInfo>& ports) {
  std::string text;
  for (const OvPortInfo& port : ports) text += cat(text.empty() ? "" : ", ", port.name);
  return text;
}

}  // namespace atl::openvino
