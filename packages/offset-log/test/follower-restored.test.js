'use strict'
// A reader whose checked file is replaced goes on where the new one has all that was read, and ends where it has not.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf, newPath, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const open = (file, options) => OffsetLog(file, { codec: jsonCodec, ...options })

async function change (file, work) {
  const log = open(file)
  await work(log)
  await log.close()
}

const append = (...values) => (log) => log.append(values)
const lastOf = async (log) => (await log.last()).seq
const deleteLast = async (log) => { await log.del(await lastOf(log)) }
const compact = (log) => log.compact()

/**
 * What makes the file that takes the place of one with 1 to 6. `older` has 1 to 3, and `log` is a copy of all.
 * @type {Record<string, { from: 'older' | 'all', steps: Array<(log: any) => Promise<unknown>>, more?: number[] }>}
 * `more`: what the reader gets then; without it the reader must end
 */
const replacements = {
  'an older copy that has grown past the end': { from: 'older', steps: [append(40, 50, 60, 70, 80)] },
  'an older copy that has grown to the end': { from: 'older', steps: [append(4, 5, 7)] },
  'an older copy that has grown past the end, with an equal record there': { from: 'older', steps: [append(4, 7, 6), append(8)] },
  'an older copy that has grown record by record': { from: 'older', steps: [append(4), append(5), append(9), append(10)] },
  'an older copy': { from: 'older', steps: [] },
  'an older copy that has grown less': { from: 'older', steps: [append(40)] },
  'an older copy that has grown, and was compacted': { from: 'older', steps: [append(40, 50, 60, 70), compact] },
  'a copy of all': { from: 'all', steps: [], more: [] },
  'a copy of all that has grown': { from: 'all', steps: [append(7, 8)], more: [7, 8] },
  'a compacted copy': { from: 'all', steps: [compact, append(7)], more: [7] },
  'a compacted copy whose last record was deleted': { from: 'all', steps: [deleteLast, compact, append(7)], more: [7] },
  'a copy whose last record was deleted': { from: 'all', steps: [deleteLast, append(7)], more: [7] }
}

for (const isCompacted of [false, true]) {
  for (const [name, { from, steps, more }] of Object.entries(replacements)) {
    const title = `${name}${isCompacted ? ', of a log that was compacted before' : ''}`
    tape(`follower: the file is replaced by ${title} (follower-takes-an-older-copy)`, async (t) => {
      const file = newPath('log')
      await change(file, append(1, 2, 3))
      if (isCompacted) await change(file, compact)
      const copies = { older: `${file}.older`, all: `${file}.all` }
      fs.copyFileSync(file, copies.older)
      await change(file, append(4, 5, 6))
      fs.copyFileSync(file, copies.all)
      for (const step of steps) await change(copies[from], step)

      const reader = open(file, { flags: 'r' })
      await reader.ready()
      const got = []
      let failure = null
      const reading = (async () => {
        for await (const value of reader.stream({ live: true, seqs: false })) got.push(value)
      })().catch((err) => { failure = err })
      await until(() => got.length === 6)
      fs.renameSync(copies[from], file)
      if (more === undefined) {
        await change(file, append('end')).catch(() => {})
        await until(() => failure !== null || got.at(-1) === 'end')
        t.ok(failure, 'the reader ends')
        t.equal(failure?.code, 'ERR_LOG_REPLACED', failure?.message ?? `got ${got}`)
        t.equal((await failureOf(() => reader.get(0)))?.code, 'ERR_LOG_REPLACED', 'and so does any read')
      } else {
        await change(file, append('end'))
        await until(() => failure !== null || got.at(-1) === 'end')
        t.deepEqual([failure, got], [null, [1, 2, 3, 4, 5, 6, ...more, 'end']])
      }
      await reader.close()
      await reading
    })
  }
}
