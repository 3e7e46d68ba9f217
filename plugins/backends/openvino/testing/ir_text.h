/// OpenVINO IR of small models, as text: without weights a model is its XML alone.
#pragma once

#include <algorithm>
#include <string>

#include "atoll/core/text.h"

namespace atl::openvino::test {

/// "-1,3" as the dimensions of a port.
inline std::string ir_dims(const std::string& dims) {
  std::string text;
  for (size_t begin = 0; begin < dims.size();) {
    const size_t end = std::min(dims.find(',', begin), dims.size());
    text += cat("<dim>", dims.substr(begin, end - begin), "</dim>");
    begin = end + 1;
  }
  return text;
}

/// The dimensions as an attribute, in which a variable one is "?".
inline std::string ir_shape(std::string dims) {
  for (size_t at = dims.find("-1"); at != std::string::npos; at = dims.find("-1")) dims.replace(at, 2, "?");
  return dims;
}

inline std::string ir_port(int id, const std::string& type, const std::string& dims,
                           const std::string& name = "") {
  return cat("<port id=\"", id, "\" precision=\"", type, "\"",
             name.empty() ? "" : cat(" names=\"", name, "\""), ">", ir_dims(dims), "</port>");
}

/// \param type, ir_type  the same type; the first may also be "FP32" where the second is "f32"
inline std::string ir_parameter(int id, const std::string& name, const std::string& type,
                                const std::string& ir_type, const std::string& dims) {
  return cat("<layer id=\"", id, "\" name=\"", name,
             "\" type=\"Parameter\" version=\"opset1\"><data shape=\"", ir_shape(dims), "\" element_type=\"",
             ir_type, "\"/><output>", ir_port(0, type, dims, name), "</output></layer>");
}

inline std::string ir_result(int id, const std::string& type, const std::string& dims) {
  return cat("<layer id=\"", id, "\" name=\"result", id, "\" type=\"Result\" version=\"opset1\"><input>",
             ir_port(0, type, dims), "</input></layer>");
}

inline std::string ir_edge(int from, int from_port, int to, int to_port) {
  return cat("<edge from-layer=\"", from, "\" from-port=\"", from_port, "\" to-layer=\"", to, "\" to-port=\"",
             to_port, "\"/>");
}

inline std::string ir_net(const std::string& layers, const std::string& edges) {
  return cat("<?xml version=\"1.0\"?>\n<net name=\"net\" version=\"11\"><layers>", layers, "</layers><edges>",
             edges, "</edges><rt_info/></net>\n");
}

/// OUTPUT0 = INPUT0 + INPUT1
inline std::string ir_add(const std::string& dims) {
  return ir_net(
      cat(ir_parameter(0, "INPUT0", "FP32", "f32", dims), ir_parameter(1, "INPUT1", "FP32", "f32", dims),
          "<layer id=\"2\" name=\"add\" type=\"Add\" version=\"opset1\"><data auto_broadcast=\"numpy\"/><input>",
          ir_port(0, "FP32", dims), ir_port(1, "FP32", dims), "</input><output>",
          ir_port(2, "FP32", dims, "OUTPUT0"), "</output></layer>", ir_result(3, "FP32", dims)),
      cat(ir_edge(0, 0, 2, 0), ir_edge(1, 0, 2, 1), ir_edge(2, 2, 3, 0)));
}

/// What comes in goes out under the same name.
inline std::string ir_identity(const std::string& name, const std::string& type, const std::string& ir_type,
                               const std::string& dims) {
  return ir_net(cat(ir_parameter(0, name, type, ir_type, dims), ir_result(1, type, dims)),
                ir_edge(0, 0, 1, 0));
}

/// B = the sum of all A of the state's life; of FP32 [1,1]
inline std::string ir_total() {
  const std::string dims = "1,1";
  const auto io = [&](const std::string& in, const std::string& out) {
    return cat("<input>", in, "</input><output>", out, "</output></layer>");
  };
  const std::string state = "<data variable_id=\"sum\" variable_type=\"f32\" variable_shape=\"1,1\"/>";
  return ir_net(
      cat(ir_parameter(0, "A", "FP32", "f32", dims),
          // What the state begins with: A less itself.
          "<layer id=\"1\" name=\"zero\" type=\"Subtract\" version=\"opset1\"><data auto_broadcast=\"numpy\"/>",
          io(ir_port(0, "FP32", dims) + ir_port(1, "FP32", dims), ir_port(2, "FP32", dims)),
          "<layer id=\"2\" name=\"read\" type=\"ReadValue\" version=\"opset6\">", state,
          io(ir_port(0, "FP32", dims), ir_port(1, "FP32", dims)),
          "<layer id=\"3\" name=\"sum\" type=\"Add\" version=\"opset1\"><data auto_broadcast=\"numpy\"/>",
          io(ir_port(0, "FP32", dims) + ir_port(1, "FP32", dims), ir_port(2, "FP32", dims, "B")),
          "<layer id=\"4\" name=\"write\" type=\"Assign\" version=\"opset6\">", state,
          io(ir_port(0, "FP32", dims), ir_port(1, "FP32", dims)), ir_result(5, "FP32", dims)),
      cat(ir_edge(0, 0, 1, 0), ir_edge(0, 0, 1, 1), ir_edge(1, 2, 2, 0), ir_edge(2, 1, 3, 0),
          ir_edge(0, 0, 3, 1), ir_edge(3, 2, 4, 0), ir_edge(3, 2, 5, 0)));
}

}  // namespace atl::openvino::test
