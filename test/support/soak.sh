#!/usr/bin/env bash
# soak.sh [ROUNDS]: the long form of what CI runs once or briefly, for a quiet machine and a night: the guest's
# frame parser fuzzed for ROUNDS times 5 minutes, its tests with the race detector ROUNDS times 5 times, and the
# suites on docker and with dying workers ROUNDS times. 10 rounds (about 3 hours on two cores) unless it is said.
# It needs Go 1.24 on PATH, a Docker engine and the base image, and ends at the first failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-10}
export HOLDFAST_TEST_DOCKER=required

npm run --silent build:guest
npm run --silent build
for round in $(seq "$rounds"); do
  printf '\n== round %s of %s\n' "$round" "$rounds"
  go -C guest test -run '^$' -fuzz FuzzReader -fuzztime 5m ./internal/frame
  go -C guest test -race -count 5 ./...
  npx vitest run test/providers/docker test/exec test/sessions test/client
done
echo "soak: $rounds rounds without a failure"
