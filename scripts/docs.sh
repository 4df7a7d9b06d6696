#!/usr/bin/env bash
# Makes build-docs/, the pages of docs/ as a site with a search; fails where an option, a variable, an exit code or an
# operator has no entry, an example of the reference does not run, or a link leads nowhere.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

PYTHONPATH=python "$ONNXC_TEST_VENV/bin/python" -m pytest -q tests/docs --slow
"$ONNXC_DOCS_VENV/bin/mkdocs" build --strict -q --clean
printf 'wrote build-docs/index.html\n'
