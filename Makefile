# What a newcomer runs: `make demo`, `make test`. The rest is for working on the
# package. Everything lands in this folder; nothing needs a JDK.
#
#   PYTHON=python3.12 make test       with another Python
#   make test ARGS="-k attach -x"     with arguments for pytest
#   JVMTI_TEST_JVMS=17,25 make test   on some JVMs only
#   make test ARGS="-n 0"             one test after the other; otherwise several files at once

PYTHON ?= python3
ARGS ?=
QUICK ?= $(addprefix tests/, conformance events agents/test_examples.py integrations/test_own_process.py \
    heap/live/test_histogram.py heap/live/test_live_snapshot.py heap/test_query.py \
    model/test_classes.py model/test_frames.py model/test_objects.py model/test_threads.py \
    target/test_attach.py target/test_hotspot.py target/test_launch.py robustness/calls/test_nulls.py \
    wire/test_codecs.py wire/test_columns.py commands/test_commands.py model/test_vm.py target/test_ways_in.py)
BENCH ?= run
WHEEL_ARGS ?=
NATIVE_ARGS ?=
SANITIZE ?= address,undefined
CPP = $(shell find native -name "*.cpp" -o -name "*.h")
PACKAGES = $(shell find src -name __init__.py)

VENV := .venv
BIN := $(VENV)/bin
BUILD := build/dev
CHECKED := build/checked
JAVA := .jvms
WHEELS := wheelhouse

# Two more than there are processors, because many tests wait; four at most.
WORKERS ?= $(shell n=$$(nproc); echo $$((n < 3 ? n + 2 : 4)))

INSTALL := scripts/install_packages.py --quiet

# NumPy would start threads for each process, which nothing here uses.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help demo test test-all quick check checked format tidy docs vscode wheels wheel-test wheel-venv sanitize bench install java clean distclean
.DELETE_ON_ERROR:

help:
	@sed -n '/^##/s/^## //p' Makefile

## demo        build, start a Java program, look into it while it runs
demo: install $(VENV)/.demo
	$(BIN)/python examples/demo.py $(ARGS)

## test        install what the tests need and run them all
test: install java $(VENV)/.spark $(VENV)/.editors
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

## test-all    the same with every test on every JVM where it may show anything of its own
test-all:
	$(MAKE) test ARGS="--every-jvm $(ARGS)"

## quick       some of each kind of test on the newest JVM: under three minutes
quick: install java
	JVMTI_TEST_JVMS=newest $(BIN)/python -m pytest -n $(WORKERS) -q \
	    -m "not slow and not stress and not root" $(QUICK) $(ARGS)

## check       lint, formatting, types, layers
check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@$(BIN)/clang-format --dry-run --Werror $(CPP)

## format      put the sources into their standard form
format: $(VENV)/.tools
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP)

## tidy        what clang-tidy finds in the C++ sources: minutes, so no gate
tidy: install $(VENV)/.tidy
	@find native -name "*.cpp" -not -name failing_allocations.cpp -print0 | \
	    xargs -0 -n 4 -P 2 $(BIN)/clang-tidy -p $(BUILD) --quiet

## docs        the documentation as a site, into build/site; a broken link is an error
docs: install $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build --strict

## vscode      the extension for VS Code, into build/vscode
vscode: $(VENV)/.editors
	$(BIN)/python scripts/vscode_extension.py

## wheels      release wheels for x86-64 and aarch64, glibc and musl, checked
wheels: $(VENV)-release/.tools
	$(VENV)-release/bin/python scripts/build_wheels.py $(WHEELS) $(WHEEL_ARGS)

## wheel-test  run the tests against the release wheel for x86-64
wheel-test: wheels java
	$(MAKE) wheel-venv
	$(VENV)-wheel/bin/python -m pytest $(ARGS)

# The wheel that is there, in an environment of its own.
wheel-venv: $(VENV)-wheel/.tools
	$(BIN)/python $(INSTALL) --python $(VENV)-wheel/bin/python --force-reinstall --no-deps $(WHEELS)/jvmti-*x86_64.whl

## sanitize    the robustness tests on an agent with sanitizers; SANITIZE=thread for others
sanitize: install java
	JVMTI_TEST_SANITIZED=$(SANITIZE) $(BIN)/python -m pytest -n 0 tests/robustness $(ARGS)

## bench       the figures of benchmarks/README.md; BENCH=streams for another script of there
bench: install java
	$(BIN)/python benchmarks/$(BENCH).py $(ARGS)

