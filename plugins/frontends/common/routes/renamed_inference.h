/// The protocol's own inference under the paths of a cloud's rules for containers, which name no model and allow no headers of
/// their own: the model is a default one, and the bytes of the JSON before binary tensors stand in the content type.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "atoll/core/host.h"
#include "atoll/core/status.h"
#include "atoll/frontend/http_routes.h"

namespace atl::frontends {

class RenamedInference {
 public:
  /// \param binary_type  content type of bodies with binary tensors, up to the bytes of their JSON
  /// \param default_model  empty: the only model of the repositories, if there is one only
  /// \param hint  how else the default can be said, behind the words "set the option default_model": ", or ..."; a constant text
  RenamedInference(std::string_view binary_type, std::string default_model, std::string_view hint = {});

  /// Looks for the only model if none is named, and warns of one that is in no repository. It may read them. [control]
  /// Errors: there is no model catalog.
  Status open(Host& host);
  /// An inference by the default model; with an empty path if there is none. [request]
  HttpRewrite infer(std::span<const HttpHeader> headers) const;
  /// Any call of the protocol. \param path  as it is asked for, with percent codes [request]
  HttpRewrite call(std::string path, std::span<const HttpHeader> headers) const;
  /// Why infer() gives nothing, as an answer. [any]
  void answer_without_model(HttpExchange& exchange) const;

 private:
  const std::string binary_type_;
  const std::string_view hint_;
  const std::string default_model_;
  std::string infer_path_;  ///< of the default model; empty: there is none
  size_t models_ = 0;       ///< found by open(), where none is named
};

/// The value of the first header of the name; empty: there is none.
std::string_view header_value(std::span<const HttpHeader> headers, std::string_view name) noexcept;

}  // namespace atl::frontends
