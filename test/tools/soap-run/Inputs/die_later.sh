#!/bin/sh
# Runs COMMAND; the process of this rank is killed after so many seconds.
#
# usage: die_later.sh RANK SECONDS COMMAND...
if [ "$OMPI_COMM_WORLD_RANK" = "$1" ]; then
  (sleep "$2"; kill -KILL $$) &
fi
shift 2
exec "$@"
