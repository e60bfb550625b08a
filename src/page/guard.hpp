#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Who may read the page and who may change settings through it: the checks of each request, without sockets.
namespace nearfield::page {

/// The host of a header "Host", in lower case, without its port and without the brackets of an IPv6 address; empty
/// where it is none.
std::string host_name(std::string_view header);

/// The digits of a header "Host" behind its last colon; empty where it names no port.
std::string host_port(std::string_view header);

/// True for localhost, 127.0.0.1, [::1] and the names in `allowed`, with any port or none. Another site whose name was
/// made to resolve to this machine (DNS rebinding) still sends its own name.
bool is_host_allowed(std::string_view header, const std::vector<std::string>& allowed);

/// True for an IP address, with any port or none: no site can have it as its own name.
bool is_host_number(std::string_view header);

/// True for a page of this server ("http://" or "https://" before what the header Host says), and for the origins in
/// `allowed`. The host must have been checked before.
bool is_origin_allowed(std::string_view origin, std::string_view host, const std::vector<std::string>& allowed);

/// The value of a cookie in a header "Cookie"; empty where it is not there.
std::string cookie_of(std::string_view header, std::string_view name);

/// The value of "name=value" in a query, without decoding; empty where it is not there.
std::string query_value(std::string_view query, std::string_view name);

/// Compares without regard to where the texts differ, so that the time it takes says nothing about the token. False for
/// an empty token, which nobody has.
bool is_token(std::string_view given, std::string_view token);

}  // namespace nearfield::page
