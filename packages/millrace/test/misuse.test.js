'use strict'
// What is typed wrong: one sentence, what was meant, and exit code 2.

const { once } = require('node:events')
const fs = require('node:fs')
const { createServer } = require('node:net')
const path = require('node:path')
const tape = require('tape')
const { failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const { open } = require('..')
const { parseFilter, takeDoubts } = require('../lib/cli/filter')
const { callCommand } = require('./run-command')
const { SSB } = require('./kinds-of-files')

for (const [words, said, expected = 2] of [
  [['ct', SSB], /unknown command 'ct'\n\(Did you mean cat\?\)/],
  [['cat', SSB, '--limt', '3'], /unknown option '--limt'\n\(Did you mean --limit\?\)/],
  [['cat'], /missing required argument 'file'/],
  [['cat', SSB, 'more'], /too many arguments/],
  [['cat', SSB, '--limit', 'many'], /Expected a whole number/],
  [['cat', SSB, '--codec', 'jsn'], /Allowed choices are json, binary, bytes/],
  [['cat', SSB, '--where', '=3'], /is not a filter/],
  [['cat', SSB, '--where', 'n>'], /n> has no value after >\. For an empty text, write n>""/],
  [['cat', SSB, '--where', 'n in'], /n in has no operator/],
  [['count', SSB, '-w', 'level=>5'], /Write level>=5 if that is what you mean/],
  [['append', '-', '{}'], /standard input can only be read/],
  [['compact', '-'], /standard input can only be read/],
  [['export', SSB, SSB, '--force'], /the target is the log itself/],
  [['get', SSB, '1.5'], /A seq is a whole number/],
  [['ship', '-', 'nats://127.0.0.1/a'], /no place for a cursor/],
  [['ship', SSB, 'copy.log'], /copy\.log is not the address of a stream; expected nats:/],
  [['ship', SSB, 'nats://me:secret@127.0.0.1'], /^millrace: nats:\/\/127\.0\.0\.1 is not the address/],
  [['ship', SSB, 'nats://127.0.0.1/a', '--name', 'a b'], /Expected 1 to 64 letters/],
  [['cat', 'nats://127.0.0.1/a?subjects=b'], /is not the address of a stream/],
  [['view', ''], /a path is expected, and it is empty/],
  [['get', SSB, 'abc'], /^millrace: argument 'abc' is invalid for 'seqs'\. A seq is a whole number/],
  [['help', 'ct'], /^millrace: unknown command 'ct'\n\(Did you mean cat\?\)\n/],
  [['cat', SSB, '--level', 'loud'], /There is no level loud\. Expected trace, debug, info, warn, error, fatal/],
  [['cat', SSB, '--where', ''], /an empty text is not a filter/],
  [['tail', '-f', 'nowhere.log'], /there is no such file; check the path, or wait for it with millrace tail -F\n$/],
  [['view', SSB, '--port', 'x'], /Expected a port from 0 to 65535\./],
  [['get', SSB, '3'], /no record of .* begins at 3; millrace cat --seqs prints the seqs of records\n$/, 1],
  [['del', SSB, '3'], /^millrace: no record of .* begins at 3; millrace cat --seqs prints/, 1],
  [['keys', 'create', 'keys'], /^millrace: a key needs a scope/],
  [[], /Usage: millrace/]
]) {
  tape(`misuse: millrace ${words.map((word) => path.basename(word)).join(' ')}`, async (t) => {
    const { code, stdout, stderr } = await callCommand(words)
    t.equal(code, expected)
    t.match(stderr, said)
    t.equal(stdout, '')
  })
}

tape('errors: one line, and a stack only under --debug', async (t) => {
  const plain = await callCommand(['cat', 'nowhere.log'])
  t.match(plain.stderr, /^millrace: .*nowhere\.log: there is no such file; check the path\n$/)
  t.match((await callCommand(['cat', __filename, '--debug'])).stderr, /^millrace: .*is a text file, not a log.*\nLogError: [\s\S]*\n +at /)
})

tape('errors: what is no log, and what makes one of it', async (t) => {
  const folder = temporaryFolder()
  const aligned = path.join(folder, 'aligned.log')
  fs.writeFileSync(aligned, Buffer.concat([Buffer.from([3, 0, 1, 2, 3]), Buffer.alloc(65536 - 5)]))
  const lines = path.join(folder, 'lines')
  fs.writeFileSync(lines, '["a"]\n["b"]\n')
  for (const words of [['cat'], ['view'], ['append', '1']]) {
    const [command, ...others] = words
    t.match((await callCommand([command, aligned, ...others])).stderr, /is a log of .*run millrace convert/)
    t.match((await callCommand([command, lines, ...others])).stderr, /begins with a line of JSON; run millrace import/)
  }
  t.equal(fs.readFileSync(lines, 'utf8'), '["a"]\n["b"]\n')
})

tape('JSON Lines: a text file is read, appended to and counted as any log', async (t) => {
  const file = path.join(temporaryFolder(), 'lines.jsonl')
  fs.writeFileSync(file, '{"a":1}\n["b"]\n{"a":3}')
  t.equal((await callCommand(['cat', file])).stdout, '{"a":1}\n["b"]\n{"a":3}\n')
  t.equal((await callCommand(['append', file, '{"a":4}'])).code, 0)
  t.equal(fs.readFileSync(file, 'utf8'), '{"a":1}\n["b"]\n{"a":3}\n{"a":4}\n')
  t.equal((await callCommand(['cat', file, '--where', 'a>2', '--seqs'])).stdout.split('\n').length, 3)
  t.equal((await callCommand(['count', file])).stdout, '4\n')
  t.equal((await callCommand(['get', file, '8'])).stdout, '["b"]\n')
  t.match((await callCommand(['info', file])).stdout, /lines/)
  t.match((await callCommand(['del', file, '8'])).stderr, /text file, whose lines cannot be erased/)
  t.match((await callCommand(['verify', file])).stdout, /whole; lines, 30 bytes, 4 records/)
  fs.writeFileSync(file, '\0\0\0\n{"a":1}\n')
  const hurt = await callCommand(['cat', file])
  t.equal(hurt.code, 1)
  t.match(hurt.stderr, /is damaged from 0 to 4: what was written there is lost.*--skip-damage/)
  t.equal((await callCommand(['cat', file, '--skip-damage'])).stdout, '{"a":1}\n')
})

tape('parseFilter: paths, operators and values', async (t) => {
  for (const [text, filter] of [
    ['type=post', { path: ['type'], equals: 'post' }],
    ['a.b.c=1', { path: ['a', 'b', 'c'], equals: 1 }],
    ['a="1"', { path: ['a'], equals: '1' }],
    ['a=""', { path: ['a'], equals: '' }],
    ['a=b=c', { path: ['a'], equals: 'b=c' }],
    ['a=null', { path: ['a'], equals: null }],
    ['root', { path: ['root'], exists: true }],
    ['!root', { path: ['root'], exists: false }],
    ['"a.b".c=true', { path: ['a.b', 'c'], equals: true }],
    ['level>=50', { path: ['level'], gte: 50 }],
    ['level>50', { path: ['level'], gt: 50 }],
    ['a.0<=-1.5', { path: ['a', 0], lte: -1.5 }],
    ['at<2026-01-01', { path: ['at'], lt: '2026-01-01' }],
    ['a!=b', { not: { path: ['a'], equals: 'b' } }],
    ['a^=12', { path: ['a'], prefix: '12' }],
    ['a^="1 "', { path: ['a'], prefix: '1 ' }],
    ['tags~=red', { path: ['tags'], includes: 'red' }],
    ['"0"=1', { path: ['0'], equals: 1 }],
    ['007=1', { path: ['007'], equals: 1 }]
  ]) {
    t.deepEqual(parseFilter(text), filter, text)
  }
  for (const [text, filter] of [
    ['type=post or type=vote', { any: [{ path: ['type'], equals: 'post' }, { path: ['type'], equals: 'vote' }] }],
    ['a=1 and b>2 || !c', { any: [{ all: [{ path: ['a'], equals: 1 }, { path: ['b'], gt: 2 }] }, { path: ['c'], exists: false }] }],
    ['title=War or Peace', { path: ['title'], equals: 'War or Peace' }],
    ['text="x or y=1" or z>2', { any: [{ path: ['text'], equals: 'x or y=1' }, { path: ['z'], gt: 2 }] }],
    [' level > 5 ', { path: ['level'], gt: 5 }],
    ['"a " = " x"', { path: ['a '], equals: ' x' }],
    ['a^=<html', { path: ['a'], prefix: '<html' }]
  ]) {
    t.deepEqual(parseFilter(text), filter, text)
  }
  for (const text of ['', '=1', '.a=1', 'a..b=1', 'a={}', '!a=1', '"a=1', 'a.=1', 'a>true', 'a<null', 'a^b', 'a~b']) {
    t.equal((await failureOf(() => parseFilter(text)))?.code, 'ERR_INVALID_ARGUMENT', `${text} is refused`)
  }
})

tape('parseFilter: an operator of another language is refused, with what is meant', async (t) => {
  for (const [text, meant, asText] of [
    ['level>>5', 'level>5', 'level>">5"'],
    ['a==b', 'a=b', 'a="=b"'],
    ['a===b', 'a=b', 'a="==b"'],
    ['level=>5', 'level>=5', 'level=">5"'],
    ['level=<5', 'level<=5', 'level="<5"'],
    ['a!==b', 'a!=b', 'a!="=b"'],
    ['a<>b', 'a!=b', 'a<">b"'],
    ['a=~b', 'a~=b', 'a="~b"'],
    ['a^==b', 'a^=b', 'a^="=b"']
  ]) {
    const err = await failureOf(() => parseFilter(text))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', text)
    t.ok(err.message.includes(`Write ${meant} if`), err.message)
    t.ok(err.message.endsWith(`put it in quotes: '${asText}'.`), err.message)
    t.ok(parseFilter(asText), asText)
  }
})

tape('parseFilter: an operator without a value, and a path alone that has a space, are refused with what to write', async (t) => {
  const noValue = {
    'n>': 'n>""', 'n=': 'n=""', 'n!=': 'n!=""', 'n>=': 'n>=""', 'n^=': 'n^=""', 'n~=': 'n~=""', 'n =': 'n=""', 'n= ': 'n=""', 'n==': 'n=""',
    'n = =': 'n=""', 'n=!': 'n=""', '"a b" <': '"a b"<""', 'm=1 or n>': 'n>""', 'n!= and m=1': 'n!=""'
  }
  for (const [text, empty] of Object.entries(noValue)) {
    const err = await failureOf(() => parseFilter(text))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', text)
    t.match(err.message, / has no value after [=!<>~^ ]+\. For an empty text, write /, text)
    const [, written, path] = /write (.*); to ask whether something is there, write (.*) alone\.$/.exec(err.message)
    t.equal(written, empty, text)
    t.ok(parseFilter(written) && parseFilter(path).exists, `${written} and ${path} are filters`)
  }
  for (const [text, key] of [['n in', 'n in'], ['n in 1,2', 'n in 1,2'], ['!n is null', 'n is null'], ['m=1 or n in or k=2', 'n in']]) {
    const err = await failureOf(() => parseFilter(text))
    t.ok(err?.message.endsWith(`a key that has a space is written in quotes: '"${key}"'.`), text)
  }
  for (const text of ['   ', '\t', '!', '!=3', '=', '>', 'n > = 3x', 'n>=>3', 'n= =3', 'n!']) {
    t.equal((await failureOf(() => parseFilter(text)))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(text))
  }
  t.deepEqual(['"n in"', 'a . b', 'first name=Ada', 'n=-3', 'a=b=c'].map(parseFilter), [
    { path: ['n in'], exists: true }, { path: ['a', 'b'], exists: true }, { path: ['first name'], equals: 'Ada' },
    { path: ['n'], equals: -3 }, { path: ['a'], equals: 'b=c' }
  ])
  t.match(takeDoubts([parseFilter('n=1 or')])[0], /one condition, whose value has the word "or"/)
})

tape('errors: a text file is a text file, for every command that reads a log', async (t) => {
  const file = newPath('notes.txt')
  fs.writeFileSync(file, 'Hällo\nworld\n'.repeat(10_000))
  for (const name of ['info', 'cat', 'tail', 'count', 'verify', 'repair', 'compact', 'index', 'view', 'bench']) {
    const { code, stderr } = await callCommand([name, file])
    t.equal(code, 1, name)
    t.match(stderr, /^millrace: \S+notes\.txt is a text file, not a log; check the path\n$/)
  }
})

tape('help: fits a terminal of 60 columns', async (t) => {
  const { createProgram } = require('../lib/cli/main')
  const { commandNames, loadCommand } = require('../lib/cli/commands')
  const { createCommand } = require('../lib/cli/definition')
  for (const columns of [60, 120]) {
    const program = createProgram()
    for (const name of commandNames) program.addCommand(createCommand(loadCommand(name), async () => {}))
    for (const command of [program, ...program.commands]) {
      let text = ''
      command.configureOutput({ writeOut: (more) => { text += more }, getOutHelpWidth: () => columns })
      command.outputHelp()
      // An example is one line, as it is typed.
      const long = text.split('\n').filter((line) => line.length > columns && !/^ {2}\$ /.test(line))
      t.deepEqual(long, [], `${command.name()} in ${columns} columns`)
    }
  }
})

tape('errors: a log that is open elsewhere, a port that is taken, a text of binary records: what to do is said for the command', async (t) => {
  const file = newPath('a.log')
  const log = open(file)
  await log.append({ n: 1 })
  t.match((await callCommand(['append', file, '{}'])).stderr, /is open for writing, by .*; close it there; to read the log needs no lock\n$/)
  await log.close()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { stderr } = await callCommand(['view', file, '--port', String(server.address().port)])
  t.match(stderr, /^millrace: address already in use 127\.0\.0\.1:\d+; give another --port, or end what listens there\n$/)
  server.close()
  const made = await callCommand(['append', newPath('a.jsonl'), '{"n":10}', '--codec', 'binary'])
  t.match(made.stderr, /are no text; give another name or the codec json\n$/)
})
