# What a developer does here, each in one to three lines that could be typed.
PYTHON ?= python3
BIN ?= .venv/bin
IN_BIN = PATH="$(abspath $(BIN)):$$PATH"
TESTS ?= tests/python
BENCH_OPTIONS ?=
FUZZ_SECONDS ?= 600
MUTANTS ?= 300000
DOCS_BUILDER ?= html

.PHONY: help setup test torch cpp arm musl macos plain asan tsan freethreaded fuzz differential lint types tidy check fix stubs rules operators docs site bench against peers models pythons wheels

help: ## print this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## a virtual environment in .venv with everything, and an editable install
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install 'scikit-build-core>=1.0' 'pybind11>=3.0' 'cmake>=3.25' ninja
	.venv/bin/python -m pip install --no-build-isolation -e '.[cli,test,s3,bench,dev,docs]'

test: ## the Python tests on the editable install; the first import rebuilds what changed
	$(IN_BIN) python -m pytest $(TESTS)

torch: ## the tests with torch, which is too large to be in the test extra
	$(PYTHON) -m venv --clear build/torch-venv && build/torch-venv/bin/python -m pip install '.[test]' 'torch==2.13.0'
	ONNXMAP_TEST_TORCH=1 build/torch-venv/bin/python -m pytest $(TESTS)/interop/test_interop_torch.py $(TESTS)/weights/test_torch_files.py \
		$(TESTS)/project/test_readme.py

cpp: ## the C++ tests, with assertions on (needs doctest: apt-get install doctest-dev)
	$(IN_BIN) cmake --workflow --preset debug

arm: ## the C++ tests for aarch64, under emulation (needs qemu-user-static, and ziglang from PyPI)
	$(IN_BIN) tools/test_elsewhere aarch64-linux-musl

musl: ## the C++ tests with musl, linked statically (needs ziglang from PyPI)
	$(IN_BIN) tools/test_elsewhere x86_64-linux-musl

macos: ## the C++ tests for macOS, compiled and linked, not run (needs ziglang from PyPI)
	$(IN_BIN) tools/test_elsewhere aarch64-macos.13.0 && $(IN_BIN) tools/test_elsewhere x86_64-macos.13.0

plain: ## the C++ tests with POSIX alone, without what Linux adds, under the sanitizers of asan
	$(IN_BIN) cmake --workflow --preset plain

# The extension is installed in an environment on top of that of the tools, which has what the tests import.
asan: ## the C++ and the Python tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(IN_BIN) cmake --workflow --preset asan
	$(IN_BIN) python -m venv --clear --without-pip build/asan-venv
	$(IN_BIN) python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >$$(echo build/asan-venv/lib/python*/site-packages)/tools.pth
	ONNXMAP_SANITIZE=1 $(IN_BIN) python -m pip --python build/asan-venv install --no-deps --no-build-isolation .
	tools/with_sanitizers build/asan-venv/bin/python -m pytest -n auto $(TESTS)

tsan: ## many threads on one model under ThreadSanitizer
	$(IN_BIN) cmake --workflow --preset tsan

freethreaded: ## tests in a Python without an interpreter lock, those of threads under TSan; builds both Pythons
	tools/test_free_threaded build/free-threaded $(DEBIAN)

# Compiles with the flags of a user's install: then a compiler cache has the objects already.
differential: ## MUTANTS=300000 mutants, of each type of message, against protobuf's upb
	$(IN_BIN) cmake --preset differential && $(IN_BIN) cmake --build --preset differential
	$(IN_BIN) python tests/fuzz/differential.py --mutants $(MUTANTS) build/differential/tests/fuzz/libonnxmap_differential.so

fuzz: ## the fuzz targets on their corpus, then all of them side by side for FUZZ_SECONDS (needs clang-19)
	$(IN_BIN) cmake --workflow --preset fuzz
	tools/fuzz_corpus && tools/fuzz $(FUZZ_SECONDS)

lint: ## formatting and what is quick to find; changes nothing
	$(IN_BIN) ruff format --check && $(IN_BIN) ruff check && $(IN_BIN) mypy
	git ls-files -z 'cpp/*.?pp' 'tests/cpp/*.?pp' 'tests/fuzz/*.?pp' | $(IN_BIN) xargs -0r clang-format --dry-run --Werror

check: lint types tidy ## these three; changes nothing but build/tidy

types: ## what mypy does not see in the public types, and the workflows
	$(IN_BIN) basedpyright
	$(IN_BIN) zizmor --offline --quiet .github/workflows

# A binding takes ten times as long as a file of the core. The compiler only preprocesses, to know what each file
# includes.
tidy: ## clang-tidy on the core
	$(IN_BIN) cmake --preset tidy --log-level=WARNING && $(IN_BIN) cmake --build --preset tidy

fix: ## formatting and what lint can mend, in place
	$(IN_BIN) ruff check --fix; $(IN_BIN) ruff format
	git ls-files -z 'cpp/*.?pp' 'tests/cpp/*.?pp' 'tests/fuzz/*.?pp' | $(IN_BIN) xargs -0r clang-format -i

stubs: ## write python/onnxmap/_core.pyi anew from the extension
	$(IN_BIN) python tools/generate_stubs.py

rules: ## write docs/rules anew from the rules of checks and their examples
	$(IN_BIN) python tools/generate_rules.py

operators: ## write cpp/onnx/operators.def anew from the installed onnx
	$(IN_BIN) python tools/generate_operators.py

# Warnings are errors: among them links and references that lead nowhere. Links out of the site are not followed.
# DOCS_BUILDER=dummy looks for them without writing the site, in half the time.
docs: ## the documentation site in build/docs
	$(IN_BIN) python -m sphinx --fail-on-warning --nitpicky --keep-going --fresh-env --quiet --builder $(DOCS_BUILDER) -c docs . build/docs

site: ## the pages of make docs in a browser, at five widths: none is wider than its window (needs chromium)
	$(IN_BIN) python tools/check_site.py build/docs

bench: ## the benchmarks on an install like a user's (about an hour)
	$(PYTHON) -m venv --clear build/bench-venv && build/bench-venv/bin/python -m pip install '.[bench]'
	build/bench-venv/bin/python -m pytest bench $(BENCH_OPTIONS)

against: ## the times of this commit against those of REV=..., in turns; TASKS="walk load" for some of them
	tools/against $(PYTHON) $(REV) $(TASKS)

peers: ## onnx's own tests of what the verbs of surgery do as well, on these verbs (downloads its source)
	$(IN_BIN) tools/run_onnx_tests python

models: ## random programs of verbs of surgery on published models (downloads 30 MB)
	$(IN_BIN) tools/try_models python

pythons: ## README's commands under the other Pythons, each in an environment of its own
	for version in 3.12 3.13 3.14 3.15; do tools/readme_commands "$$(tools/find_python $$version)" 1 2 || exit 1; done

wheels: ## wheels, the sdist and an SBOM in dist; HEADERS="/usr/include/python3.14 ..." (else those of tools/find_python)
	$(PYTHON) tools/build_wheels.py $(HEADERS)
