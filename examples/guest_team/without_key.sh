#!/bin/sh
# Play the contest without a key: the tests' stand-in for a model answers. It copies sentences and knows nothing.
set -eu
port=${1:-8123}
python tests/fakes/vendors.py --port "$port" >/dev/null &
trap 'kill $!' EXIT
export OPENAI_BASE_URL="http://127.0.0.1:$port/v1" OPENAI_API_KEY=none
curl -s --retry 30 --retry-connrefused --retry-delay 1 -o /dev/null "$OPENAI_BASE_URL/models"
contend run "Why were crossings of the Skarv cancelled in winter?" --docs demo/documents --source local \
	--team mine,skeptic --no-learn --workspace examples/guest_team
