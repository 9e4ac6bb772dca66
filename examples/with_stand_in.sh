#!/bin/sh
# Run a command without a key: the stand-in for a model of contend's tests answers. It copies sentences.
# sh examples/with_stand_in.sh python examples/own_source/main.py
set -eu
answers=$(mktemp)
python tests/fakes/vendors.py --port 0 >"$answers" &
trap 'kill $!; rm -f "$answers"' EXIT
until grep -q READY "$answers"; do sleep 0.1; done
export OPENAI_BASE_URL="http://127.0.0.1:$(sed -n 's/^READY //p' "$answers")/v1" OPENAI_API_KEY=none
"$@"
