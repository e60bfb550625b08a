#pragma once
#include "config/schema/processor_kinds.hpp"
#include "core/settings.hpp"

namespace nearfield {

/// The bands that a processor computes with all bins, because its front_end gives no frequencies; none if it gives
/// some, or if its kind or its settings have no bands.
BandsOfProcessor bands_of(const ProcessorSettings& processor);

/// The bins of one of these bands, ascending.
std::vector<std::size_t> bins_of(const BandsOfProcessor& bands, const Band& band, const FrontEndSettings& front_end,
                                 double sample_rate_hz);

/// settings_of(settings, processor), with a front end that computes the bins of bands_of(processor), each once and
/// ascending, if there are any at this sample rate.
Settings settings_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz);

}  // namespace nearfield
