#pragma once
#include "config/schema/section.hpp"
#include "core/daemon_settings.hpp"
#include "core/settings.hpp"

/// The sections of a configuration. Each function describes one, whose settings are stored in its second argument.
namespace nearfield::schema {

void describe(Section& section, ArraySettings& array);
void describe(Section& section, MediumSettings& medium);
void describe(Section& section, FrontEndSettings& front_end);
void describe(Section& section, FrontEndOverrides& front_end);
void describe(Section& section, HolographySettings& holography);
/// Capabilities of an imager.
struct ImagerParts {
  bool searches = true;   ///< has a search that is too slow for every frame
  bool filters = true;    ///< extrapolates and filters
  bool surfaces = true;   ///< makes images on other surfaces than planes
  bool operators = true;  ///< has a prior of sources at places
};
/// Settings of images for any imager: all of the above except the imager and the standoff.
void describe_images(Section& section, HolographySettings& holography, const ImagerParts& parts);
/// A section for each, under its name.
void describe(Section& section, std::vector<ProcessorSettings>& processors);
void describe(Section& section, DeviceSettings& device);
void describe(Section& section, DaemonSettings& daemon);
/// A section for each, under its name.
void describe(Section& section, std::vector<DaemonSettings::Limit>& limits);

/// All sections, kept in `settings`, which must live as long as the description.
Section describe(Settings& settings);

}  // namespace nearfield::schema
