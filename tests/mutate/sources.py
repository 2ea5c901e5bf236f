"""Mutants of C sources, all compiled into one program and chosen by a number (see mutant.h).

A source is cut into tokens, its function bodies into statements and expressions; each place that can be mutated is wrapped so that
it means something else when mutant_lives(N) is true. Lines stay where they are. What the compiler refuses is left out by run.py, line by
line. Not mutated: assertions, array bounds, case labels, what releases memory, anything in a macro; `{0}`, which says that all is
zero and not that the first field is; by how much an array grows, as any amount is right; functions that left_out.txt names.

Nor what changes nothing, whatever the program: a comparison at its border where the larger or smaller of the two is taken, for equal ones
are the same, or where the two are known to be unlike (if (a != b) return a < b ? -1 : 1); more room than is asked for in malloc and its
like; another split of a range than at its middle (low + (high - low) / 2); which number what compares for sorting returns, as its sign
counts, and which of two equal ones qsort puts first, as it promises no order; where a loop begins that only gives memory back, as the
sanitized run looks for leaks; the break at a switch's end; what open_memstream writes over; what is compiled for another MPI than the machine's own, or for another processor, and not here."""

import platform
import re

TOKEN = re.compile(r'''
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|^\s*\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<text>(?:u8|L|u|U)?"(?:[^"\\\n]|\\.)*"|(?:L|u|U)?'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])
''', re.X | re.S | re.M)

OPEN, CLOSE = '([{', ')]}'
ASSIGN = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='}
BORDER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
TURNED = {'+': '-', '-': '+', '*': '/', '/': '*', '&': '|', '|': '&', '<<': '>>', '>>': '<<'}
CONTRARY = {'fmin': 'fmax', 'fmax': 'fmin'}
LEVELS = [{'||'}, {'&&'}, {'|'}, {'^'}, {'&'}, {'==', '!='}, {'<', '<=', '>', '>='}, {'<<', '>>'}, {'+', '-'}, {'*', '/', '%'}]
TYPES = set('void char short int long float double signed unsigned struct union enum const volatile bool _Bool size_t ssize_t'.split())
KEYWORDS = set('return case else do sizeof goto'.split())
UNTOUCHED = {'sizeof', 'assert', '_Static_assert', 'static_assert', '__attribute__', '_Alignof', '__asm__', 'asm', 'offsetof',
             '__builtin_prefetch', '__builtin_expect', '__typeof__', 'typeof', 'va_arg', '__builtin_types_compatible_p',
             'UINT64_C', 'UINT32_C', 'INT64_C'}
GROWTH = re.compile(r'= .*\?.*(\b2 \*|\* 2\b).*:|\bcheck_grow\(')
MIDDLE = re.compile(r'(\w+) \+ \((\w+) - \1\) / 2;')
COMPARES = re.compile(r'const (\w[\w ]*) \* \w+ , const \1 \* \w+')
SORTS = re.compile(r'return \((\S+) > (\S+)\) - \(\1 < \2\);|return (\S+) < (\S+) \? -1 : \3 > \4;')
ALLOCATES = {'malloc', 'calloc', 'realloc', 'check_new', 'sim_contents_new'}
RELEASES = re.compile(r'(^|_)(free|release|close|munmap|clear|drop|prefetch|destroy|unref|note|fflush|pool_put)$')


CONDITION = re.compile(r'\s*#\s*(?:if(n?)def\s+|if\s+(!?)\s*defined[ (]\s*)(\w+)\s*\)?\s*(?:/[/*].*)?$')
DEFINED = {'MPI_ABI_VERSION': True, '__x86_64__': platform.machine() == 'x86_64', '__aarch64__': platform.machine() == 'aarch64'}


def known_of(line):
    """Whether the condition of an #if or #elif holds, None: not known."""
    found = CONDITION.match(line.replace('elif', 'if', 1))
    known = DEFINED.get(found.group(3)) if found else None
    return known if known is None else known != bool(found.group(1) or found.group(2))


