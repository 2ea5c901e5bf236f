#!/usr/bin/env python3
"""make mutate: changes the sources in thousands of small ways, and asks the tests whether they notice.

All mutants of a file are compiled into one copy of the tree (sources.py, mutant.h), which stays for the next time: only what changed is
compiled again, through ccache where that is. Every test runs once to see which mutants it reaches (not again before it or the product
changes); then each mutant runs against the tests that reach it, until one fails: programs of the same room, or named after the file or its folder, first, then the others, the quickest
first; where none of these notices, one scenario of the catalogue after the other (what tests/cli/catalogue.t asks: verdicts, the words of
findings, hashes of traces), and the scripts of --scripts. A test that hangs or grows without end has failed. Printed are the survivors, and in
which functions they are; a mutant that changes nothing anybody could see is listed in equivalent.txt with the reason.

A test that fails with no mutant alive is asked twice more, alone. One that passes then is not the same twice, and is not asked about
mutants. One that fails three times in a tree that stayed is asked again in a new one; what it said is printed, and kept in build/mutate/said.
It is an error, but for those of FAIL_HERE, and for one test of twenty where only a sample is asked for.

The tree is a copy of the sources as they were at one moment: where they are edited while they are copied, they are copied once more. One run
at a time works in it, and where a build was killed, all is compiled anew.

A program that is too dear (--dear) and whose cases can be asked in parts (SIMRUN_PART, tests/dice.h) is asked in some of its parts, in
more where they are cheap. A part
that fails with no mutant alive is not asked: some say something about all cases together.

Changes somebody thought of can be tried beside those that are generated: a file of lines FILE | EXPRESSION | INSTEAD | WHAT IT IS
(holes.txt). All tests are asked then.

What a run with little effort left can be asked once more with more: of a list that a run wrote, those that it did not see killed.

  run.py [--sample N] [--picks N] [--seed N] [--only PATTERN] [--tests PATTERN] [--scripts PATTERN] [--bar PERCENT] [--dear SECONDS] [--effort SECONDS]
         [--jobs N] [--list FILE] [--again FILE] [--by-hand FILE] [--count]
"""

import argparse
import collections
import concurrent.futures
import copy
import fcntl
import functools
import glob
import hashlib
import json
import os
import pickle
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sources  # noqa: E402

HERE = 'tests/mutate'
BUILD = 'build/mutate'
TREE = BUILD + '/tree'
ROOMS = re.compile(r'^(sim|checker|traces|recorder|verdict|collectives/(gradcheck|tape|operations|arithmetic|experiment|windows))/')
# Not asked: the stub outside programs link with, what stands in for another MPI or is called from Fortran, what runs in place of their
# libc and loader, and what shows progress to people.
LEFT_OUT = re.compile(r'libmpi_abi|^sim/(libc|programs|compile|elf|shims|fortran)/|progress|preload')
# Not asked: what looks at the sources themselves, and two that fail in a tree of mutants with none alive.
FAIL_HERE = re.compile(r'^tests/(house|hostile)/|/test_loader$')
MEMORY_MAX = 2 << 30
PAGE = os.sysconf('SC_PAGE_SIZE')
CCACHE = '/usr/lib/ccache' # compilers' names that go through it
ROUND = 256
AGAIN_MOST = 5
FAILING_MOST = 0.05 # of the tests, where only a sample is asked for
PARTS, PARTS_ASKED = 32, 6 # of a test that is too dear
PART_CHEAP = 0.2           # seconds: where none of them takes more, every second one is asked, too


@functools.lru_cache(None)
def text_of(path):
    """A source as it was when it was first asked for: who edits it edits it for the next time."""
    with open(path) as file:
        return file.read()


def clean_environment(**more):
    """make's own variables are not for the makes and the tests below it; teams of threads that spin would take the others' time."""
    environment = dict(os.environ, OMP_WAIT_POLICY='passive', **more)
    for name in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL'):
        environment.pop(name, None)
    return environment


def sources_now():
    """All files that are copied, and when each was last written."""
    listed = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], capture_output=True, text=True, check=True)
    return {path: written_at(path) for path in listed.stdout.split('\n') if path and os.path.isfile(path)}


