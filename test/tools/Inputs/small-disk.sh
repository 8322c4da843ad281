#!/bin/sh
# Runs a command with a file system of its own at a folder, in a mount namespace
# that ends with it: small-disk.sh SIZE FOLDER COMMAND...
set -e
size=$1
folder=$2
shift 2
mkdir -p "$folder"
mount -t tmpfs -o "size=$size" small-disk "$folder"
exec "$@"
