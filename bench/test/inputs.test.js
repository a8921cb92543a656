'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createInputs, findLastEnd, findSource } = require('../lib/logs')
const { createMessages, DEFAULT_SEED } = require('../lib/messages')
const { eachRange } = require('../lib/measure')
const { createProgress } = require('../lib/run')
const { Counts, Tally } = require('../lib/measure')
const { makeFolder, frame, unframe } = require('./support')

const message = (root) => ({ key: '%k', value: { content: { type: 'post', root, text: 'x' } }, timestamp: 1 })

tape('source: the generated logs hold the messages, in JSON and in binary', async (t) => {
  const source = await findSource({ records: 2500 }, makeFolder(t))
  const { next, query } = createMessages(DEFAULT_SEED)
  const wanted = Array.from({ length: 2500 }, next)
  t.deepEqual(unframe(source.json).map(({ data }) => JSON.parse(data)), wanted)
  t.deepEqual(unframe(source.binary).map(({ data }) => binaryCodec.decode(data)), wanted)
  t.equal(source.query, query)
  t.equal(source.records, 2500)
  t.equal(source.hits, wanted.filter(({ value }) => value.content.root === query).length)
})

tape('source: made once, found again, and made anew when cut short', async (t) => {
  const folder = makeFolder(t)
  const first = await findSource({ records: 1500 }, folder)
  const { ino } = fs.statSync(first.json)
  t.deepEqual(await findSource({ records: 1500 }, folder), first)
  t.equal(fs.statSync(first.json).ino, ino, 'the same file')
  const bytes = fs.readFileSync(first.json)
  fs.truncateSync(first.json, bytes.length - 100)
  await findSource({ records: 1500 }, folder)
  t.ok(fs.readFileSync(first.json).equals(bytes), 'whole again')
  t.deepEqual(fs.readdirSync(folder).filter((name) => name.endsWith('.partial')), [])
})

tape('source: a given log is converted, and the query asks for its most frequent root', async (t) => {
  const folder = makeFolder(t)
  const file = path.join(folder, 'mine.log')
  const values = ['%b', '%a', '%c', '%a', '%b', undefined, 5].map(message)
  fs.writeFileSync(file, frame(values.map((value) => JSON.stringify(value))))
  const source = await findSource({ file }, path.join(folder, 'made'))
  t.equal(source.json, file)
  t.equal(source.query, '%a', 'of two that are as frequent, the one that sorts first')
  t.equal(source.hits, 2)
  t.equal(source.records, 7)
  t.equal(source.title, 'mine.log', 'without its folder')
  t.deepEqual(unframe(source.binary).map(({ data }) => JSON.stringify(binaryCodec.decode(data))),
    values.map((value) => JSON.stringify(value)))

  fs.writeFileSync(file, frame(['1', '{"value":{"content":"sealed"}}', 'null']))
  const changed = await findSource({ file }, path.join(folder, 'made'))
  t.notEqual(changed.binary, source.binary, 'another content is converted anew')
  t.equal(changed.hits, 0)
})

tape('inputs: a prefix ends where a record ends', (t) => {
  const bytes = frame(['first', 'second', 'third'])
  const ends = [17, 35, 52]
  t.equal(findLastEnd(bytes), 52)
  for (let length = 0; length < bytes.length; length++) {
    if (findLastEnd(bytes.subarray(0, length)) !== (ends.filter((end) => end <= length).at(-1) ?? 0)) {
      return t.fail(`cut at ${length}`)
    }
  }
  t.end()
})

tape('inputs: a stack of another framing gets a copy with the same records', async (t) => {
  const folder = makeFolder(t)
  const source = await findSource({ records: 300 }, folder)
  const inputs = createInputs(source, folder)
  const wide = { log: 'json', framing: 'offset48' }
  await inputs.prepare([wide])
  const file = inputs.pathOf(wide)
  t.notEqual(file, source.json)
  t.equal(fs.statSync(file).size, fs.statSync(source.json).size + 300 * 2, 'two bytes more a record')
  const log = OffsetLog(file, { flags: 'r' })
  const records = []
  for await (const value of log.stream({ seqs: false })) records.push(value)
  await log.close()
  t.deepEqual(records, unframe(source.json).map(({ data }) => data))
  t.notOk(inputs.isLong('json'))
  t.throws(() => inputs.pathOf({ ...wide, prefix: true }), /a log in offset48 has no prefix/)
})

