'use strict'
// The commands that read.

const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath } = require('@millrace/testkit')
const { makeLog } = require('./make-log')
const { callCommand } = require('./run-command')

const SSB = path.join(__dirname, '..', '..', 'offset-log', 'test', 'fixtures', 'ssb-2000.offset')

tape('cat: records as JSON lines, filtered', async (t) => {
  const { stdout, code } = await callCommand(['cat', SSB, '--where', 'value.content.type=post'])
  const lines = stdout.trimEnd().split('\n').map((line) => JSON.parse(line))
  t.equal(lines.length, 530)
  t.ok(lines.every(({ value }) => value.content.type === 'post'))
  t.equal(code, 0)
})

tape('count: every operator of --where gives what a loop over the records gives', async (t) => {
  const records = (await callCommand(['cat', SSB])).stdout.trimEnd().split('\n').map((line) => JSON.parse(line).value)
  for (const [filter, isWanted] of [
    ['value.content.type!=post', ({ content }) => content.type !== 'post'],
    ['value.sequence>20', ({ sequence }) => sequence > 20],
    ['value.sequence<=20', ({ sequence }) => sequence <= 20],
    ['value.author^=@S', ({ author }) => author.startsWith('@S')],
    ['value.content.branch', ({ content }) => content.branch !== undefined],
    ['!value.content.root', ({ content }) => content.root === undefined],
    ['value.content.mentions.0.link', ({ content }) => content.mentions?.[0]?.link !== undefined]
  ]) t.equal((await callCommand(['count', SSB, '-w', filter])).stdout, `${records.filter(isWanted).length}\n`, filter)
  const file = await makeLog([{ tags: ['red', 1] }, { tags: 'red' }, { tags: ['blue'] }])
  t.equal((await callCommand(['cat', file, '-w', 'tags~=red'])).stdout, '{"tags":["red",1]}\n')
})

tape('tail: the last ones', async (t) => {
  const file = await makeLog([1, 2, 3, 4, 5].map((n) => ({ n })))
  t.equal((await callCommand(['tail', '-n', '2', file])).stdout, '{"n":4}\n{"n":5}\n')
})

tape('info and verify: what a log is, and that it is whole', async (t) => {
  const info = JSON.parse((await callCommand(['info', SSB, '--json'])).stdout)
  t.deepEqual([info.framing, info.readAs, info.since], ['offset32', 'json', 1854081])
  const { stdout, code } = await callCommand(['verify', SSB])
  t.match(stdout, /whole.*2,000 records/)
  t.equal(code, 0)
})

tape('--where: a field that no record has is told, also in segments and slots, and one that some have is not', async (t) => {
  const file = await makeLog([{ level: 30 }, ...Array.from({ length: 3000 }, (_, n) => ({ type: 'post', n })), { last: { at: 1 } }])
  const folder = newPath('segments')
  const segments = SegmentedLog(folder, { codec: jsonCodec })
  await segments.append([{ level: 30 }, { last: { at: 1 } }])
  await segments.close()
  const told = (/** @type {string} */ field) => `millrace: no record that was read has a field '${field}', which --where asks for\n`
  for (const log of [file, folder]) {
    for (const words of [['cat'], ['count'], ['tail', '-n', '2'], ['export', '-']]) {
      const run = async (...filters) => {
        const [name, ...others] = words
        const { stderr, code } = await callCommand([name, log, ...others, ...filters.flatMap((filter) => ['-w', filter])])
        t.equal(code, 0)
        return stderr
      }
      t.equal(await run('lvel>=40'), told('lvel'), words[0])
      t.equal(await run('level=30 or last.att=1'), told('last.att'))
      t.equal(await run('lvel!=40', 'last.at'), told('lvel'))
      t.equal(await run('level=99', 'last.at=99'), '')
      t.equal(await run('!lvel', '!last'), '')
    }
  }
  const binary = await makeLog([{ a: 1 }, { b: 2 }], { codec: 'binary' })
  t.equal((await callCommand(['cat', binary, '-w', 'b=2'])).stderr, '')
  t.equal((await callCommand(['cat', binary, '-w', 'c=2'])).stderr, told('c'))
  const empty = await makeLog([])
  t.equal((await callCommand(['cat', empty, '-w', 'c=2'])).stderr, '', 'nothing was read')
})

tape('--where: a value with "or" in it is told', async (t) => {
  const file = await makeLog([{ type: 'post' }, { type: 'vote' }, { type: 'post or vote' }])
  const { stdout, stderr } = await callCommand(['cat', file, '-w', 'type=post or vote'])
  t.equal(stdout, '{"type":"post or vote"}\n')
  t.match(stderr, /^millrace: type=post or vote is one condition, whose value has the word "or"\. .*type=post or type=vote/)
  t.equal((await callCommand(['cat', file, '-w', 'type="post or vote"'])).stderr, '')
  t.equal((await callCommand(['count', file, '-w', 'type=post or type=vote'])).stdout, '2\n')
})