def lines_not_compiled(lines):
    """Numbers of the lines that conditions on DEFINED leave out."""
    out, inside = set(), [] # of each condition around: whether this arm is compiled, whether one was so far; None: not known
    for number, line in enumerate(lines, 1):
        word = re.match(r'\s*#\s*(if|elif|el|endif)', line)
        if word and word.group(1) == 'if':
            inside.append([known_of(line)] * 2)
        elif word and word.group(1).startswith('el') and inside:
            taken, holds = inside[-1][1], known_of(line) if word.group(1) == 'elif' else True
            inside[-1] = [False if taken or holds is False else None if taken is None else holds, holds if taken is False else taken]
        elif word and inside:
            inside.pop()
        elif any(here is False for here, _ in inside):
            out.add(number)
    return out


class Token:
    def __init__(self, kind, text, line):
        self.kind, self.text, self.line, self.mate = kind, text, line, None


def tokens_of(source):
    """The tokens that mean something, each with the blanks, comments and directives before it; what is left at the end."""
    tokens, before, line, at = [], '', 1, 0
    while at < len(source):
        match = TOKEN.match(source, at)
        if not match:
            raise SyntaxError('line %d: %r' % (line, source[at:at + 20]))
        text = match.group()
        if match.lastgroup == 'space':
            before += text
        else:
            token = Token(match.lastgroup, text, line)
            token.before, before = before, ''
            tokens.append(token)
        line += text.count('\n')
        at = match.end()
    stack = []
    for i, token in enumerate(tokens):
        if token.kind == 'sign' and token.text in OPEN:
            stack.append(i)
        elif token.kind == 'sign' and token.text in CLOSE:
            token.mate = stack.pop()
            tokens[token.mate].mate = i
    return tokens, before


