#!/bin/sh
# The catalogue's verdicts, asserted exactly.
exec "${SIMRUN:-build/simrun}" catalogue
