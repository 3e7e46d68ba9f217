/// Who a client is by its certificate.
#pragma once

#include <memory>
#include <string_view>

#include "atoll/frontend/access.h"

struct ssl_st;
struct x509_st;

namespace atl::frontends {

/// What a certificate says of its owner; nothing of it is judged.
/// \returns null: it cannot be read, or there is no memory
std::shared_ptr<const ClientCertificate> read_client_certificate(const x509_st* certificate) noexcept;

/// The same of the first certificate of a PEM text.
std::shared_ptr<const ClientCertificate> read_client_certificate(std::string_view pem) noexcept;

/// That of a connection whose handshake is over. \returns null: none was demanded and verified
std::shared_ptr<const ClientCertificate> verified_client(const ssl_st* connection) noexcept;

}  // namespace atl::frontends
