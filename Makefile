# The commands of the project; each sets up what it needs and does no work twice.
SHELL := /bin/bash
.DELETE_ON_ERROR:
ENVIRONMENT := . scripts/environment.sh
SOURCES := '*.cpp' '*.h' '*.c'
PREFIX ?= /usr/local

.PHONY: help setup setup-test setup-ray setup-diffusers setup-bench setup-wheel setup-docs setup-test-all build demo check test test-all suite suite-peers asan tsan fuzz coverage random bench microbench gpu-bundle picture install wheel docs format check-format clean

help:
	@echo 'make demo     build, compile a small 3D U-Net, run it and compare with PyTorch'
	@echo 'make build    build/bin/onnxc, build/bin/onnxc-run, build/lib/libonnxc_compiler.so and libonnxc_ep.so, no tests'
	@echo 'make check    the tests of a few minutes, from a warm build'
	@echo 'make test     every test that a change must pass'
	@echo 'make test-all the same, and the long ones'
	@echo 'make suite    every test of the ONNX package, on the CPU and on the simulated GPU (SUITE="-k cpu-" chooses)'
	@echo 'make suite-peers  how many of them onnxruntime and OpenVINO pass'
	@echo 'make asan     the C++ tests and the attacks under the address and undefined-behaviour sanitizers (make tsan: threads)'
	@echo 'make fuzz     each reader of untrusted bytes under libFuzzer, 10 minutes each (FUZZ_SECONDS=60)'
	@echo 'make coverage how much of the frontend, the IR and the passes the inputs of make fuzz reach'
	@echo 'make random   random networks beyond those of the tests, against onnxruntime (RANDOM_GRAPHS="--first 80 --minutes 60")'
	@echo 'make bench    speed, memory and error against onnxruntime, OpenVINO and PyTorch (BENCH="--help" lists options)'
	@echo 'make microbench  each CPU kernel on layers of real networks, on one thread (BENCH="--benchmark_filter=winograd")'
	@echo 'make gpu-bundle  build/gpu-bundle: all that python -m tools.gpu_check needs on a machine with a GPU (GPU_BUNDLE="--for amd")'
	@echo 'make picture  draw the README'"'"'s picture again'
	@echo 'make install  both commands, the header, the runtime and a CMake package, under PREFIX ($(PREFIX))'
	@echo 'make wheel    dist/onnxc-*.whl, for pip install on any Linux with glibc 2.28 or newer'
	@echo 'make docs     build-docs/: the pages of docs/ as a site with a search; fails where an option has no entry'
	@echo 'make format   format every source file'

setup:
	@scripts/setup.sh build

setup-test:
	@scripts/setup.sh test

setup-ray:
	@scripts/setup.sh ray

setup-diffusers:
	@scripts/setup.sh diffusers

setup-bench:
	@scripts/setup.sh bench

setup-wheel:
	@scripts/setup.sh wheel

setup-test-all:
	@scripts/setup.sh test-all

setup-docs:
	@scripts/setup.sh docs

build: setup
	@scripts/build.sh release onnxc onnxc_compiler_shared onnxc_ep onnxc-run run_model

demo: setup
	@scripts/build.sh release onnxc onnxc-run && scripts/demo.sh

check: setup-test
	@scripts/check.sh

test: setup-test
	@scripts/test.sh

test-all: setup-ray setup-diffusers setup-wheel setup-test-all
	@scripts/test.sh --all

suite: setup-test build
	@scripts/build.sh release amdhip64 && $(ENVIRONMENT) && \
	  $$ONNXC_TEST_VENV/bin/python -m pytest -q -n 2 --dist loadgroup tests/onnx_suite --slow --whole-gpu $(SUITE)

suite-peers: setup-bench
	@$(ENVIRONMENT) && $$ONNXC_TEST_VENV/bin/python -m tests.onnx_suite.peers $(PEERS)

asan: setup-test
	@scripts/sanitize.sh asan

tsan: setup
	@scripts/sanitize.sh tsan

fuzz: setup-test
	@scripts/fuzz.sh $(FUZZ_SECONDS)

coverage: setup-test
	@scripts/build.sh coverage onnxc_fuzz && $(ENVIRONMENT) && PYTHONPATH=python $$ONNXC_TEST_VENV/bin/python -m tests.fuzz.coverage

random: setup-test build
	@$(ENVIRONMENT) && PYTHONPATH=python $$ONNXC_TEST_VENV/bin/python -m tests.random $(RANDOM_GRAPHS)

bench: setup-bench build
	@$(ENVIRONMENT) && PYTHONPATH=python $$ONNXC_TEST_VENV/bin/python -m tools.benchmark $(BENCH)

microbench: setup
	@scripts/build.sh release microbenchmark && build/bin/microbenchmark $(BENCH)

gpu-bundle: setup-test build
	@$(ENVIRONMENT) && PYTHONPATH=python $$ONNXC_TEST_VENV/bin/python -m tools.gpu_check bundle $(GPU_BUNDLE)

picture: setup-bench build
	@$(ENVIRONMENT) && $$ONNXC_TEST_VENV/bin/python -m tools.readme_picture

install: build
	@$(ENVIRONMENT) && $$ONNXC_CMAKE --install build --prefix $(PREFIX)

wheel: setup-wheel
	@scripts/wheel.sh

docs: setup-docs build
	@scripts/build.sh release amdhip64 && scripts/docs.sh

format: setup-test
	@$(ENVIRONMENT) && git ls-files $(SOURCES) | xargs clang-format-19 -i && $$ONNXC_TEST_VENV/bin/ruff format -q .

check-format: setup-test
	@$(ENVIRONMENT) && git ls-files $(SOURCES) | xargs clang-format-19 --dry-run -Werror && \
	  $$ONNXC_TEST_VENV/bin/ruff format -q --check . && $$ONNXC_TEST_VENV/bin/ruff check -q . && \
	  $$ONNXC_TEST_VENV/bin/mypy --no-error-summary

clean:
	rm -rf build build-asan build-tsan build-fuzz build-coverage build-debug build-wheel build-docs dist
