#!/bin/sh
# Runs COMMAND; the process of this rank is killed a second after it has loaded
# the compiled model FILE.
#
# usage: die_later.sh RANK FILE COMMAND...
if [ "$OMPI_COMM_WORLD_RANK" = "$1" ]; then
  (until grep -qF "$2" /proc/$$/maps; do sleep 0.1; done
   sleep 1
   kill -KILL $$) &
fi
shift 2
exec "$@"