def written_at(path):
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def once_more(why):
    times = int(os.environ.get('MUTATE_AGAIN', '0')) + 1
    if times > AGAIN_MOST:
        sys.exit('mutate: ' + why)
    os.environ['MUTATE_AGAIN'] = str(times)
    print('# once more: ' + why, flush=True)
    os.execv(sys.executable, [sys.executable] + sys.argv)


class Lock:
    """One run at a time in a tree. What a killed run left compiling holds the lock until it has ended."""

    def __init__(self):
        os.makedirs(BUILD, exist_ok=True)
        self.file, self.begun = open(TREE + '.lock', 'w'), TREE + '.begun' # while it compiles
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print('# waits for another run in this tree', flush=True)
            fcntl.flock(self.file, fcntl.LOCK_EX)
        if os.path.exists(self.begun):
            shutil.rmtree(TREE, ignore_errors=True)
        self.kept = os.path.exists(TREE + '/mutated')

    def begin(self):
        with open(self.begun, 'w'):
            pass

    def end(self):
        os.remove(self.begun)


def files_to_mutate():
    found = []
    for path in subprocess.run(['git', 'ls-files', '*.c'], capture_output=True, text=True, check=True).stdout.split():
        if ROOMS.match(path) and not LEFT_OUT.search(path):
            found.append(path)
    return found


def functions_left_out():
    """FILE | FUNCTION | REASON, by file."""
    left_out = {}
    for line in open(HERE + '/left_out.txt'):
        if line.startswith('#') or not line.strip():
            continue
        path, function, reason = line.rstrip('\n').split(' | ')
        left_out.setdefault(path, {})[function] = reason
    return left_out


# ---- the tree with all mutants ----

