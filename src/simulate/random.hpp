#pragma once
#include "core/random.hpp"
