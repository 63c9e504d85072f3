// The entry point of the unit tests. The cases are in the folders, one for each layer.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