class Build:
    """All mutants there could be are numbered, file by file; those to keep are compiled."""

    def __init__(self):
        self.listed, self.lock = sources_now(), None
        self.paths, self.base, self.total = files_to_mutate(), {}, 0
        self.banned = {path: set() for path in self.paths}
        self.left_out, self.stale, self.by_hand = functions_left_out(), [], {}
        self.stale += ['%s/left_out.txt: there is no source %s' % (HERE, path) for path in self.left_out if path not in self.paths]
        self.rows = []
        for path in self.paths:
            self.base[path] = self.total
            rows = self.mutate(path)[0]
            last = max((row[0] for row in rows), default=self.total)
            self.total += (last - self.total + 2 * ROUND) // ROUND * ROUND # a file that grows leaves the numbers of the others
            self.rows += [(row[0], path) + row[1:] for row in rows]

    def mutate(self, path):
        counter = [self.base[path]]

        def next_number():
            counter[0] += 1
            return counter[0]
        mutants = sources.Mutants(text_of(path), next_number, self.banned[path], self.left_out.get(path, {}))
        text = mutants.rewrite()
        self.stale += [line for line in ('%s/left_out.txt: %s has no function %s' % (HERE, path, name)
                                         for name in self.left_out.get(path, {}) if name not in mutants.functions) if line not in self.stale]
        return mutants.rows, text

    def change_by_hand(self, changes):
        """Only these: (path or path:function, expression, instead, what it is). One that is not there just once is an error."""
        self.rows, self.total = [], 0
        for place, was, now, what in changes:
            path, _, function = place.partition(':')
            text = text_of(path)
            body = re.search(r'^\w[^;={}]*\b%s\([^;{}]*\)\n{.*?^}' % function, text, re.M | re.S) if function else re.search('.*', text, re.S)
            if not body or body.group().count(was) != 1:
                self.stale.append('%s has %d times: %s' % (place, body.group().count(was) if body else 0, was))
                continue
            self.total += 1
            at = body.start() + body.group().index(was)
            self.rows.append((self.total, path, text[:at].count('\n') + 1, was, '%s (%s)' % (now, what)))
            self.by_hand.setdefault(path, []).append((at, self.total, was, now))
        self.paths = list(self.by_hand)
        self.banned = {path: set() for path in self.paths}

    def written_by_hand(self, path):
        text = text_of(path)
        for at, number, was, now in sorted(self.by_hand[path], reverse=True):
            lives = 'mutant_lives(%d)' % number
            new = '{ if (%s) { %s } else { %s } }' % (lives, now, was) if was.endswith(';') else '(%s ? (%s) : (%s))' % (lives, now, was)
            text = text[:at] + new.replace('\n', ' ') + '\n' * was.count('\n') + text[at + len(was):]
        return text

    def keep_only(self, rows):
        """The files of these are changed, and those that are already."""
        wanted = {row[1] for row in rows}
        self.rows, kept = [], {}
        if os.path.exists(TREE + '/mutated'):
            with open(TREE + '/mutated') as file:
                kept = json.load(file)
        self.paths = [path for path in self.paths if path in wanted or path in kept]
        for path in self.paths:
            if kept.get(path, [''])[0] == self.digest(path):
                self.banned[path].update(kept[path][1])

    def keep_tree(self):
        """What is changed in the tree, and which lines were not."""
        with open(TREE + '/mutated', 'w') as file:
            json.dump({path: (self.digest(path), sorted(self.banned[path])) for path in self.paths}, file)

    @staticmethod
    def digest(path):
        return hashlib.sha1(text_of(path).encode()).hexdigest()

    def copy_objects(self):
        """What has no mutants need not be compiled again where the plain build lies beside."""
        for part in ('obj', 'gen', 'lib', 'include'):
            if os.path.isdir('build/' + part) and not os.path.isdir('%s/build/%s' % (TREE, part)):
                shutil.copytree('build/' + part, '%s/build/%s' % (TREE, part), symlinks=True)

    def copy_tree(self):
        for path in self.listed:
            if path not in self.paths and os.path.isfile(path):
                copy_if_changed(path, os.path.join(TREE, path))
        for folder, folders, names in os.walk(TREE):
            folders[:] = [f for f in folders if os.path.join(folder, f) != TREE + '/build']
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), TREE)
                if path not in self.listed and path not in ('traces/base/mutant.c', 'traces/base/mutant.h', 'mutated'):
                    os.remove(os.path.join(folder, name))
        copy_if_changed(HERE + '/mutant.c', TREE + '/traces/base/mutant.c')
        copy_if_changed(HERE + '/mutant.h', TREE + '/traces/base/mutant.h')
        if any(written_at(path) != time for path, time in self.listed.items()):
            once_more('the sources were edited while they were copied')

    def write(self, paths):
        for path in paths:
            if self.by_hand:
                text = self.written_by_hand(path)
            else:
                rows, text = self.mutate(path)
                self.rows = [row for row in self.rows if row[1] != path]
                self.rows += [(row[0], path) + row[1:] for row in rows]
            write_if_changed(os.path.join(TREE, path), '#include "%s/mutant.h"\n#line 1 "%s"\n%s' % (HERE, path, text))

    def make(self, programs):
        self.lock.begin()
        good = self.compile(programs)
        self.lock.end()
        return good

    def compile(self, programs):
        """Lines that the compiler refuses are left without mutants. Half an object may lie there, copied while the plain build wrote it."""
        todo, environment, anew = self.paths, clean_environment(), False
        if os.path.isdir(CCACHE):
            environment['PATH'] = CCACHE + ':' + environment['PATH']
        for _ in range(8):
            self.write(todo)
            done = subprocess.run(['make', '-k', '-s', '-C', TREE, '-j%d' % os.cpu_count(), 'CFLAGS=-O1 -g1 -ftrivial-auto-var-init=pattern',
                                   'WARNINGS=-w', 'all', *programs], capture_output=True, text=True, env=environment,
                                  pass_fds=[self.lock.file.fileno()])
            if done.returncode == 0:
                self.rows.sort()
                self.keep_tree()
                return True
            todo = set()
            for path, line in re.findall(r'^([\w./]+):(\d+):\d+: (?:(?:fatal )?error:|note: in expansion)', done.stderr, re.M):
                if path in self.banned and int(line) not in self.banned[path] and not self.by_hand:
                    self.banned[path].update(range(int(line) - 1, int(line) + 1))
                    todo.add(path)
            if not todo and not anew:
                print('# does not build: all is compiled anew', flush=True)
                shutil.rmtree(TREE + '/build', ignore_errors=True)
                anew = True
            elif not todo:
                print(done.stderr[-3000:])
                return False
        return False


