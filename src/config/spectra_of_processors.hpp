#pragma once
#include "config/schema/processor_kinds.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// The bands of which a processor works on all bins, as its front_end gives no frequencies; none where it gives some,
/// or where its kind or its settings have no bands.
BandsOfProcessor bands_of(const ProcessorSettings& processor);

/// The bins of one of them, ascending.
std::vector<std::size_t> bins_of(const BandsOfProcessor& bands, const Band& band, const FrontEndSettings& front_end,
                                 double sample_rate_hz);

/// settings_of(settings, processor), whose front end computes the bins of bands_of(processor), each once and ascending,
/// where there are some at this sample rate.
Settings settings_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz);

}  // namespace nearfield
