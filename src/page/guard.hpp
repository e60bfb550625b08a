#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Permissions to read the page and to change settings through it: checks of each request, without sockets.
namespace nearfield::page {

/// Host name in a header "Host", in lower case, without its port and without the brackets of an IPv6 address; empty if
/// the header is invalid.
std::string host_name(std::string_view header);

/// Port digits of a header "Host"; empty if it names no port.
std::string host_port(std::string_view header);

/// True for localhost, 127.0.0.1, [::1] and the names in `allowed`, with any port or none. Another site whose name was
/// made to resolve to this machine (DNS rebinding) still sends its own name.
bool is_host_allowed(std::string_view header, const std::vector<std::string>& allowed);

/// True for an IP address, with any port or none: no site can have it as its own name.
bool is_host_number(std::string_view header);

/// True for a page of this server ("http://" or "https://" followed by the header Host), and for the origins in
/// `allowed`. The host must have been checked before.
bool is_origin_allowed(std::string_view origin, std::string_view host, const std::vector<std::string>& allowed);

/// Value of a cookie in a header "Cookie"; empty if it is absent.
std::string cookie_of(std::string_view header, std::string_view name);

/// Value of "name=value" in a query, without decoding; empty if it is absent.
std::string query_value(std::string_view query, std::string_view name);

/// Compares in a time that does not depend on where the texts differ, so that it reveals nothing about the token. False
/// for an empty token, which nobody has.
bool is_token(std::string_view given, std::string_view token);

/// The token in a file that others cannot read: 16 to 256 letters, digits, "-" and "_", which a URL and a cookie carry
/// as they are. Throws NoInputError where it cannot be read, ConfigError where others can read it or it holds something
/// else.
std::string read_token(const std::filesystem::path& path);

/// A random token in a file of mode 0600, which the destructor removes if the token is still this one.
class TokenFile {
 public:
  /// Throws IoError.
  explicit TokenFile(std::filesystem::path path);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  std::filesystem::path path_;
  std::string token_;
};

}  // namespace nearfield::page
