#!/bin/sh
# Play the recorded contest over the HTTP API, follow its events, and print its scores and its report.
set -eu
server=${1:-http://127.0.0.1:2024}

id=$(curl -fsS -X POST "$server/research/demo" | sed 's/.*"research_id": *"\([^"]*\)".*/\1/')
echo "Research $id"

# Server-sent events, one for each step; the stream ends with the run.
curl -fsSN "$server/research/$id/events" | sed -n 's/^event: //p' | sort | uniq -c

echo "Rank, team, round, score:"
curl -fsS "$server/research/$id/report?format=csv" | tail -n +2 | cut -d , -f 1,3-5
echo "Report:"
curl -fsS "$server/research/$id/report?format=md" | sed '/^## Key Findings/,$d'
