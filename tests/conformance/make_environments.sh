#!/usr/bin/env bash
# Environments with the frameworks whose own code the conformance tests let train, under FOLDER:
#
#     tests/conformance/make_environments.sh FOLDER >frameworks.env && . ./frameworks.env
#     pytest -m conformance
#
# Prints an `export` for each that is there in the end. What cannot be had (no package index, too slow: LIMIT
# seconds per installation) is left out with a line, and its tests are skipped.
set -uo pipefail
folder=$(mkdir -p "${1:?a folder}" && cd "$1" && pwd)
python=${PYTHON:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

# make NAME VARIABLE PACKAGE...: a virtual environment that has them
make() {
    local name=$1 variable=$2 log=$folder/$1.log
    shift 2
    if [ ! -x "$folder/$name/bin/python" ]; then
        "$python" -m venv "$folder/$name" >&2 || return 1
    fi
    # an older release stands on the packages of the current one, torch above all, and brings its own of the rest
    if [ "$name" != trl ]; then
        "$folder/trl/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
            >"$("$folder/$name/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/current.pth"
    fi
    local code=0 why
    timeout "${LIMIT:-600}" "$folder/$name/bin/python" -m pip install -qq "$@" >"$log" 2>&1 || code=$?
    if [ "$code" != 0 ]; then
        [ "$code" = 124 ] && why="more than ${LIMIT:-600} s" || why=$(tail -n 1 "$log")
        echo "no environment $name, its tests are skipped: $why" >&2
        return 1
    fi
    printf 'export %s=%q\n' "$variable" "$folder/$name/bin/python"
}

torch='torch==2.13.0'
make trl ROLLPROF_TRL_PYTHON "$torch" trl==1.16.0 transformers==5.24.0 pandas pyarrow rich \
    tensorboard wandb trackio mlflow-skinny swanlab &&
    make trl_old ROLLPROF_TRL_OLD_PYTHON "$torch" trl==0.19.1 transformers==4.55.4 rich \
        tensorboard wandb==0.19.11 mlflow-skinny==2.22.1
exit 0
