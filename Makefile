# Two commands matter: `make lab` opens the notebooks, `make test` checks them and the package. Both set up what they need.
.DEFAULT_GOAL := help
.PHONY: help install lab app class test fast slow test-all elsewhere lowest lint style types notebooks answers student teacher slides cards site docs manual api seeds overview bench newest clean

unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes: compiled modules are kept

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SCRIPTS := $(wildcard toolkit/survey/static/*.js toolkit/show/widgets/static/*.js toolkit/teaching/explorers/static/*.js)
FIRST := notebooks/00_start_here.ipynb
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)  # in a container one often is root, and Jupyter asks to be told

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(READY)  ## set up .venv (done by itself where needed)

$(READY): pyproject.toml constraints.txt .make/install.sh
	@sh .make/install.sh $(VENV)
	@touch $@

$(VENV)/.spark: $(READY)
	@sh .make/install.sh $(VENV) pyspark
	@touch $@

lab: $(READY)  ## open JupyterLab on the first notebook
	@JUPYTER_CONFIG_PATH=$(CURDIR)/.make/jupyter $(BIN)/jupyter lab --LabApp.default_url=/lab/tree/$(FIRST) $(AS_ROOT) $(LAB_OPTIONS)

app: $(READY)  ## notebook 06 as a page without code
	@$(BIN)/voila notebooks/06_privacy_accuracy_sample_size.ipynb $(APP_OPTIONS)

class: $(READY)  ## open the notebook for a class that answers on its phones
	@CLASS=live JUPYTER_CONFIG_PATH=$(CURDIR)/.make/jupyter $(BIN)/jupyter lab --LabApp.default_url=/lab/tree/notebooks/15_a_class_answers.ipynb $(AS_ROOT) $(LAB_OPTIONS)

# T=tests/budget runs a part, without the notebooks. Databases and browsers write into memory where the machine has two gigabytes for it.
MEMORY := $(shell [ "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 2000000 ] 2>/dev/null && echo TMPDIR=/dev/shm)
# `exec` lets a signal that ends `make` reach pytest, which then stops the programs that it started.
PYTEST := exec env $(MEMORY) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile
NOTEBOOKS := $(PYTEST) --nbval notebooks

test: $(READY)  ## style, types, fast tests, doctests, notebooks, one test of every external program; T=tests/budget for a part
	@$(MAKE) --no-print-directory style
	@$(MAKE) --no-print-directory -j 2 types fast
	@test -n "$(T)" || $(NOTEBOOKS)

fast: $(READY)
	@$(PYTEST) -m "not slow" $(T)

slow: $(READY) $(VENV)/.spark  ## the tests that `make test` leaves out: all browser tests, kills, databases, Spark, R, LibreOffice
	@$(PYTEST) -m slow $(T)

test-all: test slow elsewhere  ## everything

# Tests and saved outputs hold on every processor. The oldest kernels of OpenBLAS and NumPy compute here, and .make/rounding moves the
# toolkit's results by one unit in the last place. Then .make/ties sorts equal values in random order, without the optional packages.
ELSEWHERE = ROUNDING=$(or $(SEED),1) PYTHONPATH=$(CURDIR)/.make/rounding \
	OPENBLAS_CORETYPE=$(or $(CORE),Prescott) NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python .make/features.py)"

elsewhere: $(READY)  ## tests and notebooks as on another processor; SEED=2, T=tests/budget for a part
	@$(ELSEWHERE) $(PYTEST) -m "not browser and not postgres and not spark" $(T)
	@test -n "$(T)" || $(ELSEWHERE) $(NOTEBOOKS)
	@test -n "$(T)" || PYTHONPATH=$(CURDIR)/.make/ties $(NOTEBOOKS)

lowest: .venv-lowest/.ready  ## the fast tests on the lowest versions that pyproject.toml allows
	@$(subst $(VENV)/,.venv-lowest/,$(PYTEST)) -m "not slow" $(T)

.venv-lowest/.ready: pyproject.toml .make/install.sh
	@VERSIONS=--resolution=lowest-direct sh .make/install.sh .venv-lowest
	@touch $@

newest: .venv-newest/.ready  ## the fast tests on the newest versions
	@$(subst $(VENV)/,.venv-newest/,$(PYTEST)) -m "not slow" $(T)

.venv-newest/.ready: pyproject.toml .make/install.sh
	@VERSIONS=--upgrade sh .make/install.sh .venv-newest
	@touch $@

lint: style types  ## style, spelling and types

style: $(READY) $(VENV)/.scripts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python .make/prose.py

types: $(READY)
	@$(BIN)/mypy

$(VENV)/.scripts: $(READY) $(SCRIPTS)
	@if command -v node >/dev/null; then for file in $(SCRIPTS); do node --input-type=module --check < $$file || exit 1; done; touch $@; \
		else echo "node is not installed: JavaScript was not checked"; fi

overview: $(READY)  ## list all files with their first sentences, and draw the flow charts of ARCHITECTURE.md
	@$(BIN)/python .make/flows.py
	@$(BIN)/python .make/overview.py

notebooks: $(READY)  ## run all notebooks and save their outputs
	@$(BIN)/python .make/freeze.py notebooks/*.ipynb

answers: $(READY)  ## seal notebooks/teaching/answers.toml for the checks of the exercises
	@$(BIN)/python .make/answers.py

# The environment may have a variable LANGUAGE for other programs; only that of the command line counts.
IN_LANGUAGE := $(if $(filter command%,$(origin LANGUAGE)),$(LANGUAGE),en)

student: $(READY)  ## copies of the notebooks without solutions, DIR=where, LANGUAGE=de or es
	@$(BIN)/toolkit notebooks --student --language $(IN_LANGUAGE) "$(or $(DIR),$(error DIR must say where: make student DIR=class))"

teacher: $(READY)  ## copies of the notebooks with solutions and the key, slides, cards and exams, DIR=where, LANGUAGE=de or es
	@$(BIN)/toolkit notebooks --teacher --language $(IN_LANGUAGE) "$(or $(DIR),$(error DIR must say where: make teacher DIR=class))"
	@$(BIN)/python .make/slides.py "$(DIR)/slides"
	@$(BIN)/python .make/cards.py "$(DIR)/cards"
	@$(BIN)/python .make/exams.py "$(DIR)/exams"

slides: $(READY)  ## slides made from the notebooks, DIR=where
	@$(BIN)/python .make/slides.py "$(or $(DIR),$(error DIR must say where: make slides DIR=class))"

cards: $(READY)  ## cards to print for a class without phones, DIR=where, QUESTION="…"
	@$(BIN)/python .make/cards.py "$(or $(DIR),$(error DIR must say where: make cards DIR=class))" $(if $(QUESTION),"$(QUESTION)")

site: $(READY)  ## the course as a static site (JupyterLite with the wheel), DIR=where, COPY=student without solutions, LANGUAGE=de or es
	@$(BIN)/python .make/site.py "$(or $(DIR),$(error DIR must say where: make site DIR=public))" "$(COPY)" $(IN_LANGUAGE)

# Nothing is fetched from the network, and every link is checked. Only pages that changed are built again.
docs: $(READY)  ## the documentation as a site, in build/docs/html
	@$(BIN)/python -m sphinx -W --keep-going -q -j 2 -c docs -d build/docs/doctrees . build/docs/html
	@$(BIN)/python .make/links.py build/docs/html
	@echo "open build/docs/html/index.html"

manual: $(READY)  ## the documentation as a PDF, in build/docs/manual.pdf; needs Chromium
	@$(BIN)/python -m sphinx -W --keep-going -q -b singlehtml -c docs -d build/docs/doctrees . build/docs/single
	@PYTHONPATH=. $(BIN)/python .make/manual.py build/docs/single build/docs/manual.pdf
	@echo "open build/docs/manual.pdf"

api: $(READY)  ## update tests/api.txt after a deliberate change of public names
	@PYTHONPATH=.make $(BIN)/python .make/api.py

seeds: $(READY)  ## which asserts of the notebooks depend on their seeds; takes an hour
	@$(BIN)/python .make/seeds.py

bench: $(READY)  ## run the benchmarks; results are ratios within one run
	@for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

clean:  ## remove everything that make created
	@rm -rf $(VENV) .venv-lowest .venv-newest .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
