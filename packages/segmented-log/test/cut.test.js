'use strict'
// A reader of a log whose file was cut below what it had read: each call that needs what is gone says so with the same
// code, whether anybody has looked at the file since or not.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const COUNT = 2000
const LAST = 20
const codec = jsonCodec

/** @type {Record<string, { open: any, framing: string, code: string }>} */
const kinds = {
  checked: { open: OffsetLog, framing: 'checked', code: 'ERR_LOG_CORRUPT' },
  lines: { open: OffsetLog, framing: 'lines', code: 'ERR_LOG_REPLACED' },
  offset48: { open: OffsetLog, framing: 'offset48', code: 'ERR_LOG_CORRUPT' },
  'checked segments': { open: SegmentedLog, framing: 'checked', code: 'ERR_LOG_CORRUPT' },
  'segments of lines': { open: SegmentedLog, framing: 'lines', code: 'ERR_LOG_REPLACED' }
}

const where = { path: 'user', equals: 'u5' }
/** Each needs one of the last records. @type {Record<string, (log: any, seqs: number[]) => any>} */
const reads = {
  get: (log, seqs) => log.get(seqs.at(-2)),
  getMany: (log, seqs) => log.getMany(seqs.slice(-9)),
  first: (log, seqs) => log.first({ gte: seqs.at(-9) }),
  'first, after a seq': (log, seqs) => log.first({ gt: seqs.at(-9) }),
  last: (log) => log.last(),
  'last, with a filter': (log) => log.last({ where }),
  count: (log) => log.count({ where }),
  'count of a range': (log, seqs) => log.count({ gte: seqs.at(-9) }),
  scan: (log, seqs) => log.scan({ gte: seqs.at(-9) }, () => {}),
  'scan, reversed': (log, seqs) => log.scan({ lt: seqs.at(-2), reverse: true }, () => {}),
  stream: (log) => collect(log.stream()),
  'stream from a seq': (log, seqs) => collect(log.stream({ gte: seqs.at(-9), where })),
  'stream, reversed': (log) => collect(log.stream({ reverse: true, limit: 1 })),
  'stream, reversed, before a seq': (log, seqs) => collect(log.stream({ reverse: true, lt: seqs.at(-2) })),
  'live stream': (log, seqs) => collect(log.stream({ gte: seqs.at(-9), live: true })),
  Readable: (log, seqs) => collect(log.toReadable({ gte: seqs.at(-9) }))
}

for (const [kind, { open, framing, code }] of Object.entries(kinds)) {
  tape(`cut: ${kind}: every call of a reader that needs what is gone has one code`, async (t) => {
    const file = newPath('log')
    const writer = open(file, { codec, framing, fsync: 'never' })
    /** @type {number[]} */
    const seqs = []
    for (let n = 0; n < COUNT; n++) seqs.push(await writer.append({ n, user: `u${n % 30}`, pad: 'x'.repeat(50) }))
    await writer.close()
    const text = open === OffsetLog ? file : path.join(file, /** @type {string} */ (fs.readdirSync(file).find((name) => /\.(log|jsonl)$/.test(name))))
    const whole = fs.readFileSync(text)
    // Whole lines or pages are left, or a piece of one, or nothing.
    for (const size of [seqs.at(-LAST), Math.floor(whole.length / 2), whole.length - 1000, 1, 0]) {
      /** @type {string[]} */
      const wrong = []
      for (const [name, read] of Object.entries(reads)) {
        fs.writeFileSync(text, whole)
        const reader = open(file, { codec, framing, flags: 'r' })
        await reader.ready()
        fs.truncateSync(text, size)
        for (const when of ['at once', 'again', 'after a look']) {
          const err = await failureOf(() => read(reader, seqs))
          if (err?.code !== code) wrong.push(`${name}, ${when}: ${err?.code}: ${err?.message}`)
          if (when === 'again') await failureOf(() => reader.refresh())
        }
        await reader.close()
      }
      t.deepEqual(wrong.slice(0, 3), [], `${size} bytes are left of ${whole.length}`)
    }
  })
}
