#!/bin/sh
# Starts a Docker engine for tests on a machine without systemd. Does nothing when one answers already.
# The pid goes to $DOCKERD_PIDFILE (default /tmp/dockerd.pid); docker-stop.sh ends exactly that one.
set -eu
pid_file=${DOCKERD_PIDFILE:-/tmp/dockerd.pid}
log_file=${DOCKERD_LOG:-/tmp/dockerd.log}

if docker version >/dev/null 2>&1; then
  echo "docker: an engine answers already"
  exit 0
fi

setsid dockerd >"$log_file" 2>&1 </dev/null &
echo $! >"$pid_file"

# A cold engine needs its containerd, iptables and storage driver; 60 s is far beyond what was ever seen.
attempt=0
until docker version >/dev/null 2>&1; do
  attempt=$((attempt + 1))
  if [ "$attempt" -ge 120 ] || ! kill -0 "$(cat "$pid_file")" 2>/dev/null; then
    echo "docker: the engine did not come up; the end of $log_file:" >&2
    tail -n 20 "$log_file" >&2
    exit 1
  fi
  sleep 0.5
done
echo "docker: engine started, pid $(cat "$pid_file"), log $log_file"
