# Builds, tries and tests deadheat on a fresh Debian 12 with Rust. What is missing is installed with
# apt-get when root, else named; each step says what it runs.

CARGO ?= cargo
PREFIX ?= /usr/local
XTASK = $(CARGO) xtask

.PHONY: all demo test test-full install bench clean

all:
	$(XTASK) deps
	$(XTASK) build

# A small bank whose books balance in nearly every ordinary run, and a run in which they do not.
demo: all
	@mkdir -p target
	dist/bin/deadheat cc -g -O1 -pthread examples/bank.c -o target/bank
	@for run in 1 2 3 4 5 6 7 8 9 10; do \
	  target/bank || echo "(this ordinary run met the bug by chance)"; done
	@echo "--- ten ordinary runs. Now: deadheat hunt -- target/bank"
	@dist/bin/deadheat hunt -- target/bank; status=$$?; \
	  if [ $$status -ne 1 ]; then echo "demo: expected a proven race (exit status 1), got $$status"; exit 1; fi

# Everything at one optimisation level and with few seeds, a fixed third of it at the others.
test: all
	$(CARGO) test --workspace --exclude deadheat-runtime
	$(XTASK) cases

test-full: all
	$(CARGO) test --workspace --exclude deadheat-runtime
	$(XTASK) cases --full

install: all
	$(XTASK) install $(PREFIX)

bench: all
	$(XTASK) bench

clean:
	$(CARGO) clean
	rm -rf dist
