#!/bin/sh
# Ends the engine that docker-start.sh started, and waits for it and its containerd: a new engine that meets
# the old containerd fails to start.
set -eu
pid_file=${DOCKERD_PIDFILE:-/tmp/dockerd.pid}
[ -s "$pid_file" ] || { echo "docker: no engine of ours ($pid_file is missing)"; exit 0; }
pid=$(cat "$pid_file")
children=$(ps -o pid= --ppid "$pid" 2>/dev/null || true)
kill "$pid" 2>/dev/null || true
attempt=0
for process in $pid $children; do
  while kill -0 "$process" 2>/dev/null; do
    attempt=$((attempt + 1))
    [ "$attempt" -lt 120 ] || { echo "docker: process $process is still there" >&2; exit 1; }
    sleep 0.5
  done
done
rm -f "$pid_file"
echo "docker: engine stopped"