tape('eachRange: visits every range in order, answered at once or later', async (t) => {
  for (const reply of [(cb, buf) => cb(null, buf), (cb, buf) => setImmediate(cb, null, buf)]) {
    const seen = []
    const read = (start, end, cb) => reply(cb, Buffer.alloc(end - start))
    await eachRange({ size: 2500, step: 1000 }, read, (position, buf, start, end) => seen.push([position, end - start]))
    t.deepEqual(seen, [[0, 1000], [1000, 1000], [2000, 500]])
  }
  let count = 0
  await eachRange({ size: 1e6, step: 1 }, (start, end, cb) => cb(null, Buffer.alloc(0)), () => count++)
  t.equal(count, 1e6, 'without growing the stack')
  const failing = eachRange({ size: 10, step: 5 }, (start, end, cb) => cb(new Error('bad sector')), () => {})
  await failing.then(() => t.fail('resolved'), (err) => t.equal(err.message, 'bad sector'))
})

tape('tallies: count all, sum exactly, and tell samples apart', (t) => {
  const fill = (tally, buf) => {
    for (let i = 0; i < 2500; i++) tally.visit(343e6 + i, buf, 0, 2)
    return tally.result()
  }
  const result = fill(new Tally({ every: 1000 }), Buffer.from('ab'))
  t.equal(result.records, 2500)
  t.equal(result.delivered, 5000)
  t.equal(result.seqSum, 343e6 * 2500 + 2499 * 2500 / 2)
  t.notEqual(result.digest, fill(new Tally({ every: 1000 }), Buffer.from('ac')).digest)
  t.equal(result.digest, fill(new Tally({ every: 1000 }), Buffer.from('abc')).digest, 'only the bytes of the range')

  const borrowed = Buffer.from('ab')
  const tally = new Tally({ every: 1 })
  tally.visit(0, borrowed, 0, 2)
  borrowed.fill(0)
  const kept = new Tally({ every: 1 })
  kept.visit(0, Buffer.from('ab'), 0, 2)
  t.equal(tally.result().digest, kept.result().digest, 'samples are copies')

  const values = new Tally({ every: 1 })
  values.visit(3, { a: [1] })
  t.equal(values.result().records, 1)
  const counts = new Counts()
  counts.visit(3, borrowed, 0, 7)
  counts.visit(4, { a: [1] })
  counts.addRecords({ count: 2, seqs: [5, 6, 7], starts: [0, 4, 9], ends: [3, 8, 9] })
  t.deepEqual([counts.records, counts.delivered, counts.seqSum], [4, 14, 18])
  values.visit(2 ** 53, 1)
  t.throws(() => values.result(), /not exact/, 'a sum that rounds is refused')
  t.end()
})

tape('progress: a bar on a terminal, two lines anywhere else', (t) => {
  const draw = (isTTY, columns) => {
    let text = ''
    const progress = createProgress('making', 10, { isTTY, columns, write: (part) => { text += part } })
    progress.update(5, 'note')
    progress.update(10)
    progress.end()
    return text
  }
  t.ok(/\[#{15}\.{15}\] 50%, \d+ s left: note/.test(draw(true)), draw(true))
  const narrow = draw(true, 19).split('\r').map((line) => line.replace('\x1b[K', ''))
  t.ok(narrow[1].startsWith('making 50%') && narrow[1].length === 18, 'no bar and no second line where it is narrow')
  t.ok(/^making \.\.\.\nmaking: done in \d+\.\d s\n$/.test(draw(false)))
  t.end()
})
