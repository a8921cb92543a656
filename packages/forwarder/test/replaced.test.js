'use strict'
// A forwarder in a process of its own, which only reads the log. Somebody puts another log, or an older copy, there.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec: codec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { failureOf, newPath, until } = require('@millrace/testkit')
const { Forwarder } = require('..')

const skip = process.platform === 'win32' && 'nothing that is open can be moved there'

for (const [Log, code] of [[OffsetLog, 'ERR_LOG_REPLACED'], [SegmentedLog, 'ERR_FILE_MOVED']]) {
  for (const isCopy of [true, false]) {
    const what = isCopy ? 'an older copy' : 'another log'
    tape(`replaced: ${Log.name}: a forwarder of what ${what} has replaced says so: it sent nothing more`, { skip }, async (t) => {
      const file = newPath('log')
      const append = async (...values) => {
        const log = Log(file, { codec })
        for (const value of values) await log.append(value)
        await log.close()
      }
      await append('a', 'b')
      fs.cpSync(file, `${file}.copy`, { recursive: true })
      await append('c')
      const log = Log(file, { codec, flags: 'r' })
      const [sent, reports] = [[], []]
      const forward = (log) => Forwarder(log, {
        path: `${file}.send`,
        batch: { ageMs: 1 },
        sink: async (records) => { sent.push(...records.map(({ value }) => value)) },
        onReport: (report) => reports.push(report)
      })
      const forwarder = forward(log)
      await forwarder.drained()
      fs.renameSync(file, `${file}.away`)
      if (isCopy) fs.cpSync(`${file}.copy`, file, { recursive: true })
      await append('d')
      await until(() => reports.length > 0)
      const [{ what, error }] = reports
      t.deepEqual([what, error.code], ['stopped', code], error.message)
      t.equal((await failureOf(() => forwarder.drained()))?.code, code)
      await forwarder.close()
      await log.close()
      const again = Log(file, { codec, flags: 'r' })
      const next = forward(again)
      await next.drained()
      // Some of them may come twice.
      t.deepEqual([...new Set(sent)], ['a', 'b', 'c', 'd'])
      await next.close()
      await again.close()
    })
  }
}
