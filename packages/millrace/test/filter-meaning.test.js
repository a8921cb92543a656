'use strict'
// A filter that was typed with another language in mind: it is taken as it is meant, or refused with what to write. It
// never finds nothing in silence.

const tape = require('tape')
const { failureOf } = require('@millrace/testkit')
const { parseFilter, takeDoubts } = require('../lib/cli/filter')
const { parseQuery } = require('../lib/viewer/query')
const { makeLog } = require('./make-log')
const { callCommand } = require('./run-command')

const LEVELS = [{ level: 30 }, { level: 40 }, { level: 50 }, { level: 'info' }, { level: 'WARN' }, { level: 'error' }, { level: 'Fatal' }, { n: 1 }]

tape('level>=warn: levels are compared, whatever the logger calls them, and not texts', async (t) => {
  for (const codec of ['json', 'binary']) {
    const file = await makeLog(LEVELS.map((value, index) => ({ index, ...value })), { codec })
    for (const [filter, expected] of [
      ['level>=warn', [1, 2, 4, 5, 6]], ['level>warn', [2, 5, 6]], ['level<=Warn', [0, 1, 3, 4]], ['level<error', [0, 1, 3, 4]],
      ['level=warn', [1, 4]], ['level=error or level=fatal', [2, 5, 6]], ['level and level!=warn', [0, 2, 3, 5, 6]],
      ['level>="f"', [3]], ['level="WARN"', [4]], ['level>=40', [1, 2]], ['level=40', [1]]
    ]) {
      const { stdout, stderr } = await callCommand(['cat', file, '--where', filter])
      t.deepEqual(stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line).index), expected, `${codec}: ${filter}`)
      t.equal(stderr, '', 'nothing is said of records that have no such field')
    }
  }
  t.deepEqual(parseQuery('level>=warn').where, [{ path: ['level'], level: { gte: 'warn' } }], 'the viewer has it, too')
  t.deepEqual(parseFilter('log.level=error'), { path: ['log', 'level'], in: ['error', 'ERROR', 'Error', 50] })
  t.deepEqual(parseFilter('"log.level">critical'), { path: ['log.level'], level: { gt: 'critical' } })
  t.deepEqual(parseFilter('type=error'), { path: ['type'], equals: 'error' })
  t.deepEqual(parseFilter('levels>warn'), { path: ['levels'], gt: 'warn' })
})

tape('two conditions without a word between them are refused, with what to write', async (t) => {
  for (const [text, meant] of [
    ['n>5 n<10', 'n>5 and n<10'], ['n>5, n<10', 'n>5 and n<10'], ['n>5 & n<10', 'n>5 and n<10'], ['n > 5  n < 10', 'n > 5 and n < 10'],
    ['a=b c="x y"', 'a=b and c="x y"'], ['a="x" b!=1', 'a="x" and b!=1'], ['a^=x b~=y', 'a^=x and b~=y'],
    ['m=1 or n>5 n<10', 'n>5 and n<10']
  ]) {
    const err = await failureOf(() => parseFilter(text))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', text)
    const [, write, asText] = /Write '(.*)'; for a text, '(.*)'\.$/.exec(err.message)
    t.equal(write, meant, err.message)
    t.equal(parseFilter(write).all.length, 2)
    t.equal([parseFilter(asText)].flat().length, 1, asText)
  }
  for (const text of ['n>5,n<10', '5<n<10', 'n>5 and <10', 'n<=a=b']) {
    t.match((await failureOf(() => parseFilter(text)))?.message, /more than one operator\. .*'n>5 and n<10'/, text)
  }
  for (const text of ['url=http://x?a=1&b=2', 'a=b=c', 'title=War and Peace', 'text=x y', 'at>2026-01-01 10:00', "name=O'Brien", 'a="x y=1"']) {
    t.ok(parseFilter(text), text)
  }
})

tape('a bound that is nearly a number, foreign quotes and parentheses are refused, with what to write', async (t) => {
  for (const [text, meant, asText] of [
    ['n>.5', 'n>0.5', 'n>".5"'], ['n>=+5', 'n>=5', 'n>="+5"'], ['n<5.', 'n<5', 'n<"5."'], ['n>1,000', 'n>1000', 'n>"1,000"'],
    ['n>1_000.5', 'n>1000.5', 'n>"1_000.5"'], ['n>0x1f', 'n>31', 'n>"0x1f"'], ['n> -.5e3', 'n> -500', 'n> "-.5e3"'],
    ['type=\u201cpost\u201d', 'type="post"', 'type="\u201cpost\u201d"']
  ]) {
    const err = await failureOf(() => parseFilter(text))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', text)
    t.ok(err.message.includes(`Write '${meant}'; for a text`) && err.message.endsWith(` '${asText}'.`), err.message)
    t.ok(parseFilter(meant) && parseFilter(asText))
  }
  for (const text of ["type='post'", "type!='post'", "tags~='post'", "type^='po'"]) {
    t.match((await failureOf(() => parseFilter(text)))?.message, /are no quotes here\. Write '.*"po(st)?"'; for a text with them, /, text)
  }
  t.match((await failureOf(() => parseFilter('(a=1 or b=2) and c=3')))?.message, /filters have none.* give --where twice/)
  t.deepEqual(['n=.5', 'n=007', 'at<2026-01-01', 'v>1.2.3'].map(parseFilter), [
    { path: ['n'], equals: '.5' }, { path: ['n'], equals: '007' }, { path: ['at'], lt: '2026-01-01' }, { path: ['v'], gt: '1.2.3' }
  ], 'a text that may be meant')
})

tape('what is compared as a text and looks like a measure or a level is told, once, and not in quotes', async (t) => {
  for (const [text, said] of [['ms>5ms', /5ms is not a number/], ['n=1 or size>=5 MB', /5 MB is not a number/], ['level>=loud', /loud is not the name of a level/],
    ['n>5 and', /one condition, whose value has the word "and"/]]) {
    const filter = parseFilter(text)
    t.match(takeDoubts([filter])[0], said, text)
    t.deepEqual(takeDoubts([filter]), [])
  }
  t.deepEqual(takeDoubts(['ms>"5ms"', 'level>="loud"', 'at>2026-01-01', 'n>5'].map(parseFilter)), [])
})
