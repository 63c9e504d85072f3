// The entry point of the unit tests; the cases are in the folders, one per layer.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
