#include "stream/sending/fault_injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostFlips = 3;
constexpr std::size_t kByteBits = 8;

void check(const FaultRates& rates) {
  const std::array shares{rates.loss, rates.reorder, rates.duplicate, rates.truncate, rates.flip};
  double sum = 0.0;
  for (const double share : shares) {
    sum += share;
    if (!(share >= 0.0 && share <= 1.0)) {
      throw ConfigError(fmt::format("faults: expected shares of 0 to 1, found {}", share));
    }
  }
  if (sum > 1.0) {
    throw ConfigError(fmt::format("faults: expected shares whose sum is at most 1, found {}", sum));
  }
  if (rates.reorder_packets == 0) {
    throw ConfigError("faults: expected reordering by at least 1 packet, found 0");
  }
}

}  // namespace

FaultInjector::FaultInjector(const FaultRates& rates, Send send)
    : rates_(rates), send_(std::move(send)), generator_(rates.seed) {
  check(rates_);
}

std::size_t FaultInjector::below(std::size_t limit) {
  return std::uniform_int_distribution<std::size_t>(0, limit - 1)(generator_);
}

void FaultInjector::push(std::span<const std::byte> packet) {
  ++counts_.packets;
  double draw = std::uniform_real_distribution<double>(0.0, 1.0)(generator_);
  const auto strikes = [&draw](double share) {
    const bool struck = draw < share;
    draw -= share;
    return struck;
  };
  if (strikes(rates_.loss)) {
    ++counts_.lost;
  } else if (strikes(rates_.reorder)) {
    held_.push_back({{packet.begin(), packet.end()}, 1 + below(rates_.reorder_packets)});
  } else if (strikes(rates_.duplicate)) {
    ++counts_.duplicated;
    send_(packet);
    pass(packet);
  } else if (strikes(rates_.truncate)) {
    send_truncated(packet);
  } else if (strikes(rates_.flip)) {
    send_flipped(packet);
  } else {
    pass(packet);
  }
}

void FaultInjector::push_intact(std::span<const std::byte> packet) {
  ++counts_.packets;
  release(true);
  send_(packet);
}

/// Sends a sound packet, and after it the held packets that waited for it.
void FaultInjector::pass(std::span<const std::byte> packet) {
  send_(packet);
  for (Held& held : held_) {
    held.overtaken = true;
    --held.remaining;
  }
  release(false);
}

void FaultInjector::release(bool all) {
  const auto due = [all](const Held& held) { return all || held.remaining == 0; };
  for (const Held& held : held_) {
    if (due(held)) {
      counts_.reordered += held.overtaken ? 1 : 0;
      send_(held.packet);
    }
  }
  std::erase_if(held_, due);
}

void FaultInjector::send_truncated(std::span<const std::byte> packet) {
  ++counts_.truncated;
  send_(packet.first(below(packet.size())));
}

void FaultInjector::send_flipped(std::span<const std::byte> packet) {
  ++counts_.flipped;
  std::vector<std::byte> flipped(packet.begin(), packet.end());
  const std::size_t flips = 1 + below(kMostFlips);
  std::vector<std::size_t> places;
  while (places.size() < flips) {
    const std::size_t place = below(packet.size() * kByteBits);
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
      flipped[place / kByteBits] ^= std::byte{1} << (place % kByteBits);
    }
  }
  send_(flipped);
}

}  // namespace nearfield
