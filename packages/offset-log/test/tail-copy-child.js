'use strict'
// Appends so many records that are never synced, says so, and waits to be killed.

const { OffsetLog } = require('..')

const [, , file, count] = process.argv
const log = OffsetLog(file, { fsync: 'never' })
const records = Array.from({ length: Number(count) }, () => Buffer.alloc(1000, 1))
log.append(records, (err, seq) => {
  if (err) throw err
  process.send(seq)
})
setInterval(() => {}, 1000)