def write_if_changed(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path) as file:
            if file.read() == text:
                return
    except OSError:
        pass
    with open(path, 'w') as file:
        file.write(text)


def copy_if_changed(source, path):
    try:
        with open(source, 'rb') as one, open(path, 'rb') as other:
            if one.read() == other.read():
                return
    except OSError:
        pass
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        shutil.copy(source, path) # newer than what was compiled of the other
    else:
        shutil.copy2(source, path)


def digest_of(*paths):
    digest = hashlib.sha1()
    for path in paths:
        with open(path, 'rb') as file:
            digest.update(file.read() + b'\0')
    return digest.hexdigest()


# ---- tests ----

class Test:
    def __init__(self, path):
        self.path, self.file, self.script = path, path, path.endswith('.t')
        self.seconds, self.processor, self.reached, self.passes, self.dear = 0.0, 0.0, b'', False, False

    def command(self):
        return [os.path.join('.', self.path)] # a script's first line says what runs it

    def is_right(self, text):
        """What a script says. A program's exit status says it all."""
        return b'\nnot ok' not in text and re.search(rb'^1\.\.\d', text, re.M) is not None

    def run(self, number, wall, processor, extra=None, said_path=os.devnull):
        """True: it passed. A hang, a death and a failure are the same."""
        environment = clean_environment(MUTANT=str(number), MALLOC_PERTURB_='165', SIMRUN='build/simrun', BUILD='build', TZ='UTC',
                                        LC_ALL='C.UTF-8', SIMRUN_CACHE=os.path.abspath(TREE + '/build/cache'), **(extra or {}))

        def limits():
            os.setsid()
            os.nice(10)
            resource.setrlimit(resource.RLIMIT_CPU, (int(processor) + 1, int(processor) + 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(said_path, 'wb') as out:
            process = subprocess.Popen(self.command(), cwd=TREE, env=environment, preexec_fn=limits, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE if self.script else out, stderr=out)
        said = []
        if self.script:
            reader = threading.Thread(target=lambda: said.append(process.stdout.read()))
            reader.start()
        begin, looked, passed = time.monotonic(), 0.0, None
        pause = 0.002
        while passed is None:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                self.processor = usage.ru_utime + usage.ru_stime
                process.returncode = os.waitstatus_to_exitcode(status)
                passed, self.ended = process.returncode == 0, 'ended by %d' % process.returncode
            elif time.monotonic() - begin > wall:
                passed, self.ended = False, 'no end after %.0f s' % wall
            elif memory_of(process.pid) > MEMORY_MAX:
                passed, self.ended = False, 'more than %d MiB of memory' % (MEMORY_MAX >> 20)
            elif self.script and pause >= 0.05 and time.monotonic() - looked > 0.5:
                looked, self.processor = time.monotonic(), processor_of(process.pid)
                passed, self.ended = None if self.processor < processor else False, '%.0f s of the processor' % self.processor
            else:
                time.sleep(pause)
                pause = min(pause * 1.5, 0.05)
        self.end(process)
        if self.script:
            reader.join()
            passed = passed and self.is_right(b''.join(said))
            if said_path != os.devnull:
                with open(said_path, 'ab') as out:
                    out.write(b''.join(said))
        self.last = time.monotonic() - begin
        return passed

    @staticmethod
    def end(process):
        """The test and whatever it left behind in its own session."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if process.returncode is None:
            process.wait()

    def look(self, total, number, dear):
        """Runs with no mutant alive and notes which ones it comes by; not to its end where it takes more than `dear` seconds."""
        path = os.path.abspath('%s/reached.%d' % (BUILD, number))
        with open(path, 'wb') as file:
            file.truncate(total + 1)
        self.passes = self.run(-1, 300, dear, {'MUTANT_REACHED': path})
        self.seconds, self.dear = self.last, self.processor >= dear
        with open(path, 'rb') as file:
            self.reached = file.read()
        os.remove(path)
        return self

    def look_again(self, dear):
        """Of one that failed: True where it does not fail each time. What it said is kept where it does."""
        path = '%s/said/%s.txt' % (BUILD, self.path.replace('/', '_'))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for _ in range(2):
            passed = self.run(0, 300, dear, said_path=path)
            self.dear = self.processor >= dear
            if passed or self.dear:
                os.remove(path)
                return True
        with open(path, errors='replace') as file:
            wrong = [line for line in file.read().split('\n') if line.startswith(('not ok', '# '))]
        print('\n'.join(['# %s: %s, %.1f s, of them %.1f of the processor' % (self.path, self.ended, self.last, self.processor)] +
                        ['#   ' + line for line in wrong[:12]]), flush=True)
        return False


class Scenario(Test):
    """One scenario with all its variants, as tests/cli/catalogue.t asks it: what it found and left when nothing was changed is right."""

    def __init__(self, name):
        super().__init__('scenarios/' + name)
        self.file, self.script, self.name, self.told = self.path + '.c', True, name, None

    def command(self):
        return ['sh', '-c', 'build/simrun catalogue --findings /dev/fd/3 "$1" 3>&1 1>&2 2>/dev/null', 'sh', self.name]

    def is_right(self, text):
        self.says = re.sub(rb'^(== server-convergence:\S*).*', rb'\1', text, flags=re.M)
        return text.startswith(b'== ') and (self.told is None or self.says == self.told)

    def look(self, total, number, dear):
        super().look(total, number, dear)
        if self.passes:
            self.told = self.says
            self.passes = self.run(0, 300, dear + 1)
        return self


class Part(Test):
    """Some of the cases of a program."""

    def __init__(self, program, number):
        super().__init__('%s %d/%d' % (program, number, PARTS))
        self.file, self.part = program, '%d/%d' % (number, PARTS)

    def command(self):
        return ['env', 'SIMRUN_PART=' + self.part, os.path.join('.', self.file)]


def parts_of(tests):
    """Of each program that is too dear and whose source knows parts."""
    found = []
    for test in tests:
        source = os.path.join(TREE, test.path[len('build/'):] + '.c')
        if test.dear and os.path.isfile(source) and re.search(r'\b(dice_part|dice_seeds|dice_takes|dice_takes_of|dice_takes_group|golden_takes|checked_takes|said_open|gradients_are_right|world_test\w*)\(', text_of(source)):
            found += [Part(test.path, i * PARTS // PARTS_ASKED) for i in range(PARTS_ASKED)]
    return found


def further_parts(parts):
    """Of programs whose parts are cheap."""
    asked, dearest = {(part.file, part.part) for part in parts}, collections.Counter()
    for part in parts:
        dearest[part.file] = max(dearest[part.file], PART_CHEAP + 1 if part.dear else part.processor)
    found = [Part(path, number) for path in sorted(dearest) if dearest[path] <= PART_CHEAP for number in range(1, PARTS, 2)]
    return [part for part in found if (part.file, part.part) not in asked]


def processor_of(session):
    """Seconds of the processor that all processes of the session took."""
    ticks = 0
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open('/proc/%s/stat' % name) as file:
                    fields = file.read().rsplit(')', 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf('SC_CLK_TCK')


def memory_of(pid):
    try:
        with open('/proc/%d/statm' % pid) as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def programs_of(pattern):
    """What to build beside the product."""
    programs = ['build/' + path[:-2] for path in glob.glob('tests/*/test_*.c')]
    return [path for path in programs if re.search(pattern, path) and not FAIL_HERE.search(path)] if pattern else ['check-programs']


def find_tests(scripts, pattern):
    here = os.getcwd()
    os.chdir(TREE)
    found = ['build/' + p[:-2] for p in glob.glob('tests/*/test_*.c')]
    if scripts:
        found += {path for path in glob.glob('tests/*/*.t') if re.search(scripts, path)} - {'tests/cli/catalogue.t'}
    names = []
    for path in glob.glob('scenarios/*.c'):
        with open(path) as file:
            if 'expect:' in file.read():
                names.append(os.path.basename(path)[:-2])
    os.chdir(here)
    tests = [Test(path) for path in sorted(found) if not FAIL_HERE.search(path)] + [Scenario(name) for name in sorted(names)]
    return [test for test in tests if re.search(pattern, test.path)]


class Looks:
    """What tests reached before, kept while they and the product are the same."""

    def __init__(self, total, dear):
        self.path, self.total, self.dear, self.known, self.used = BUILD + '/looks', total, dear, {}, {}
        product = sorted(glob.glob(TREE + '/build/lib/*') + glob.glob(TREE + '/build/include/**/*.h', recursive=True))
        self.product = digest_of(TREE + '/build/simrun', *(path for path in product if os.path.isfile(path))) + str(total)
        if os.path.exists(self.path):
            with open(self.path, 'rb') as file:
                self.known = pickle.load(file)

    def look(self, number, test):
        key = (test.path, self.product, digest_of(os.path.join(TREE, test.file)))
        limit, kept = self.known.get(key, (0, {'dear': True}))
        if kept['dear'] and limit < self.dear:
            test.look(self.total, number, self.dear)
            limit, kept = self.dear, dict(vars(test))
        vars(test).update(kept, dear=kept['dear'] or kept['processor'] >= self.dear)
        if test.passes or test.dear or isinstance(test, Part):
            self.used[key] = (limit, kept)
        return test

    def keep(self):
        with open(self.path, 'wb') as file:
            pickle.dump({**{key: kept for key, kept in self.known.items() if key[1] == self.product}, **self.used}, file)


# ---- equivalents ----

def equivalents(rows):
    """What is listed: FILE | SOURCE LINE | WHAT IT WAS -> WHAT IT IS | REASON. An entry that names no mutant is an error."""
    known, stale, by_key = {}, [], {}
    texts = {}
    for row in rows:
        lines = texts.setdefault(row[1], text_of(row[1]).split('\n'))
        by_key.setdefault((row[1], lines[row[2] - 1].strip(), '%s -> %s' % (row[3], row[4])), []).append(row[0])
    for number, line in enumerate(open(HERE + '/equivalent.txt'), 1):
        parts = [part.strip() for part in line.rstrip('\n').split(' | ')]
        if line.startswith('#') or not line.strip():
            continue
        found = by_key.get(tuple(parts[:3])) if len(parts) == 4 and parts[3] else None
        if not found:
            stale.append('%s/equivalent.txt:%d: %s' % (HERE, number, line.strip()))
        known.update((n, parts[-1]) for n in found or [])
    return known, stale


# ---- the hunt ----

class Hunt:
    def __init__(self, tests, effort):
        self.tests = [test for test in tests if test.passes and not test.dear]
        self.failed_before, self.effort = {}, effort

    @staticmethod
    def sees(test, row):
        """Rows of a table are exchanged before anything runs: who looks at them is not known."""
        return row[4] == 'exchanged' or test.reached[row[0]]

    def hunt(self, row):
        """The test that noticed, '' where none did, None where none comes by."""
        tests = [t for t in self.tests if self.sees(t, row)]
        folder, stem, room = os.path.basename(os.path.dirname(row[1])), os.path.basename(row[1])[:-2], row[1].split('/')[0]
        words = (stem, folder[:-1] if folder.endswith('s') else folder) # test_collective_blocks is for sim/collectives

        def is_named(test):
            return any(word in os.path.basename(test.file) for word in words)

        def cost(test):
            return test.seconds / (1 + 4 * self.failed_before.get((row[1], test.path), 0) + is_named(test))
        tests.sort(key=lambda t: (('/%s/' % room not in '/' + t.path and not is_named(t)) + 2 * t.script, cost(t))
                   if not self.failed_before.get((row[1], t.path)) else (-1, cost(t)))
        spent = {False: 0.0, True: 0.0} # programs and scripts have the same share
        for test in tests:
            spent[test.script] += test.processor
            if spent[test.script] > self.effort and spent[test.script] > test.processor:
                continue
            clone = copy.copy(test)
            if not clone.run(row[0], 4 * test.seconds + 10, 4 * test.processor + 2):
                self.failed_before[(row[1], test.path)] = self.failed_before.get((row[1], test.path), 0) + 1
                return test.path
        return '' if tests else None


def by_hand(path):
    """FILE | EXPRESSION | INSTEAD | WHAT IT IS, where \\n stands for the end of a line and the blanks that follow."""
    with open(path) as file:
        lines = [line.rstrip('\n').split(' | ') for line in file if line.strip() and not line.startswith('#')]
    return [(name, was.replace('\\n', '\n'), now, what) for name, was, now, what in lines]


def function_at(path, line, cache={}):
    """The function around a line: the last name that a line began with."""
    if path not in cache:
        cache[path] = text_of(path).split('\n')
    for text in reversed(cache[path][:line]):
        found = re.match(r'[A-Za-z][^;={]*?(\w+)\(', text)
        if found:
            return found.group(1)
    return '(a table)'


def drawn(rows, seed, count, picks):
    """The same rows by the same seed, as far as they are still there. Where a number of picks is given, they are of so many files only: each
    pick is a file, the likelier the more mutants it has, and each gives as many rows. A row is then as likely as before."""
    texts, seen, order = {}, collections.Counter(), []
    for row in rows:
        line = texts.setdefault(row[1], text_of(row[1]).split('\n'))[row[2] - 1].strip()
        key = (row[1], line) + tuple(row[3:5])
        seen[key] += 1
        order.append((hashlib.sha1(repr((seed, seen[key]) + key).encode()).digest(), row))
    order = [row for _, row in sorted(order)]
    if not picks or picks >= count:
        return order[:count]
    left, chosen = collections.Counter(row[1] for row in order[:picks]), []
    left = {path: times * count // picks for path, times in left.items()}
    for row in order:
        if left.get(row[1], 0) > 0:
            left[row[1]] -= 1
            chosen.append(row)
    return chosen


def left_by(path):
    """What a run's list says that nothing noticed."""
    with open(path) as file:
        rows = [line.rstrip('\n').split('\t', 1) for line in file]
    return {row[1] for row in rows if row[0] in ('SURVIVED', 'UNSEEN')}


def told(row):
    return '%s:%d: %s -> %s' % row[1:5]


def main():
    options = argparse.ArgumentParser()
    options.add_argument('--sample', type=int)
    options.add_argument('--seed', type=int)
    options.add_argument('--picks', type=int, default=0, help='draw the sample from so many files, one may be drawn twice')
    options.add_argument('--only', default='')
    options.add_argument('--tests', default='', help='only those whose path has this')
    options.add_argument('--scripts', default='', help='scripts whose path has this are asked, too; . all')
    options.add_argument('--dear', type=float, default=300, help='a test that takes so many seconds of the processor is not asked')
    options.add_argument('--effort', type=float, default=1e9, help='so many seconds of tests for one mutant')
    options.add_argument('--bar', type=float, default=0)
    options.add_argument('--jobs', type=int, default=os.cpu_count())
    options.add_argument('--list', default='')
    options.add_argument('--again', default='', help='of a list that a run wrote, what it did not see killed')
    options.add_argument('--by-hand', default='', help='a file of changes, and no others')
    options.add_argument('--count', action='store_true', help='only cut the sources: how many mutants there are, and which entries are stale')
    asked = options.parse_args()
    begin = time.monotonic()
    if asked.by_hand:
        global TREE
        TREE += '_by_hand'
    build = Build()
    known, stale = equivalents(build.rows)
    if asked.by_hand:
        build.change_by_hand(by_hand(asked.by_hand))
        known = {}
    stale += build.stale
    for line in stale:
        print('stale: ' + line)
    if asked.count:
        print('%d mutants in %d files; %d known to be equivalent' % (len(build.rows), len(build.paths), len(known)))
        sys.exit(1 if stale else 0)
    build.lock = Lock()
    every = [row for row in build.rows if row[0] not in known]
    rows = [row for row in every if re.search(asked.only, '%s:%d' % row[1:3])]
    if asked.again:
        left = left_by(asked.again)
        rows = [row for row in rows if told(row) in left]
    if asked.sample and asked.sample < len(rows):
        seed = asked.seed if asked.seed is not None else random.randrange(1 << 30)
        print('# a sample of %d of %d by seed %d' % (asked.sample, len(rows), seed), flush=True)
        rows = drawn(rows, seed, asked.sample, asked.picks)
    if not asked.by_hand:
        build.keep_only(rows)
    os.makedirs(TREE, exist_ok=True)
    build.copy_objects()
    build.copy_tree()
    if not build.make(programs_of(asked.tests)):
        sys.exit('mutate: the mutants do not build')
    asked_for = {row[0] for row in rows}
    rows = [row for row in build.rows if asked.by_hand or row[0] in asked_for]
    built = time.monotonic()
    print('# %d mutants of %d in %d files, built in %.0f s' % (len(rows), len(build.rows), len(build.paths), built - begin), flush=True)
    looks = Looks(build.total, asked.dear)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        tests = list(pool.map(lambda pair: looks.look(*pair), enumerate(find_tests(asked.scripts, asked.tests))))
        parts = list(pool.map(lambda pair: looks.look(len(tests) + pair[0], pair[1]), enumerate(parts_of(tests))))
        parts += list(pool.map(lambda pair: looks.look(len(tests) + PARTS * len(tests) + pair[0], pair[1]), enumerate(further_parts(parts))))
        looks.keep()
        looked = time.monotonic()
        wrong = [t for t in tests if not t.passes and not t.dear]
        unsteady = [t for t in wrong if isinstance(t, Scenario) or t.look_again(asked.dear)]
        failing = [t.path for t in wrong if t not in unsteady]
        print('# not asked, as they are not the same twice: %s' % ' '.join(t.path for t in unsteady if not t.dear))
        print('# %d tests, %.0f s in all, %d of them too dear; %d fail with no mutant alive: %s' %
              (len(tests), sum(t.seconds for t in tests), sum(t.dear for t in tests), len(failing), ' '.join(failing)), flush=True)
        if failing and build.lock.kept:
            shutil.rmtree(TREE)
            once_more('they may not fail in a new tree')
        if len(failing) > (FAILING_MOST * len(tests) if asked.sample else 0): # what fails now and then is not this run's business
            sys.exit('mutate: mend these first, they fail with no mutant alive: ' + ' '.join(failing))
        parts = [part for part in parts if part.passes and not part.dear]
        print('# %d parts of them are asked' % len(parts), flush=True)
        found = Hunt(tests + parts, asked.effort)
        killed, survived, unseen = 0, [], []
        out = open(asked.list, 'w') if asked.list else None
        for row, by in zip(rows, pool.map(found.hunt, rows)):
            killed += bool(by)
            if asked.by_hand and by:
                print('noticed by %s: %s' % (by, told(row)), flush=True)
            if by == '':
                survived.append(row)
                print('survived: ' + told(row), flush=True)
            elif by is None:
                unseen.append(row)
                print('not reached: ' + told(row), flush=True)
            if out:
                print('%s\t%s' % (by if by else 'SURVIVED' if by == '' else 'UNSEEN', told(row)), file=out, flush=True)
    where = collections.Counter('%s %s' % (row[1], function_at(*row[1:3])) for row in survived + unseen)
    for name, count in where.most_common(20):
        print('# %4d in %s' % (count, name))
    ratio = 100 * killed / max(1, len(rows))
    print('# %d mutants: %d killed (%.1f %%), %d survived, %d not reached; %d known to be equivalent; %.0f s to build, %.0f to look, %.0f to test' %
          (len(rows), killed, ratio, len(survived), len(unseen), len(known), built - begin, looked - built, time.monotonic() - looked))
    if stale or ratio < asked.bar:
        sys.exit('mutate: %s' % ('stale entries' if stale else '%.1f %% killed, the bar is %.1f %%' % (ratio, asked.bar)))


if __name__ == '__main__':
    main()
