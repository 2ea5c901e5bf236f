#!/usr/bin/env python3
"""make coverage: which lines and branches of each room the tests execute, counted by gcov.

  coverage.py BUILD [--files]    BUILD: a build with --coverage whose tests have run; --files: each source, too
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys


def counts_of(data):
    """Lines and branches, all and executed, of the one source that this object was made of."""
    told = subprocess.run(['gcov', '--json-format', '--branch-probabilities', '--stdout', data], capture_output=True, text=True)
    source = os.path.relpath(data, OBJECTS)[:-len('.gcda')] + '.c'
    lines, branches = {}, []
    for text in told.stdout.splitlines():
        for file in json.loads(text)['files']:
            if os.path.normpath(file['file']) != source:
                continue
            for line in file['lines']:
                number = line['line_number']
                lines[number] = lines.get(number, 0) + line['count']
                branches += [branch['count'] for branch in line['branches'] if not branch['throw']]
    return source, (len(lines), sum(n > 0 for n in lines.values()), len(branches), sum(n > 0 for n in branches))


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def show(name, counts):
    lines, lines_run, branches, branches_run = counts
    print('%-44s %6d %6.1f %% %7d %6.1f %%' % (name, lines, percent(lines_run, lines), branches, percent(branches_run, branches)))


OBJECTS = os.path.join(sys.argv[1], 'obj')
found = [os.path.join(folder, name) for folder, _, names in os.walk(OBJECTS) for name in names if name.endswith('.gcda')]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    of_source = {source: counts for source, counts in pool.map(counts_of, found) if not source.startswith('tests/')}
rooms = collections.defaultdict(lambda: [0, 0, 0, 0])
for source, counts in of_source.items():
    for i, count in enumerate(counts):
        rooms[os.path.dirname(source)][i] += count
        rooms['all'][i] += count
print('%-44s %6s %8s %7s %8s' % ('', 'lines', 'executed', 'branches', 'taken'))
for room in sorted(rooms, key=lambda name: (name == 'all', name)):
    show(room, rooms[room])
    for source in sorted(of_source) if '--files' in sys.argv else []:
        if os.path.dirname(source) == room:
            show('  ' + os.path.basename(source), of_source[source])
if 'all' not in rooms:
    sys.exit('coverage: nothing was counted in ' + OBJECTS)
