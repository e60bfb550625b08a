#include "core/system/network.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace nearfield {
namespace {

constexpr int kAllBits = 128;
constexpr int kMappedBits = 96;  ///< bits before the IPv4 address in its IPv6 form
constexpr std::size_t kMappedBytes = 12;
constexpr std::array<std::uint8_t, kMappedBytes> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

struct Parsed {
  IpAddress address;
  bool is_v4 = false;
};

std::optional<Parsed> parse_address(const std::string& text) {
  Parsed parsed;
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
    std::copy(kMapped.begin(), kMapped.end(), parsed.address.bytes.begin());
    std::memcpy(parsed.address.bytes.data() + kMappedBytes, &four, sizeof four);
    parsed.is_v4 = true;
    return parsed;
  }
  if (inet_pton(AF_INET6, text.c_str(), parsed.address.bytes.data()) == 1) {
    return parsed;
  }
  return std::nullopt;
}

}  // namespace

std::string text_of(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin());
  inet_ntop(is_v4 ? AF_INET : AF_INET6, address.bytes.data() + (is_v4 ? kMappedBytes : 0), text.data(), text.size());
  return text.data();
}

bool Network::contains(const IpAddress& address) const {
  constexpr int kByte = 8;
  for (int bit = 0; bit < prefix_bits; bit += kByte) {
    const auto byte = static_cast<std::size_t>(bit / kByte);
    const int unused = std::max(0, bit + kByte - prefix_bits);
    if (((first.bytes[byte] ^ address.bytes[byte]) >> unused) != 0) {
      return false;
    }
  }
  return true;
}

std::optional<Network> parse_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::optional<Parsed> parsed = parse_address(text.substr(0, slash));
  if (!parsed) {
    return std::nullopt;
  }
  const int before = parsed->is_v4 ? kMappedBits : 0;
  int prefix = kAllBits - before;
  if (slash != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, prefix);
    if (error != std::errc{} || stop != end || prefix < 0 || prefix > kAllBits - before) {
      return std::nullopt;
    }
  }
  return Network{parsed->address, before + prefix};
}

}  // namespace nearfield