class Mutants:
    """Rewrites one source. `next_number` gives numbers; rows are (number, line, what it was, what it is). Lines that are banned
    stay as they are."""

    def __init__(self, source, next_number, banned=frozenset(), left_out=frozenset()):
        self.tokens, self.rest = tokens_of(source)
        self.source, self.lines = source, source.split('\n')
        banned = set(banned) | lines_not_compiled(self.lines)
        self.next_number, self.banned, self.rows, self.swaps = next_number, banned, [], []
        self.left_out, self.functions, self.function, self.is_for_qsort, self.compares = left_out, set(), None, False, False
        self.switch_ends = set() # their closing braces
        self.ties, self.roomy = set(), False # comparisons whose border changes nothing; inside of an allocation

    # ---- pieces ----

    def raw(self, low, high):
        return ''.join(t.before + t.text for t in self.tokens[low:high])

    def flat(self, low, high):
        """The same on one line, for second copies."""
        return ' '.join(t.text for t in self.tokens[low:high])

    def number(self, line, was, now):
        """None where there is to be no mutant; its number is counted all the same."""
        number = self.next_number()
        if line in self.banned or self.function in self.left_out:
            return None
        self.rows.append((number, line, was, now))
        return number

    def wrap(self, low, text):
        """The blanks before the first token stay before what is put around it."""
        before = self.tokens[low].before
        return before, text[len(before):]

    def is_binary(self, i, low):
        """Whether the sign at i stands between two operands."""
        if i <= low:
            return False
        last = self.tokens[i - 1]
        if last.kind in ('number', 'text'):
            return True
        if last.kind == 'name':
            return last.text not in KEYWORDS and last.text not in TYPES
        if last.text == ')':
            return not self.is_cast(last.mate, i - 1)
        return last.text in (']', '}', '++', '--')

    def is_cast(self, low, high):
        """Not what sizeof is asked of, nor (*a) or (a * b)."""
        inner = self.tokens[low + 1:high]
        before = self.tokens[low - 1] if low > 0 else None
        if before and before.kind == 'name' and (before.text not in KEYWORDS or before.text == 'sizeof'):
            return False
        return bool(inner) and inner[0].kind == 'name' and all(t.kind == 'name' or t.text == '*' for t in inner) and \
            (any(t.text in TYPES or t.text.endswith('_t') or t.text.startswith('MPI_') for t in inner) or inner[-1].text == '*')

    def top_level(self, low, high):
        i = low
        while i < high:
            yield i
            i = self.tokens[i].mate + 1 if self.tokens[i].text in OPEN and self.tokens[i].mate else i + 1

    # ---- expressions ----

    def list(self, low, high):
        """Expressions between commas, with blanks as they are."""
        out, start = '', low
        for i in self.top_level(low, high):
            if self.tokens[i].text == ',':
                out += self.assignment(start, i) + self.raw(i, i + 1)
                start = i + 1
        return out + self.assignment(start, high)

    def assignment(self, low, high):
        for i in self.top_level(low, high):
            if self.tokens[i].text in ASSIGN and self.tokens[i].kind == 'sign':
                return self.raw(low, i + 1) + self.step(low, i, high, self.assignment(i + 1, high))
        return self.choice(low, high)

    def step(self, low, i, high, text):
        """What is added is taken away, and the other way round."""
        sign = self.tokens[i].text
        number = self.number(self.tokens[i].line, self.flat(low, high), '%s %s %s' % (
            self.flat(low, i), '-=' if sign == '+=' else '+=', self.flat(i + 1, high))) if sign in ('+=', '-=') else None
        if number is None:
            return text
        before, text = self.wrap(i + 1, text)
        return '%s(mutant_lives(%d) ? -(%s) : (%s))' % (before, number, self.flat(i + 1, high), text)

    def choice(self, low, high):
        for i in self.top_level(low, high):
            if self.tokens[i].text != '?':
                continue
            depth = 0
            for j in self.top_level(i + 1, high):
                depth += (self.tokens[j].text == '?') - (self.tokens[j].text == ':')
                if depth < 0:
                    self.tie(low, i, {self.flat(i + 1, j), self.flat(j + 1, high)})
                    condition = self.negated(low, i)
                    return condition + self.raw(i, i + 1) + self.assignment(i + 1, j) + self.raw(j, j + 1) + \
                        self.choice(j + 1, high)
        return self.operators(low, high, 0)

    def comparison(self, low, high, signs):
        """The only sign of a comparison, and its two sides; None where it is no comparison, or more than one."""
        at = [i for i in self.top_level(low, high) if self.tokens[i].text in BORDER or self.tokens[i].text in ('&&', '||', '?', '=')]
        return (at[0], {self.flat(low, at[0]), self.flat(at[0] + 1, high)}) if len(at) == 1 and self.tokens[at[0]].text in signs else None

    def tie(self, low, high, taken):
        """One of the two that are compared is taken, or put into the other's place."""
        found = self.comparison(low, high, ('<', '<=', '>', '>='))
        if found and found[1] == taken:
            self.ties.add(found[0])

    def if_ties(self, low, high, body):
        """if (a < b) a = b; if (a != b) return a < b ? ..."""
        braces = self.tokens[body].text == '{'
        body += braces
        end = next((j for j in self.top_level(body, len(self.tokens)) if self.tokens[j].text in (';', '?')), body)
        equals = [j for j in self.top_level(body, end) if self.tokens[j].text == '=']
        alone = [t.text for t in self.tokens[end + 1:end + 3]] # that is all, and there is no else
        alone = 'else' not in alone and (alone[:1] == ['}'] or not braces)
        if len(equals) == 1 and self.tokens[end].text == ';' and alone:
            self.tie(low, high, {self.flat(body, equals[0]), self.flat(equals[0] + 1, end)})
        unlike = self.comparison(low, high, ('!=',))
        after = self.comparison(body + 1, end, ('<', '<=', '>', '>=')) if self.tokens[body].text == 'return' else None
        if unlike and after and unlike[1] == after[1]:
            self.ties.add(after[0])

    def negated(self, low, high):
        """A condition, and its contrary."""
        text = self.list(low, high)
        if self.has_border(low, high):
            return text
        number = self.number(self.tokens[low].line, self.flat(low, high), '!(%s)' % self.flat(low, high))
        if number is None:
            return text
        before, text = self.wrap(low, text)
        return '%s(mutant_lives(%d) != !!(%s))' % (before, number, text)

    def has_border(self, low, high):
        """A single comparison has its contrary already."""
        signs = [self.tokens[i].text for i in self.top_level(low, high)]
        return ('==' in signs or '!=' in signs) and '&&' not in signs and '||' not in signs

    def operators(self, low, high, level):
        if low >= high:
            return self.raw(low, high)
        if level == len(LEVELS):
            return self.primary(low, high)
        at = [i for i in self.top_level(low, high)
              if self.tokens[i].kind == 'sign' and self.tokens[i].text in LEVELS[level] and self.is_binary(i, low)]
        if not at:
            return self.operators(low, high, level + 1)
        if level < 2:
            return self.arms(low, high, at, level)
        i = at[-1]
        text = self.operators(low, i, level) + self.raw(i, i + 1) + self.operators(i + 1, high, level + 1)
        sign = self.tokens[i].text
        other = BORDER.get(sign) or TURNED.get(sign)
        first = self.tokens[low].text
        if sign in ('<', '>') and self.is_for_qsort and SORTS.search(self.lines[self.tokens[i].line - 1]):
            return text
        if not other or i in self.ties or (sign == '*' and (first in TYPES or first.endswith('_t') or first.startswith('MPI_'))): # a declaration
            return text
        was, now = self.flat(low, high), '%s %s %s' % (self.flat(low, i), other, self.flat(i + 1, high))
        number = self.number(self.tokens[i].line, was, now)
        if number is None:
            return text
        before, text = self.wrap(low, text)
        return '%s(mutant_lives(%d) ? %s : %s)' % (before, number, now, text)

    def arms(self, low, high, at, level):
        """Every arm of a conjunction or disjunction as if it were not there."""
        out, bounds = '', [low] + [i + 1 for i in at]
        for start, end in zip(bounds, at + [high]):
            text = self.operators(start, end, level + 1)
            arm = self.flat(start, end)
            number = self.number(self.tokens[start].line, self.flat(low, high), '%s without %s' % (self.flat(low, high), arm))
            if number is not None:
                before, text = self.wrap(start, text)
                text = ('%s(!mutant_lives(%d) && (%s))' if level == 0 else '%s(mutant_lives(%d) || (%s))') % (before, number, text)
            out += text + (self.raw(end, end + 1) if end < high else '')
        first = self.tokens[low].before
        return first + '(' + out[len(first):] + ')'

    def primary(self, low, high):
        out, i = '', low
        while i < high:
            token = self.tokens[i]
            if token.kind == 'name' and token.text in UNTOUCHED and i + 1 < high and self.tokens[i + 1].text == '(':
                end = self.tokens[i + 1].mate + 1
                out += self.raw(i, end)
                i = end
            elif token.text == '[' and token.kind == 'sign':
                out += self.raw(i, token.mate + 1)
                i = token.mate + 1
            elif token.text in ('(', '{') and token.kind == 'sign':
                allocates = i > low and self.tokens[i - 1].text in ALLOCATES
                outside, call = self.roomy, i > low and self.tokens[i - 1].kind == 'name' and self.tokens[i - 1].text not in KEYWORDS
                self.roomy = allocates or (self.roomy and not call)
                inside = self.raw(i + 1, token.mate) if token.text == '(' and self.is_cast(i, token.mate) \
                    else self.list(i + 1, token.mate)
                self.roomy = outside
                out += self.raw(i, i + 1) + inside + self.raw(token.mate, token.mate + 1)
                i = token.mate + 1
            else:
                out += self.constant(i)
                i += 1
        return out

    def only_its_sign_counts(self, i):
        """The numbers of `return a < b ? -1 : 1;` and `? -1 : a > b;` in what compares for sorting."""
        line = self.lines[self.tokens[i].line - 1]
        return re.search(r'\? -1 : (1;|[^;]+ > [^;]+;)', line) and self.tokens[i].text == '1' and self.compares

    def is_written_by_stream(self, i):
        """`size_t size = 0;` before `open_memstream(&text, &size)`."""
        if self.tokens[i - 1].text != '=' or self.tokens[i].text != '0':
            return False
        name = self.tokens[i - 2].text
        end = next((j for j in range(i, len(self.tokens)) if self.tokens[j].text == 'open_memstream'), None)
        return end is not None and name in [t.text for t in self.tokens[end + 1:self.tokens[end + 1].mate]] and \
            not any(self.tokens[j].text == name for j in range(i, end))

    def constant(self, i):
        token = self.tokens[i]
        text = token.text
        line = self.lines[token.line - 1]
        if token.kind == 'number' and (self.only_its_sign_counts(i) or self.is_written_by_stream(i)):
            return token.before + text
        if GROWTH.search(line) or (text == '0' and self.tokens[i - 1].text == '{' and self.tokens[i + 1].text == '}'):
            return token.before + text
        if (self.roomy and self.tokens[i - 1].text in ('+', '*', '(', ',', ':')) or (text == '2' and MIDDLE.search(line)):
            return token.before + text
        if token.kind == 'number' and re.fullmatch(r'(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*', text):
            now = '%s + 1' % text
            shape = '(%s + mutant_lives(%%d))' % text
        elif token.kind == 'number' and not text[:2].lower() == '0x' and float(text.rstrip('fFlL')):
            now = '100 * %s' % text
            shape = '(%s * (mutant_lives(%%d) ? 100 : 1))' % text
        elif token.kind == 'name' and text in CONTRARY and self.tokens[i + 1].text == '(':
            now = CONTRARY[text]
            shape = '(mutant_lives(%%d) ? %s : %s)' % (now, text)
        elif token.kind == 'name' and text in ('true', 'false'):
            now = 'false' if text == 'true' else 'true'
            shape = '(!mutant_lives(%d))' if text == 'true' else '(mutant_lives(%d) != 0)'
        else:
            return token.before + text
        number = self.number(token.line, '%s in: %s' % (text, line.strip()), now)
        return token.before + (text if number is None else shape % number)

    # ---- statements ----

    def block(self, low, high):
        out, i = '', low
        while i < high:
            text, i = self.statement(i, high)
            out += text
        return out

    def statement(self, i, high):
        token = self.tokens[i]
        text = token.text
        if text == '{':
            return self.raw(i, i + 1) + self.block(i + 1, token.mate) + self.raw(token.mate, token.mate + 1), token.mate + 1
        if text in ('if', 'while', 'switch', 'for') and self.tokens[i + 1].text == '(':
            return self.control(i, high)
        if text in ('else', 'do'):
            rest, end = self.statement(i + 1, high)
            return self.raw(i, i + 1) + rest, end
        if text in ('case', 'default') or (token.kind == 'name' and i + 1 < high and self.tokens[i + 1].text == ':'):
            end = next(j for j in self.top_level(i, high) if self.tokens[j].text == ':')
            return self.raw(i, end + 1), end + 1
        end = next((j for j in self.top_level(i, high) if self.tokens[j].text == ';'), None)
        if end is None:  # the last words of a block are a macro's, which brings its own semicolon
            return self.raw(i, high), high
        return self.simple(i, end), end + 1

    def control(self, i, high):
        keyword, opening = self.tokens[i].text, i + 1
        closing = self.tokens[opening].mate
        if keyword == 'if':
            self.if_ties(opening + 1, closing, closing + 1)
            head = self.negated(opening + 1, closing)
        elif keyword == 'for':
            head, start = '', opening + 1
            for j in list(self.top_level(opening + 1, closing)) + [closing]:
                if j == closing or self.tokens[j].text == ';':
                    begins = start == opening + 1 and self.only_releases(closing + 1)
                    head += (self.raw if begins else self.list)(start, j) + (self.raw(j, j + 1) if j < closing else '')
                    start = j + 1
        else:
            head = self.list(opening + 1, closing)
        text = self.raw(i, opening + 1) + head + self.raw(closing, closing + 1)
        if keyword == 'switch' and closing + 1 < high and self.tokens[closing + 1].text == '{':
            self.switch_ends.add(self.tokens[closing + 1].mate)
        rest, end = self.statement(closing + 1, high) if closing + 1 < high else ('', closing + 1)
        return text + rest, end

    def only_releases(self, i):
        """The statement, or those in its braces, only give memory back."""
        end = self.tokens[i].mate if self.tokens[i].text == '{' else i + 1
        i += self.tokens[i].text == '{'
        first = True
        while i < end or first:
            first = False
            if self.tokens[i + 1].text != '(' or not RELEASES.search(self.tokens[i].text):
                return False
            i = self.tokens[i + 1].mate + 2
        return True

    def simple(self, low, end):
        """A declaration, an expression or a jump, up to its semicolon."""
        first = self.tokens[low]
        if low == end or first.text in ('static', 'enum', 'typedef', 'goto', '_Static_assert', 'extern', 'asm', '__asm__'):
            return self.raw(low, end + 1)
        if first.text == 'return':
            return self.raw(low, low + 1) + self.list(low + 1, end) + self.raw(end, end + 1) if end > low + 1 else \
                self.dropped(low, end, self.raw(low, end))
        text = self.list(low, end)
        if self.may_drop(low, end):
            return self.dropped(low, end, text)
        return text + self.raw(end, end + 1)

    def may_drop(self, low, end):
        first = self.tokens[low]
        if first.text in ('break', 'continue'):
            return end + 1 not in self.switch_ends
        if first.kind != 'name' or low + 1 >= end:
            return first.text in ('++', '--', '*') and end > low + 1
        after = self.tokens[low + 1]
        if first.text.isupper() or first.text in UNTOUCHED or RELEASES.search(first.text) or first.text in ('va_start', 'va_end', 'va_copy'):
            return False
        return after.text in ('(', '->', '.', '[', '++', '--') or after.text in ASSIGN

    def dropped(self, low, end, text):
        number = self.number(self.tokens[low].line, self.flat(low, end) + ';', '(nothing)')
        if number is None:
            return text + self.raw(end, end + 1)
        before, text = self.wrap(low, text)
        return '%s{ if (!mutant_lives(%d)) %s%s }' % (before, number, text, self.raw(end, end + 1))

    # ---- tables ----

    def table(self, low, equals):
        """static const T name[...] = { rows }: any two neighbours exchanged. The end of the table, and its text; None: none."""
        opening = equals + 1
        if self.tokens[opening].text != '{' or self.tokens[equals - 1].text != ']' or self.tokens[low].text != 'static':
            return None
        closing = self.tokens[opening].mate
        name = self.tokens[equals - 1].mate - 1
        rows, start = [], opening + 1
        for i in list(self.top_level(opening + 1, closing)) + [closing]:
            if (i == closing or self.tokens[i].text == ',') and i > start:
                rows.append((start, i))
                start = i + 1
        if len(rows) < 2 or self.tokens[name].kind != 'name' or self.tokens[name - 1].text == ']':
            return None
        places = [self.place(row, i) for i, row in enumerate(rows)]
        designated, key = any(self.tokens[row[0]].text == '[' for row in rows), self.first_field(low, name)
        if self.tokens[rows[0][0]].text == '{' and not designated and not key:
            return None
        for (one, other, place, next_place) in zip(rows, rows[1:], places, places[1:]):
            number = self.number(self.tokens[one[0]].line, 'rows %s / %s' % (self.flat(*one)[:60], self.flat(*other)[:60]), 'exchanged')
            if number is not None:
                self.swaps.append((number, self.tokens[name].text, place, next_place, '' if designated else key))
        return closing, self.without_const(low, name) + self.raw(name, closing)

    def first_field(self, low, name):
        """What a row is found by: the order of rows may mean nothing, so it stays where it is and the rest is exchanged."""
        text = self.flat(low, name)
        named = re.search(r'\bstruct (\w+)', text)
        fields = re.search(r'\bstruct %s\s*{([^}]*)}' % named.group(1), self.source) if named else re.search(r'{([^}]*)}', text)
        found = re.match(r'[^;,(]*?(\w+)\s*(\[[^;]*\]\s*)*[;,]', re.sub(r'/\*.*?\*/', '', fields.group(1), flags=re.S)) if fields else None
        return found.group(1) if found else ''

    def place(self, row, index):
        first = self.tokens[row[0]]
        return self.flat(row[0] + 1, first.mate) if first.text == '[' else str(index)

    def without_const(self, low, high):
        """The elements may be written, what they point to not."""
        stars = [i for i in self.top_level(low, high) if self.tokens[i].text == '*']
        from_here = stars[-1] if stars else low
        skipped = {i for i in self.top_level(low, high) if i >= from_here and self.tokens[i].text == 'const'}
        return ''.join(t.before + ('' if i in skipped else t.text) for i, t in enumerate(self.tokens[low:high], low))

    # ---- the whole ----

    def rewrite(self):
        out, i, start = '', 0, 0
        while i < len(self.tokens):
            token = self.tokens[i]
            if token.text == '{' and i > 0 and self.tokens[i - 1].text == ')':
                self.function = self.tokens[self.tokens[i - 1].mate - 1].text
                compares = COMPARES.fullmatch(self.flat(self.tokens[i - 1].mate + 1, i - 1))
                self.compares = compares and self.tokens[self.tokens[i - 1].mate - 2].text == 'int'
                self.is_for_qsort = self.compares and compares.group(1) == 'void'
                self.functions.add(self.function)
                out += self.raw(start, i + 1) + self.block(i + 1, token.mate)
                i = start = token.mate
                self.function = None
            elif token.text == '=' and token.kind == 'sign':
                found = self.table(self.begins(start, i), i)
                if found:
                    low = self.begins(start, i)
                    out += self.raw(start, low) + found[1]
                    i = start = found[0]
            elif token.text in OPEN and token.kind == 'sign':
                i = token.mate
            i += 1
        out += self.raw(start, len(self.tokens)) + self.rest
        for number, name, one, other, key in self.swaps:
            pair = [(name, one, name, other, name)]
            if key:
                pair.append(('%s[%s].%s' % (name, one, key), '%s[%s].%s' % (name, other, key), '%s[0].%s' % (name, key)))
            out += '\n__attribute__((constructor)) static void mutant_%d(void) { if (mutant == %d) { ' \
                   'mutant_swap(&%s[%s], &%s[%s], sizeof %s[0]); ' % ((number, number) + pair[0])
            out += ('mutant_swap((void *)&%s, (void *)&%s, sizeof %s); } }' % pair[1]) if key else '} }'
        return out + '\n'

    def begins(self, start, i):
        """The first token of the declaration around i."""
        while i > start and self.tokens[i - 1].text not in (';', '}') or (i > start and self.tokens[i - 1].text == '}' and
                                                                          self.tokens[i].text != 'static'):
            i -= 1
            if self.tokens[i].text in CLOSE and self.tokens[i].mate is not None and self.tokens[i].kind == 'sign':
                i = self.tokens[i].mate
        return i
