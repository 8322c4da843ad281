#!/bin/bash
# What mpirun starts daemons with in place of ssh: runs them on this machine, in
# a namespace in which it has the name of the host that is asked for.
#
# usage: fake_host.sh [-OPTION]... HOST COMMAND...
while [[ $1 == -* ]]; do shift; done
export FAKE_HOST=$1
shift
export FAKE_COMMAND="$*"
exec unshare --uts bash -c 'hostname "$FAKE_HOST"; exec bash -c "$FAKE_COMMAND"'