## install     build into .venv, sources linked: what the targets above start with
#
# The libraries go to src/jvmti/_native, where the linked package looks for them, with a
# note of the Python that it is linked to; only what changed is built again. A failing build says so in the compiler's words.
# A library that changed is a new file: a JVM that has loaded the one before goes on with that.
install: $(VENV)/.installed
	@mkdir -p build; flock build/.lock sh -ec ' \
	    test -f $(BUILD)/build.ninja || $(BIN)/cmake -G Ninja -S native -B $(BUILD) \
	        -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" \
	        -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" $(NATIVE_ARGS) >build/native.log 2>&1 \
	        || { cat build/native.log; rm -rf $(BUILD); exit 1; }; \
	    $(BIN)/cmake --build $(BUILD) >build/native.log 2>&1 || { cat build/native.log; exit 1; }; \
	    $(BIN)/cmake --install $(BUILD) --prefix $(BUILD)/installed >build/native.log; \
	    cp -au --remove-destination $(BUILD)/installed/. src; \
	    echo "$(CURDIR)/$(BIN)/python" >src/jvmti/_native/python'

## checked     the agent that checks its locks, and whose memory runs out on request, for tests
checked: install
	@mkdir -p $(CHECKED)
	@flock $(CHECKED)/.lock sh -ec ' \
	    $(BIN)/cmake -G Ninja -S native -B $(CHECKED) -DJVMTI_CHECK_LOCKS=ON -DJVMTI_FAIL_ALLOCATIONS=ON \
	        -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 -DJVMTI_PRECOMPILE=ON -DJVMTI_TOGETHER=ON \
	        -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" \
	        -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" >$(CHECKED)/build.log 2>&1 && \
	    $(BIN)/cmake --build $(CHECKED) --target jvmti_agent >>$(CHECKED)/build.log 2>&1 \
	        || { cat $(CHECKED)/build.log; exit 1; }'

## java        the JVMs and Java compilers of the tests, into .jvms
java: $(JAVA)/.complete

## clean       remove what builds left; distclean: the environments and JVMs too
clean:
	rm -rf build dist $(WHEELS) .mypy_cache .pytest_cache .ruff_cache

distclean: clean
	rm -rf $(VENV) $(VENV)-release $(VENV)-wheel $(JAVA)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(@D)/..

# The first environment fills these.
$(VENV)-release/bin/python $(VENV)-wheel/bin/python: | $(VENV)/bin/python
	$(PYTHON) -m venv --without-pip $(@D)/..

$(VENV)/.tools: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) --group build --group test --group check
	@touch $@

$(VENV)/.tidy: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) --group tidy
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) --group demo
	@touch $@

# Its package is built here; to compress its 450 MB takes half of the time.
$(VENV)/.spark: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) --config-settings=--build-option=--compression=stored --group spark
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) --group docs
	@touch $@

# An older Node.js cannot run what packs the extension.
$(VENV)/.editors: pyproject.toml | $(VENV)/bin/python
	@node -e 'process.exit(parseInt(process.versions.node) < 20)' 2>/dev/null && npm --version >/dev/null || \
	    $(BIN)/python $(INSTALL) --group editors
	@touch $@

$(VENV)-release/.tools: pyproject.toml | $(VENV)-release/bin/python
	$(BIN)/python $(INSTALL) --python $(VENV)-release/bin/python --group build --group release
	@touch $@

# What the tests need is in the other environment; a path to that, behind the place of the wheel, does
# not bring the linked package along.
$(VENV)-wheel/.tools: $(VENV)/.installed | $(VENV)-wheel/bin/python
	@packages='import sysconfig; print(sysconfig.get_path("purelib"))'; \
	    $(BIN)/python -c "$$packages" >"$$($(VENV)-wheel/bin/python -c "$$packages")/tests.pth"
	@for tool in cmake ninja; do ln -sf "$(CURDIR)/$(BIN)/$$tool" $(VENV)-wheel/bin/; done
	@touch $@

# What is linked is a list of modules, in which a module that has become a package is wrong.
$(VENV)/.installed: pyproject.toml $(VENV)/.tools $(PACKAGES)
	@mkdir -p build
	flock build/.lock $(BIN)/python $(INSTALL) --no-build-isolation \
	    --config-settings=wheel.cmake=false --editable '.[jdk]'
	@touch $@

# The script makes the target itself, once nothing is missing any more.
$(JAVA)/.complete: scripts/install_java.py | $(VENV)/bin/python
	@mkdir -p build
	flock build/.java-lock $(BIN)/python scripts/install_java.py $(JAVA)
